#include <utility>

#include "measurement/entrance.hpp"
#include "measurement/iteration_trigger.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/locations.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/floating_point.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

REFRAIN_HOT_DATA std::atomic<bool> calls_have_extras{false};

void take_due_snapshot(Location& location) {
  const platform::OwnFloatingPoint own_environment;
  lifecycle.snapshot_is_due(location);
  leave_out_own_work(location);
}

std::int64_t* enter_region_with_extras(Location& location, RegionId region, const platform::Registers& registers) {
  if (calls_pass_through.load(std::memory_order_relaxed)) {
    leave(location, Inside::User);
    return nullptr;
  }
  if (trigger_region.load(std::memory_order_relaxed) == region) call_of_trigger(location, registers);
  if (location.stopped) {
    location.call.node = unrecorded_call;
    return location.while_stopped.row;
  }
  std::int64_t* values = enter_region(location, region, registers);
  if (location.extra) {
    take_reading(location, false);
    note_reading(location, platform::now(), false);
  }
  return values;
}

namespace {

bool is_on_other_stack(const Location& l, std::uintptr_t sp) {
  const bool is_own = is_on_own_stack(l, sp), call_is_on_own = is_on_own_stack(l, l.call.sp);
  if (is_own || call_is_on_own) return is_own != call_is_on_own;
  // Two stacks of fibers: the callees of the call in progress lie below it, and near.
  constexpr std::uintptr_t largest_fiber = std::uintptr_t{1} << 20;
  return sp > l.call.sp || l.call.sp - sp > largest_fiber;
}

}  // namespace

void note_passed_call(Location& location, const platform::Registers& caller) {
  if (location.inside.load(std::memory_order_relaxed) != Inside::Call || !is_on_other_stack(location, caller.sp))
    return;
  location.count_loss(Loss::ThreadUnmeasured);
  messages_go_uncounted.store(true, std::memory_order_relaxed);
}

void note_unmeasured_call(RegionId region) {
  static constinit thread_local bool is_counted = false;
  const auto i = static_cast<std::size_t>(region);
  Location* first = first_location();
  if (!first || i >= mpi_regions_in_order.size() || !mpi_regions_in_order[i]) return;
  messages_go_uncounted.store(true, std::memory_order_relaxed);
  if (std::exchange(is_counted, true)) return;
  std::int64_t& count = first->losses[static_cast<std::size_t>(Loss::ThreadUnmeasured)];
  std::atomic_ref<std::int64_t>(count).fetch_add(1, std::memory_order_relaxed);  // several threads may be here
}

std::int64_t* values_of_other_thread(Location& location, const BegunAt& begun) {
  constexpr std::size_t deepest = 1024;
  std::uint32_t path[deepest];
  const Location* begun_on = first_location();
  while (begun_on && begun_on->thread != begun.thread) begun_on = begun_on->next;
  if (!begun_on) return nullptr;
  const CallTree& other = begun_on->tree;  // the members of nodes that are read here never change
  std::size_t depth = 0;
  for (NodeId at = begun.node; at != root_node; at = NodeId{other.node(at).parent}) {
    if (depth == deepest) return nullptr;
    path[depth++] = static_cast<std::uint32_t>(at);
  }
  NodeId node = root_node;
  bool full = false;
  while (depth > 0) {
    const Node& next = other.node(NodeId{path[--depth]});
    node = location.tree.child(node, next.kind, next.key, full);
  }
  if (full) location.count_loss(Loss::ArenaFull);
  return location.tree.values(node);
}

}  // namespace refrain::measurement
