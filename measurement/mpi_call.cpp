#include "measurement/mpi_call.hpp"

#include <limits>

#include "measurement/call_durations.hpp"
#include "platform/hot.hpp"
#include "unwind/known_frame.hpp"

namespace refrain::measurement {

REFRAIN_HOT_DATA std::atomic<platform::Ticks> snapshot_due{std::numeric_limits<platform::Ticks>::max()};

namespace {

constexpr BegunCall let_through{nullptr, false};

/// Begins a call by the notes of its caller's frame: sets its node and values. False: the notes are for another region.
[[gnu::always_inline]] inline bool begin_as_noted(Location& l, RegionId region, unwind::Frame& caller) {
  unwind::FrameNotes& notes = caller.notes;
  if (notes.key != static_cast<std::uint32_t>(region) || notes.stamp == 0) [[unlikely]]
    return false;
  l.call.node = NodeId{notes.child};
  if (notes.stamp != l.tree.stamp()) [[unlikely]] {
    l.tree.touch(l.call.node);
    notes.stamp = l.tree.stamp();
  }
  l.call.values = l.tree.row_at(notes.row);
  return true;
}

// The common case of a call's begin and return is straight code that calls nothing and so saves no registers. It leaves
// to one of these functions in all other cases.

[[gnu::noinline]] REFRAIN_HOT_CODE_OF_MANY BegunCall begin_on_other_path(Location& l, RegionId region,
                                                                         std::uintptr_t pc, std::uintptr_t sp,
                                                                         std::uintptr_t fp) {
  l.call.values = enter_region(l, region, {pc, sp, fp});
  return {&l, false};
}

/// Begins a call in the general way. The thread is in the program's code, or has stepped in for this call.
[[gnu::noinline]] REFRAIN_HOT_CODE_OF_MANY BegunCall begin_general(Location& l, RegionId region, std::uintptr_t pc,
                                                                   std::uintptr_t sp, std::uintptr_t fp) {
  if (!enter(l, Inside::User)) {
    take_back_timing(l);
    return let_through;
  }
  // While the thread waited at the gate, a signal handler may have made calls.
  l.call.sp = sp;
  l.call.pc = pc;
  l.call.region = region;
  l.call.announcement = Announcement::None;
  if (!calls_have_extras.load(std::memory_order_relaxed)) return begin_on_other_path(l, region, pc, sp, fp);
  l.call.values = enter_region_with_extras(l, region, {pc, sp, fp});
  if (l.call.values) return {&l, false};
  take_back_timing(l);
  return let_through;
}

/// Begins a call on a thread that seems not to be in the program's code.
[[gnu::noinline]] BegunCall begin_within(Location& l, RegionId region, std::uintptr_t pc, std::uintptr_t sp,
                                         std::uintptr_t fp) {
  if (is_announced(l, region, sp)) {
    take_back_timing(l);
    l.call.announcement = Announcement::Answered;
    l.transfer_within = {};
    return {enter(l, Inside::Call) ? &l : nullptr, true};
  }
  return begin_counted_call(l, region, {pc, sp, fp});
}

/// Begins a timed call on a machine where the clock is a function.
[[gnu::noinline]] BegunCall begin_timed_by_clock(Location& l, RegionId region, std::uintptr_t pc, std::uintptr_t sp,
                                                 std::uintptr_t fp) {
  begin_timed_call(l, platform::now());
  return begin_within(l, region, pc, sp, fp);
}

[[gnu::noinline]] BegunCall begin_unmeasured(RegionId region) {
  note_unmeasured_call(region);
  return let_through;
}

}  // namespace

REFRAIN_HOT_CODE_OF_MANY std::int64_t* enter_region(Location& l, RegionId region, const platform::Registers& caller) {
  unwind::Frame* frame = l.walker.known_frame(caller.pc, caller.sp, caller.fp);
  if (!frame) frame = l.walker.other_known_frame(caller.pc, caller.sp, caller.fp);
  if (frame && begin_as_noted(l, region, *frame)) return l.call.values;
  return enter_region_anew(l, region, caller, frame);
}

BegunCall begin_counted_call(Location& l, RegionId region, const platform::Registers& caller) {
  if (l.inside.load(std::memory_order_relaxed) != Inside::User && !leave_abandoned_scope(l, caller)) {
    take_back_timing(l);
    note_passed_call(l, caller);
    return let_through;
  }
  // Set before the thread steps in: ticks and signal handlers judge by them whether the entry is alive.
  l.call.sp = caller.sp;
  l.call.pc = caller.pc;
  return begin_general(l, region, caller.pc, caller.sp, caller.fp);
}

REFRAIN_HOT_CODE BegunCall begin_call(RegionId region, std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp) {
  Location* const of_thread = own_location();
  if (!of_thread) [[unlikely]]
    return begin_unmeasured(region);
  Location& l = *of_thread;
  if (--l.calls_to_timing <= 0) [[unlikely]] {
    if (!platform::counter_is_trusted) return begin_timed_by_clock(l, region, pc, sp, fp);
    begin_timed_call(l, platform::counter_now());
  }
  if (l.inside.load(std::memory_order_relaxed) != Inside::User) [[unlikely]]
    return begin_within(l, region, pc, sp, fp);
  l.call.sp = sp;
  l.call.pc = pc;
  step_in(l);
  if (l.gate.load(std::memory_order_acquire) != Gate::Open || l.follower ||
      calls_have_extras.load(std::memory_order_relaxed)) [[unlikely]]
    return begin_general(l, region, pc, sp, fp);
  l.call.region = region;
  l.call.announcement = Announcement::None;
  unwind::Frame* const frame = l.walker.known_frame(pc, sp, fp);
  if (!frame || !begin_as_noted(l, region, *frame)) [[unlikely]]
    return begin_on_other_path(l, region, pc, sp, fp);
  return {&l, false};
}

namespace {

/// Counts a call that has ended at `end` with its time.
[[gnu::always_inline]] inline ReturnedCall count_returned(Location& l, platform::Ticks time, platform::Ticks end) {
  ++l.call.values[column_of(MetricId::Visits)];
  l.call.values[column_of(MetricId::Time)] += time;
  l.unit.mpi += time;
  ++l.unit.mpi_calls;
  return {l.call.values, end};
}

/// return_from_mpi() in the general way. The call is known to be the one in progress.
[[gnu::noinline]] REFRAIN_HOT_CODE_OF_MANY ReturnedCall return_general(BegunCall begun, platform::Ticks end) {
  Location& l = *begun.location;
  if (!enter(l, Inside::Call)) return {nullptr, 0};  // counted by the finalizing thread
  OpenCall& call = l.call;
  if (!call.values) call.values = begun.within ? row_of(l, call) : row_after_cut(l);
  if (begun.within) return {call.values, 0};
  const platform::Ticks time = uncharged_time(call, end);
  if (time >= shortest_with_switch && !has_kept_processor(l)) look_at_call_end(l, time, end);
  const ReturnedCall returned = count_returned(l, time, end);
  if (l.extra) charge_reading(l, false, end, call.values + columns_of(NodeKind::Region));
  return returned;
}

[[gnu::noinline]] ReturnedCall return_by_clock(BegunCall begun) { return return_general(begun, platform::now()); }

}  // namespace

REFRAIN_HOT_CODE ReturnedCall return_from_mpi(BegunCall begun, std::uintptr_t sp) {
  Location& l = *begun.location;
  if (l.call.sp != sp) [[unlikely]]
    return {nullptr, 0};  // a call of a fiber that was taken for abandoned, and counted as such
  if (!platform::counter_is_trusted) [[unlikely]]
    return return_by_clock(begun);
  const platform::Ticks end = platform::counter_now();
  step_in(l);
  if (l.gate.load(std::memory_order_acquire) != Gate::Open || l.follower || begun.within || !l.call.values || l.extra)
      [[unlikely]]
    return return_general(begun, end);
  const platform::Ticks time = uncharged_time(l.call, end);
  if (time >= shortest_with_switch && !has_kept_processor(l)) [[unlikely]]
    return return_general(begun, end);
  return count_returned(l, time, end);
}

REFRAIN_HOT_CODE void finish_call(BegunCall call, platform::Ticks end, waits::Transfer transfer) {
  Location& l = *call.location;
  if (call.within) [[unlikely]] {
    l.transfer_within = transfer;
    return leave(l, Inside::Call);
  }
  if (l.call.announcement == Announcement::Answered) [[unlikely]] {
    l.call.announcement = Announcement::None;
    transfer = l.transfer_within;
  }
  note_duration(l, end, transfer);
  if (l.keeps_events) [[likely]]
    note_call(l, end, true);
  if (end >= snapshot_due.load(std::memory_order_relaxed)) [[unlikely]]
    take_due_snapshot(l);
  if (l.calls_to_timing <= 0) [[unlikely]]
    end_timed_call(l, end, platform::now());
  leave(l, Inside::User);
}

}  // namespace refrain::measurement
