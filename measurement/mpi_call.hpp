#pragma once
/// An MPI call on its way through Refrain: enter, call path, clock, PMPI call, clock, metrics, leave.
///
/// `measured(region, call, after)` must be inlined into the wrapper that the program called, in a file compiled with
/// frame pointers: the wrapper's own frame tells the caller's registers without unwinding.

#include <cstdint>
#include <span>

#include "measurement/entrance.hpp"
#include "measurement/event_log.hpp"
#include "platform/hot.hpp"
#include "unwind/calling_frame.hpp"

namespace refrain::measurement {

/// The value row, in the unit in progress of `location`, of the call path by which another thread has begun an
/// operation. Null: that thread is not measured, or the path is too deep. Ordinary context, inside a scope.
std::int64_t* values_of_other_thread(Location& location, const BegunAt& begun);

/// A measured MPI call, to which `after` adds counts. They go to the call path of this call. Counts of an operation
/// that it completes go to the call path that has begun the operation, in the unit in which it completes: that path
/// then has values but no visit, so it is not in the unit's call tree.
class MpiCall {
 public:
  MpiCall(Location& location, std::int64_t* values) : location_(location), values_(values) {}
  BegunAt here() const { return {location_.thread, location_.call.node}; }
  void completed_receive(const BegunAt& begun, std::int64_t bytes) {
    std::int64_t* values = values_at(begun);
    ++values[column_of(MetricId::MessagesReceived)];
    values[column_of(MetricId::BytesReceived)] += bytes;
    ++values_[column_of(MetricId::MessagesCompleted)];
    completed_ += bytes;
    transfer_.what |= waits::Transfer::receives;
  }
  /// `metric`, here and below: BytesRead or BytesWritten.
  void completed_io(const BegunAt& begun, MetricId metric, std::int64_t bytes) {
    values_at(begun)[column_of(metric)] += bytes;
    completed_ += bytes;
  }
  void io(MetricId metric, std::int64_t bytes) { add(metric, bytes); }
  void sent(std::int64_t messages, std::int64_t bytes) {
    values_[column_of(MetricId::MessagesSent)] += messages;
    add(MetricId::BytesSent, bytes);
    if ((messages | bytes) != 0) transfer_.what |= waits::Transfer::sends;
  }
  void received(std::int64_t messages, std::int64_t bytes) {
    values_[column_of(MetricId::MessagesReceived)] += messages;
    add(MetricId::BytesReceived, bytes);
    if ((messages | bytes) != 0) transfer_.what |= waits::Transfer::receives;
  }
  /// The call completes a send, or a collective operation, that another call has begun.
  void completed_send(std::int64_t bytes) {
    transfer_.bytes += bytes;
    transfer_.what |= waits::Transfer::sends;
  }
  void completed_collective(std::int64_t bytes) {
    transfer_.bytes += bytes;
    transfer_.what |= waits::Transfer::among(1);
  }
  /// The number of bytes is not known, and may be very large.
  void received_unknown() { transfer_.bytes = std::max(transfer_.bytes, std::int64_t{1} << 62); }
  /// The call was a collective operation among this number of processes.
  void among(int processes) { transfer_.what |= waits::Transfer::among(processes); }
  /// After `after`: adds the completed bytes to the row of the call. Returns what the call has moved.
  waits::Transfer finish() {
    if (completed_ != 0) values_[column_of(MetricId::BytesCompleted)] += completed_;
    transfer_.bytes += completed_;
    return transfer_;
  }
  /// False: the call began while MPI_Pcontrol had stopped the measurement.
  bool is_recorded() const { return values_ != location_.while_stopped.row; }
  void lost(Loss loss) { location_.count_loss(loss); }
  /// Whether messages, collective operations and fences are numbered, also while the measurement is stopped, and
  /// communications are noted. True by default.
  bool keeps_events() const { return __builtin_expect(location_.keeps_events, true); }
  Location& location() const { return location_; }
  /// A number for a request that the call begins.
  std::uint64_t number_of_request() {
    return ++location_.requests_begun << events::bits_of_thread | static_cast<std::uint32_t>(location_.thread);
  }

 private:
  /// The transfer is in registers in the wrapper that this is inlined into.
  void add(MetricId column, std::int64_t bytes) {
    values_[column_of(column)] += bytes;
    transfer_.bytes += bytes;
  }
  std::int64_t* values_at(const BegunAt& begun) {
    std::int64_t* unrecorded = location_.while_stopped.row;
    if (begun.node == unrecorded_call || values_ == unrecorded) [[unlikely]]
      return unrecorded;
    if (begun.thread == location_.thread) [[likely]]
      return location_.tree.values(begun.node);
    std::int64_t* values = values_of_other_thread(location_, begun);
    return values ? values : values_;
  }

  Location& location_;
  std::int64_t* values_;
  std::int64_t completed_ = 0;  ///< bytes received, read and written by operations that other calls have begun
  waits::Transfer transfer_;    ///< without these
};

/// The value row of the call path that ends in `region`, called from the frame with `registers` (pc is the return
/// address). Sets the node of the call. Inside a scope.
std::int64_t* enter_region(Location& location, RegionId region, const platform::Registers& registers);
/// The same when the walker does not know the frame (null), or the notes of the frame are for another call.
std::int64_t* enter_region_anew(Location& location, RegionId region, const platform::Registers& registers,
                                unwind::Frame* known);

/// Set when the begin of a call needs extra work, or less work: a trigger of iterations, extra metrics, a stop of the
/// measurement, an MPI that is not the adapter's.
REFRAIN_OF_THIS_LIBRARY extern std::atomic<bool> calls_have_extras;
/// The program uses another MPI than the adapter's: its calls are let through, once `calls_have_extras` is set.
inline std::atomic<bool> calls_pass_through{false};
/// enter_region() when `calls_have_extras` is set. Null: the scope has ended, and the call is let through. Ordinary
/// context.
std::int64_t* enter_region_with_extras(Location& location, RegionId region, const platform::Registers& registers);

/// When this process is to write its next snapshot, in ticks. Set by the runtime.
REFRAIN_OF_THIS_LIBRARY extern std::atomic<platform::Ticks> snapshot_due;
/// Calls the runtime's hook. Ordinary context, inside a scope.
void take_due_snapshot(Location& location);

/// To be called first in every wrapper: the time of a timed call lacks the cost of cache misses before it.
[[gnu::always_inline]] inline void count_call(Location& location) {
  if (--location.calls_to_timing <= 0) [[unlikely]]
    begin_timed_call(location, platform::now());
}

/// By RegionId: whether the order of calls of this function identifies messages, collective operations or
/// communicators. Set once by the adapter.
inline std::span<const bool> mpi_regions_in_order;
/// A thread that is not measured calls the function of `region`. If the order of its calls matters, messages are not
/// numbered from here on, and the thread is counted as a loss. Ordinary context.
void note_unmeasured_call(RegionId region);
/// A call, made with the registers `caller`, is let through, because the thread is in a call or in Refrain already. A
/// call on another stack is not part of the call in progress: MPI has switched to another user-level thread, which is
/// not measured, or a signal handler on an alternate stack calls. It is counted as a loss, and messages are not
/// numbered from here on. Ordinary context.
void note_passed_call(Location& location, const platform::Registers& caller);

/// True when the call in progress has announced the function of `region`. `sp` as in enter().
inline bool is_announced(const Location& location, RegionId region, std::uintptr_t sp) {
  return location.call.announcement == Announcement::Made && location.call.region == region &&
         location.inside.load(std::memory_order_relaxed) == Inside::Call && sp < location.call.sp &&
         !scope_is_gone(location, sp);
}

/// A call that has begun. `location` is null for a call that is let through. `within`: an announced call, which has no
/// visit and no time of its own; its counts go to the call in progress.
struct BegunCall {
  Location* location;
  bool within;
};
/// A call that has returned from MPI. `values`: its row; null when it was counted already, because another thread
/// closed the location, or the call was taken for abandoned.
struct ReturnedCall {
  std::int64_t* values;
  platform::Ticks end;
};

/// The program calls the function of `region` with the registers `pc`, `sp` and `fp`. The thread enters Refrain.
BegunCall begin_call(RegionId region, std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp);
/// The same after count_call(), for a call that was not announced.
BegunCall begin_counted_call(Location& location, RegionId region, const platform::Registers& caller);
/// MPI has returned to the wrapper of a call that began with this stack pointer.
ReturnedCall return_from_mpi(BegunCall call, std::uintptr_t sp);
/// Ends a call that is counted: the thread returns to the program.
void finish_call(BegunCall call, platform::Ticks end, waits::Transfer transfer);

/// Runs `call`, which makes the PMPI call and returns its value, for a call that has begun. `before()` runs just before
/// the clock starts, and saves arguments that MPI overwrites; `after(MpiCall&, result)` adds counts, outside MPI time.
template <class Before, class Call, class After>
[[gnu::always_inline]] inline auto run_call(BegunCall begun, Before&& before, Call&& call, After&& after) {
  if (!begun.location) [[unlikely]]
    return call();
  Location& location = *begun.location;
  before();
  const std::uintptr_t sp = location.call.sp;
  if (!begun.within) [[likely]] {
    location.call.taken_out = 0;
    location.call.begin = location.call.charged_until = end_user_time(location);
  }
  leave(location, Inside::Call);
  auto result = call();
  const ReturnedCall returned = return_from_mpi(begun, sp);
  if (returned.values) [[likely]] {
    MpiCall done{location, returned.values};
    after(done, result);
    finish_call(begun, returned.end, done.finish());
  }
  return result;
}

/// Runs `call`, and measures it if this thread is measured and no call is in progress on it, or the call in progress
/// has announced it. Any other call within a call passes through. `caller`: registers where the program made the call.
template <class Before, class Call, class After>
[[gnu::always_inline]] inline auto measured(const platform::Registers& caller, RegionId region, Before&& before,
                                            Call&& call, After&& after) {
  return run_call(begin_call(region, caller.pc, caller.sp, caller.fp), before, call, after);
}

using unwind::calling_registers;

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
