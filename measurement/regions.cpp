#include "measurement/regions.hpp"

#include <atomic>
#include <cstring>

#include "config/utf8.hpp"
#include "platform/owned_lock.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {
namespace {

constexpr const char* other_regions = "(other regions)";
constexpr std::size_t slots = 4 * max_user_regions;

struct Table {
  const char* names[max_user_regions];
  std::atomic<std::uint16_t> index[slots];  ///< open addressing: 1 + position of the name, 0 is free
  std::atomic<std::size_t> count;
  platform::OwnedLock busy;
  char* text;  ///< memory for further names
  std::size_t room;
};
constinit Table table{};

std::size_t hash(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return static_cast<std::size_t>(h ^ h >> 32);
}

/// The slot of the name, or the free one where it belongs.
std::atomic<std::uint16_t>& find(std::string_view name) {
  std::size_t at = hash(name) % slots;
  for (;; at = (at + 1) % slots) {
    const std::uint16_t position = table.index[at].load(std::memory_order_acquire);
    if (position == 0 || name == table.names[position - 1]) return table.index[at];
  }
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

RegionId id_of(std::size_t position) { return RegionId{static_cast<std::uint16_t>(first_user_region + position)}; }

}  // namespace

RegionName::RegionName(std::string_view given) {
  if (given.empty()) {
    given = "(unnamed)";
    as_given_ = false;
  }
  std::size_t size = 0;
  while (!given.empty()) {
    const std::size_t length = config::utf8_length(given);
    const std::size_t whole = config::is_control(given, length) ? 0 : length;
    const std::size_t taken = whole ? whole : 1;
    if (size + taken > longest_region_name) {
      as_given_ = false;
      break;
    }
    if (whole) std::memcpy(text_ + size, given.data(), whole);
    else text_[size] = '?';
    as_given_ = as_given_ && whole;
    size += taken;
    given.remove_prefix(taken);
  }
  size_ = static_cast<std::uint8_t>(size);
}

RegionId user_region(const RegionName& region, bool* is_new) {
  const std::string_view name = region.view();
  if (is_new) *is_new = false;
  if (const std::uint16_t position = find(name).load(std::memory_order_acquire)) return id_of(position - 1u);
  const platform::Locked lock(table.busy);
  std::atomic<std::uint16_t>& slot = find(name);
  if (const std::uint16_t position = slot.load(std::memory_order_relaxed)) return id_of(position - 1u);
  const std::size_t count = table.count.load(std::memory_order_relaxed);
  if (count == max_user_regions) return id_of(count - 1);
  const char* text = count + 1 < max_user_regions ? copy(name) : nullptr;
  table.names[count] = text ? text : other_regions;
  if (text) slot.store(static_cast<std::uint16_t>(count + 1), std::memory_order_release);
  table.count.store(count + 1, std::memory_order_release);
  if (is_new) *is_new = true;
  return id_of(count);
}

std::span<const char* const> user_region_names() { return {table.names, table.count.load(std::memory_order_acquire)}; }

}  // namespace refrain::measurement
