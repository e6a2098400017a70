#include "measurement/iteration_trigger.hpp"

#include <bit>

#include "config/function_name.hpp"
#include "config/inlined_code.hpp"
#include "measurement/iterations.hpp"
#include "measurement/marks.hpp"
#include "measurement/mpi_call.hpp"
#include "measurement/regions.hpp"
#include "platform/functions.hpp"
#include "platform/modules.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {

namespace {

struct Range {
  std::uintptr_t begin, end;
  std::uint32_t module;  ///< later the address may belong to another module
};

struct Trigger {
  std::string_view function;
  std::int64_t every = 1;
  RegionId loop{};
};
constinit Trigger trigger{};
std::string_view inlined_code;
std::atomic<bool> was_called{false}, has_triggered{false};

/// Address ranges of the function in all modules searched so far. Appended under the lock, read without it: the count
/// is published after the range.
constexpr std::size_t max_ranges = 4096;
Range ranges[max_ranges];
std::atomic<std::size_t> range_count{0};
std::size_t modules_seen = 0;
std::atomic_flag looking;

void add_range(std::uintptr_t begin, std::uintptr_t end) {
  const std::size_t count = range_count.load(std::memory_order_relaxed);
  if (count == max_ranges) return;
  ranges[count] = {begin, end, static_cast<std::uint32_t>(modules_seen)};
  range_count.store(count + 1, std::memory_order_release);
}

void note(const platform::Function& function) {
  if (config::is_function(function.name, trigger.function)) add_range(function.begin, function.end);
}

/// Adds ranges where the function has no symbol of its own because it is inlined into others.
void note_inlined(const platform::Module& module) {
  char id[2 * sizeof module.build_id];
  for (std::size_t i = 0; i < module.build_id_size; ++i) {
    id[2 * i] = "0123456789abcdef"[module.build_id[i] >> 4];
    id[2 * i + 1] = "0123456789abcdef"[module.build_id[i] & 15];
  }
  const std::string_view name = module.build_id_size ? std::string_view(id, 2 * std::size_t{module.build_id_size})
                                                     : std::string_view(module.path);
  config::for_each_inlined(inlined_code, name, [&](std::uint64_t begin, std::uint64_t end) {
    add_range(module.base + begin, module.base + end);
  });
}

void look_for_function() {
  if (looking.test_and_set(std::memory_order_acquire)) return;  // another thread searches
  platform::refresh_modules();
  for (platform::Module module; platform::copy_module(modules_seen, module); ++modules_seen) {
    platform::for_each_function(module.path, module.base, [](const platform::Function& function) { note(function); });
    note_inlined(module);
  }
  looking.clear(std::memory_order_release);
}

/// Whether one of the callers on the path to `node` is the function.
bool is_below_function(const CallTree& tree, NodeId node) {
  const std::size_t count = range_count.load(std::memory_order_acquire);
  for (std::uint32_t at = static_cast<std::uint32_t>(node); at != 0; at = tree.node(NodeId{at}).parent) {
    const Node& n = tree.node(NodeId{at});
    if (n.kind != NodeKind::Frame) continue;
    const auto inside = static_cast<std::uintptr_t>(n.key) - 1;  // the call before the return address
    for (std::size_t i = 0; i < count; ++i)
      if (ranges[i].begin <= inside && inside < ranges[i].end &&
          platform::find_module(inside, n.generation) == static_cast<int>(ranges[i].module))
        return true;
  }
  return false;
}

}  // namespace

void set_trigger(RegionId region, std::string_view function, std::int64_t every, std::string_view name) {
  trigger = {function, every, user_region(RegionName(name))};
  if (!function.empty()) look_for_function();
  trigger_region.store(region, std::memory_order_release);
  calls_have_extras.store(true, std::memory_order_release);
}

void set_inlined_code(std::string_view text) { inlined_code = text; }

const char* why_nothing_was_triggered() {
  if (has_triggered.load(std::memory_order_relaxed)) return nullptr;
  if (!was_called.load(std::memory_order_relaxed)) return "this MPI function was not called";
  if (range_count.load(std::memory_order_acquire) == 0)
    return "no loaded module has a function of that name; one that the compiler has inlined is found in programs with "
           "debug information (-g) that are started by `refrain run` or `refrain exec`";
  return "this MPI function was not called below a function of that name; where the compiler has inlined it, it is "
         "found in programs with debug information (-g) that are started by `refrain run` or `refrain exec`";
}

void call_of_trigger(Location& location, const platform::Registers& registers) {
  if (!was_called.load(std::memory_order_relaxed)) was_called.store(true, std::memory_order_relaxed);
  if (!trigger.function.empty()) {
    const NodeId path = path_of(location, {registers, false, nullptr});
    if (!is_below_function(location.tree, path)) {
      // The module with the function may be loaded late. The search is repeated after 1, 2, 4, 8, ... misses.
      if (range_count.load(std::memory_order_relaxed) > 0 || !std::has_single_bit(++location.trigger_misses)) return;
      look_for_function();
      if (!is_below_function(location.tree, path)) return;
    }
  }
  if (!has_triggered.load(std::memory_order_relaxed)) has_triggered.store(true, std::memory_order_relaxed);
  if (location.trigger_calls++ % trigger.every == 0) iterate_at_call(location, trigger.loop);
}

}  // namespace refrain::measurement
