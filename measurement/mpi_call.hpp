#pragma once
/// The one way of an MPI call through Refrain: scope, call path, clock, PMPI call, clock, metrics, out.
///
/// `measured(region, call, after)` must be inlined into the wrapper that the program called, in a file compiled with
/// frame pointers: the wrapper's own frame tells the caller's registers without unwinding.

#include <cstdint>

#include "measurement/location.hpp"

namespace refrain::measurement {

/// The measured outermost MPI call: what `after` may add to. All counts go to the call path of this call.
class MpiCall {
 public:
  MpiCall(Location& location, std::int64_t* values) : location_(location), values_(values) {}
  void sent(std::int64_t messages, std::int64_t bytes) {
    values_[column_of(MetricId::MessagesSent)] += messages;
    values_[column_of(MetricId::BytesSent)] += bytes;
  }
  void received(std::int64_t messages, std::int64_t bytes) {
    values_[column_of(MetricId::MessagesReceived)] += messages;
    values_[column_of(MetricId::BytesReceived)] += bytes;
  }
  void lost(Loss loss) { location_.count_loss(loss); }
  Location& location() { return location_; }

 private:
  Location& location_;
  std::int64_t* values_;
};

/// Value row of the call path that ends in `region`, called from the frame with `registers` (pc is the return address).
std::int64_t* enter_region(Location& location, RegionId region, const platform::Registers& registers);

/// Set when there is more to do where a call begins: a trigger of iterations, metrics that are asked for.
extern std::atomic<bool> calls_have_extras;
/// enter_region() with that. Ordinary context.
std::int64_t* enter_region_with_extras(Location& location, RegionId region, const platform::Registers& registers);

/// When this process writes a snapshot next, in ticks. Set by the runtime.
extern std::atomic<platform::Ticks> snapshot_due;
/// Calls the runtime's hook. Ordinary context, inside a scope.
void take_due_snapshot(Location& location);

/// Runs `call` (a callable that makes the PMPI call and returns its value), measured when this is an outermost call on
/// a measured thread; `after(MpiCall&, result)` then adds counts, still outside MPI time. Nested calls are passed
/// through. `before()` runs in the scope just before the clock starts: what has to be remembered of arguments that MPI
/// overwrites.
template <class Before, class Call, class After>
[[gnu::always_inline]] inline auto measured(RegionId region, Before&& before, Call&& call, After&& after) {
  Location* location = current_location;
  if (!location) return call();
  auto* frame = static_cast<std::uintptr_t*>(__builtin_frame_address(0));
  const auto sp = reinterpret_cast<std::uintptr_t>(frame + 2);
  if (!enter_scope(*location, sp)) [[unlikely]]
    return call();
  const platform::Registers caller{frame[1], sp, frame[0]};
  std::int64_t* values;
  if (calls_have_extras.load(std::memory_order_relaxed)) [[unlikely]]
    values = enter_region_with_extras(*location, region, caller);
  else values = enter_region(*location, region, caller);
  location->call_values = values;
  before();
  location->handler_time_in_call = 0;
  location->call_begin = platform::now();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  location->inside.store(Inside::Mpi, std::memory_order_relaxed);
  auto result = call();
  location->inside.store(Inside::Measurement, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!may_enter(*location, Inside::Mpi)) [[unlikely]]
    return result;  // counted by the finalizing thread
  const platform::Ticks end = platform::now();
  if (location->following) [[unlikely]]
    values = keep_up_after_call(*location);
  platform::Ticks time = end - location->call_begin - location->handler_time_in_call;
  if (time < 0) time = 0;
  location->unit.mpi += time;
  ++location->unit.mpi_calls;
  ++values[column_of(MetricId::Visits)];
  values[column_of(MetricId::Time)] += time;
  if (location->extra) [[unlikely]]
    charge_reading(*location, false, values + columns_of(NodeKind::Region));
  MpiCall done{*location, values};
  after(done, result);
  if (end >= snapshot_due.load(std::memory_order_relaxed)) [[unlikely]]
    take_due_snapshot(*location);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  location->inside.store(Inside::User, std::memory_order_relaxed);
  return result;
}

template <class Call, class After>
[[gnu::always_inline]] inline auto measured(RegionId region, Call&& call, After&& after) {
  return measured(
      region, [] {}, call, after);
}

}  // namespace refrain::measurement
