#include "measurement/regions.hpp"

#include <atomic>
#include <cstring>
#include <sched.h>

#include "platform/pages.hpp"

namespace refrain::measurement {
namespace {

constexpr std::size_t longest_name = 255;
constexpr const char* other_regions = "(other regions)";

struct Table {
  const char* names[most_user_regions];
  std::atomic<std::size_t> count;
  std::atomic_flag busy;
  char* text;  ///< room for names that follow
  std::size_t room;
};
constinit Table table{};

class Lock {
 public:
  Lock() {
    while (table.busy.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~Lock() { table.busy.clear(std::memory_order_release); }
};

std::size_t find(std::string_view name, std::size_t count) {
  std::size_t i = 0;
  while (i < count && name != table.names[i]) ++i;
  return i;
}

const char* copy(std::string_view name) {
  if (table.room < name.size() + 1) {
    constexpr std::size_t chunk = 64 * 1024;
    table.text = static_cast<char*>(platform::map_pages(chunk));
    table.room = table.text ? chunk : 0;
    if (!table.text) return nullptr;
  }
  char* text = table.text;
  std::memcpy(text, name.data(), name.size());
  text[name.size()] = 0;
  table.text += name.size() + 1;
  table.room -= name.size() + 1;
  return text;
}

RegionId id_of(std::size_t index) { return RegionId{static_cast<std::uint16_t>(first_user_region + index)}; }

}  // namespace

RegionId user_region(std::string_view name) {
  name = name.substr(0, longest_name);
  const std::size_t known = table.count.load(std::memory_order_acquire);
  if (const std::size_t i = find(name, known); i < known) return id_of(i);
  const Lock lock;
  const std::size_t count = table.count.load(std::memory_order_relaxed);
  if (const std::size_t i = find(name, count); i < count) return id_of(i);
  const bool last = count + 1 >= most_user_regions;
  const char* text = last ? other_regions : copy(name);
  if (!text) text = other_regions;
  if (count == most_user_regions) return id_of(count - 1);
  table.names[count] = text;
  table.count.store(count + 1, std::memory_order_release);
  return id_of(count);
}

std::span<const char* const> user_region_names() { return {table.names, table.count.load(std::memory_order_acquire)}; }

}  // namespace refrain::measurement
