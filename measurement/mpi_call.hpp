#pragma once
/// The one way of an MPI call through Refrain: scope, call path, clock, PMPI call, clock, metrics, out.
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

/// Value row, in the unit in progress of `location`, of the call path by which another thread has begun an operation.
/// Null: that thread is not measured, or the path is deeper than can be followed. Ordinary context, inside a scope.
std::int64_t* values_of_other_thread(Location& location, const BegunAt& begun);

/// The measured MPI call: what `after` may add to. Counts go to the call path of this call; those of an
/// operation that it completes go to where that was begun, in the unit in which it completes: the path has values
/// there, but no visit, so it is no part of the unit's call tree.
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
  /// Completes a send, or a collective operation, that was begun elsewhere.
  void completed_send(std::int64_t bytes) {
    transfer_.bytes += bytes;
    transfer_.what |= waits::Transfer::sends;
  }
  void completed_collective(std::int64_t bytes) {
    transfer_.bytes += bytes;
    transfer_.what |= waits::Transfer::among(1);
  }
  /// Nobody knows how much: it may be very much.
  void received_unknown() { transfer_.bytes = std::max(transfer_.bytes, std::int64_t{1} << 62); }
  /// It was a collective operation among so many processes.
  void among(int processes) { transfer_.what |= waits::Transfer::among(processes); }
  /// `after` has run: what the call has completed is added to its row. Returns all that it has moved.
  waits::Transfer finish() {
    if (completed_ != 0) values_[column_of(MetricId::BytesCompleted)] += completed_;
    transfer_.bytes += completed_;
    return transfer_;
  }
  /// False: the call began while MPI_Pcontrol had stopped the measurement.
  bool is_recorded() const { return values_ != location_.while_stopped.row; }
  void lost(Loss loss) { location_.count_loss(loss); }
  /// Whether messages, collective operations and fences are numbered, also while the measurement is stopped, and what
  /// calls communicate is noted. By default they are.
  bool keeps_events() const { return __builtin_expect(location_.keeps_events, true); }
  Location& location() const { return location_; }
  /// A number for a request that the call begins.
  std::uint64_t number_of_request() {
    return ++location_.requests_begun << events::bits_of_thread | static_cast<std::uint32_t>(location_.thread);
  }

 private:
  /// In the wrapper that this is inlined into, the transfer is in registers.
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
  std::int64_t completed_ = 0;  ///< bytes received, read and written, of operations that were begun elsewhere
  waits::Transfer transfer_;    ///< but for these
};

/// Value row of the call path that ends in `region`, called from the frame with `registers` (pc is the return address);
/// its node is the call's. Inside a scope.
std::int64_t* enter_region(Location& location, RegionId region, const platform::Registers& registers);
/// The same when the frame is not known to the walker (null), or what it remembers is of another call.
std::int64_t* enter_region_anew(Location& location, RegionId region, const platform::Registers& registers,
                                unwind::Frame* known);

/// Set when there is more to do where a call begins, or less: a trigger of iterations, metrics that are asked for, a
/// stop of the measurement, an MPI that is not the adapter's.
REFRAIN_OF_THIS_LIBRARY extern std::atomic<bool> calls_have_extras;
/// The program uses another MPI than the adapter's: its calls are let through, once `calls_have_extras` is set.
inline std::atomic<bool> calls_pass_through{false};
/// enter_region() when `calls_have_extras` is set. Null: the call is to be let through, the scope has ended. Ordinary
/// context.
std::int64_t* enter_region_with_extras(Location& location, RegionId region, const platform::Registers& registers);

/// When this process writes a snapshot next, in ticks. Set by the runtime.
REFRAIN_OF_THIS_LIBRARY extern std::atomic<platform::Ticks> snapshot_due;
/// Calls the runtime's hook. Ordinary context, inside a scope.
void take_due_snapshot(Location& location);

/// To be called first of all in every wrapper: what the cache misses before it cost is missing from the time of a timed
/// call.
[[gnu::always_inline]] inline void count_call(Location& location) {
  if (--location.calls_to_timing <= 0) [[unlikely]]
    begin_timed_call(location, platform::now());
}

/// Functions whose order on a rank says which message, collective operation or communicator is which, by RegionId. Set
/// by the adapter, for good.
inline std::span<const bool> mpi_regions_in_order;
/// A thread that is not measured calls the function of `region`: from here on messages are not numbered, and the thread
/// is a loss. Ordinary context.
void note_unmeasured_call(RegionId region);
/// A call, made with the registers `caller`, is let through: the thread is in a call or in Refrain already. On another
/// stack than that of the call in progress it is no part of that: MPI has switched to another user-level thread, which
/// is not measured, or a signal handler on an alternate stack calls. Then this is a loss, and from here on messages are
/// not numbered. Ordinary context.
void note_passed_call(Location& location, const platform::Registers& caller);

/// True when the call in progress has announced the function of `region`. `sp` as in enter().
inline bool is_announced(const Location& location, RegionId region, std::uintptr_t sp) {
  return location.call.announcement == Announcement::Made && location.call.region == region &&
         location.inside.load(std::memory_order_relaxed) == Inside::Call && sp < location.call.sp &&
         !scope_is_gone(location, sp);
}

/// A call that has begun, or is to be let through: then `location` is null. `within`: an announced call, which has no
/// visit and no time of its own; its counts go to the call in progress.
struct BegunCall {
  Location* location;
  bool within;
};
/// A call that MPI has come back from. `values`: its row, null when it has been counted already, by who closed the
/// location or took the call for abandoned.
struct ReturnedCall {
  std::int64_t* values;
  platform::Ticks end;
};

/// The program calls the function of `region`, with the registers `pc`, `sp` and `fp`: from here on the thread is in
/// Refrain.
BegunCall begin_call(RegionId region, std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp);
/// The same after count_call(), for a call that is not announced.
BegunCall begin_counted_call(Location& location, RegionId region, const platform::Registers& caller);
/// MPI has returned to the wrapper of a call that began with this stack pointer.
ReturnedCall return_from_mpi(BegunCall call, std::uintptr_t sp);
/// All of the call is counted: the thread goes on where the call was made.
void finish_call(BegunCall call, platform::Ticks end, waits::Transfer transfer);

/// Runs `call`, which makes the PMPI call and returns its value, of a call that has begun. `before()` runs just
/// before the clock starts: what has to be remembered of arguments that MPI overwrites; `after(MpiCall&, result)` adds
/// counts, still outside MPI time.
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

/// Runs `call`, measured when no call is in progress on this measured thread, or the one in progress has announced it.
/// Any other call within a call passes through. `caller`: registers where the program made the call.
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
