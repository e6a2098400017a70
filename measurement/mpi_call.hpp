#pragma once
/// The one way of an MPI call through Refrain: scope, call path, clock, PMPI call, clock, metrics, out.
///
/// `measured(region, call, after)` must be inlined into the wrapper that the program called, in a file compiled with
/// frame pointers: the wrapper's own frame tells the caller's registers without unwinding.

#include <cstdint>

#include "measurement/entrance.hpp"
#include "measurement/location.hpp"

namespace refrain::measurement {

/// Where an operation was begun that another call completes, perhaps on another thread.
struct BegunAt {
  Location* location;
  NodeId node;
};

/// Value row, in the unit in progress of `location`, of the call path by which another thread has begun an operation.
/// Null: it is deeper than can be followed. Ordinary context, inside a scope.
std::int64_t* values_of_other_thread(Location& location, const BegunAt& begun);

/// The measured outermost MPI call: what `after` may add to. Counts go to the call path of this call; those of an
/// operation that it completes go to where that was begun, in the unit in which it completes: the path has values
/// there, but no visit, so it is no part of the unit's call tree.
class MpiCall {
 public:
  MpiCall(Location& location, std::int64_t* values) : location_(location), values_(values) {}
  BegunAt here() const { return {&location_, location_.call_node}; }
  void completed_receive(const BegunAt& begun, std::int64_t messages, std::int64_t bytes) {
    std::int64_t* values = values_at(begun);
    values[column_of(MetricId::MessagesReceived)] += messages;
    values[column_of(MetricId::BytesReceived)] += bytes;
    values_[column_of(MetricId::MessagesCompleted)] += messages;
    values_[column_of(MetricId::BytesCompleted)] += bytes;
  }
  /// `metric`, here and below: BytesRead or BytesWritten.
  void completed_io(const BegunAt& begun, MetricId metric, std::int64_t bytes) {
    values_at(begun)[column_of(metric)] += bytes;
    values_[column_of(MetricId::BytesCompleted)] += bytes;
  }
  void io(MetricId metric, std::int64_t bytes) { values_[column_of(metric)] += bytes; }
  void sent(std::int64_t messages, std::int64_t bytes) {
    values_[column_of(MetricId::MessagesSent)] += messages;
    values_[column_of(MetricId::BytesSent)] += bytes;
  }
  void received(std::int64_t messages, std::int64_t bytes) {
    values_[column_of(MetricId::MessagesReceived)] += messages;
    values_[column_of(MetricId::BytesReceived)] += bytes;
  }
  /// False: the call began while MPI_Pcontrol had stopped the measurement.
  bool is_recorded() const { return values_ != location_.while_stopped.row; }
  void lost(Loss loss) { location_.count_loss(loss); }
  Location& location() { return location_; }

 private:
  std::int64_t* values_at(const BegunAt& begun) {
    std::int64_t* unrecorded = location_.while_stopped.row;
    if (begun.node == unrecorded_call || values_ == unrecorded) [[unlikely]]
      return unrecorded;
    if (begun.location == &location_) [[likely]]
      return location_.tree.values(begun.node);
    std::int64_t* values = values_of_other_thread(location_, begun);
    return values ? values : values_;
  }

  Location& location_;
  std::int64_t* values_;
};

/// Value row of the call path that ends in `region`, called from the frame with `registers` (pc is the return address).
std::int64_t* enter_region(Location& location, RegionId region, const platform::Registers& registers);

/// Set when there is more to do where a call begins, or less: a trigger of iterations, metrics that are asked for, a
/// stop of the measurement, an MPI that is not the adapter's.
extern std::atomic<bool> calls_have_extras;
/// The program uses another MPI than the adapter's: its calls are let through, once `calls_have_extras` is set.
extern std::atomic<bool> calls_pass_through;
/// enter_region() with that; null: the call is to be let through, the scope has ended. Ordinary context.
std::int64_t* enter_region_with_extras(Location& location, RegionId region, const platform::Registers& registers);

/// When this process writes a snapshot next, in ticks. Set by the runtime.
extern std::atomic<platform::Ticks> snapshot_due;
/// Calls the runtime's hook. Ordinary context, inside a scope.
void take_due_snapshot(Location& location);

/// First of all in what the program calls as an MPI function, as every cache line that is missed before it is missing
/// in what a timed call has taken.
[[gnu::always_inline]] inline void count_call() {
  if (--calls_to_timing > 0) [[likely]]
    return;
  if (Location* location = current_location) begin_timed_call(*location);
  else calls_to_timing = no_call_is_timed;
}
/// Begins the scope of an MPI call that was counted; `caller` as in enter(). False: it is not to be measured.
[[gnu::always_inline]] inline bool enter_call(Location& location, const platform::Registers& caller) {
  if (enter(location, caller)) [[likely]]
    return true;
  pass_call(location);
  return false;
}

/// Runs `call`, which makes the PMPI call and returns its value, after enter_call(). `before()` runs just
/// before the clock starts: what has to be remembered of arguments that MPI overwrites; `after(MpiCall&, result)` adds
/// counts, still outside MPI time.
template <class Before, class Call, class After>
[[gnu::always_inline]] inline auto measured_in_scope(Location& location, const platform::Registers& caller,
                                                     RegionId region, Before&& before, Call&& call, After&& after) {
  std::int64_t* values;
  if (calls_have_extras.load(std::memory_order_relaxed)) [[unlikely]] {
    values = enter_region_with_extras(location, region, caller);
    if (!values) {
      pass_call(location);
      return call();
    }
  } else {
    values = enter_region(location, region, caller);
  }
  location.call_values = values;
  before();
  location.handler_time_in_call = 0;
  location.call_begin = platform::now();
  leave(location, Inside::Mpi);
  auto result = call();
  if (location.scope_sp != caller.sp) [[unlikely]]
    return result;  // a fiber's that was taken for abandoned, and has been counted as such
  if (!enter(location, Inside::Mpi)) [[unlikely]]
    return result;  // counted by the finalizing thread
  const platform::Ticks end = platform::now();
  if (location.following) [[unlikely]]
    values = keep_up_after_call(location);
  platform::Ticks time = end - location.call_begin - location.handler_time_in_call;
  if (time < 0) time = 0;
  location.unit.mpi += time;
  ++location.unit.mpi_calls;
  ++values[column_of(MetricId::Visits)];
  values[column_of(MetricId::Time)] += time;
  if (location.extra) [[unlikely]]
    charge_reading(location, false, values + columns_of(NodeKind::Region));
  MpiCall done{location, values};
  after(done, result);
  if (end >= snapshot_due.load(std::memory_order_relaxed)) [[unlikely]]
    take_due_snapshot(location);
  if (calls_to_timing <= 0) [[unlikely]]
    end_timed_call(location, end, platform::now());
  leave(location, Inside::User);
  return result;
}

/// What `Location::announced` says.
inline std::uint16_t announcement_of(RegionId region) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(region) + 1);
}
/// True when the call in progress has announced the function of `region`. `sp` as in enter().
inline bool is_announced(const Location& location, RegionId region, std::uintptr_t sp) {
  return location.announced == announcement_of(region) &&
         location.inside.load(std::memory_order_relaxed) == Inside::Mpi && sp < location.scope_sp &&
         !scope_is_gone(location, sp);
}

/// The call of an announced function: it has no visit and no time of its own, its counts go to the call in progress.
template <class Before, class Call, class After>
[[gnu::always_inline]] inline auto measured_within(Location& location, Before&& before, Call&& call, After&& after) {
  location.announced = 0;
  if (!enter(location, Inside::Mpi)) [[unlikely]]
    return call();
  before();
  const std::uintptr_t scope = location.scope_sp;
  leave(location, Inside::Mpi);
  auto result = call();
  if (location.scope_sp != scope) [[unlikely]]
    return result;
  if (!enter(location, Inside::Mpi)) [[unlikely]]
    return result;
  MpiCall done{location, location.following ? keep_up_after_call(location) : location.call_values};
  after(done, result);
  leave(location, Inside::Mpi);
  return result;
}

/// Runs `call`, measured when this is an outermost call on a measured thread, or one that the outermost call has
/// announced. Other nested calls are passed through. `caller`: registers where the program made the call.
template <class Before, class Call, class After>
[[gnu::always_inline]] inline auto measured(const platform::Registers& caller, RegionId region, Before&& before,
                                            Call&& call, After&& after) {
  count_call();
  Location* location = current_location;
  if (!location) return call();
  if (is_announced(*location, region, caller.sp)) [[unlikely]] {
    pass_call(*location);
    return measured_within(*location, before, call, after);
  }
  if (!enter_call(*location, caller)) [[unlikely]]
    return call();
  return measured_in_scope(*location, caller, region, before, call, after);
}

/// The registers of the caller of the function that this is inlined into.
[[gnu::always_inline]] inline platform::Registers calling_registers() {
  auto* frame = static_cast<std::uintptr_t*>(__builtin_frame_address(0));
  return {frame[1], reinterpret_cast<std::uintptr_t>(frame + 2), frame[0]};
}

template <class Before, class Call, class After>
[[gnu::always_inline]] inline auto measured(RegionId region, Before&& before, Call&& call, After&& after) {
  return measured(calling_registers(), region, before, call, after);
}

template <class Call, class After>
[[gnu::always_inline]] inline auto measured(RegionId region, Call&& call, After&& after) {
  return measured(
      region, [] {}, call, after);
}

}  // namespace refrain::measurement
