#include "measurement/mpi_call.hpp"

#include <limits>

#include "measurement/call_durations.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

REFRAIN_HOT_DATA std::atomic<platform::Ticks> snapshot_due{std::numeric_limits<platform::Ticks>::max()};

namespace {

constexpr BegunCall let_through{nullptr, false};

[[gnu::always_inline]] inline BegunCall begin(Location& l, RegionId region, const platform::Registers& caller) {
  if (!enter(l, caller)) [[unlikely]] {
    take_back_timing(l);
    note_passed_call(l, caller);
    return let_through;
  }
  l.call.region = region;
  l.call.announcement = Announcement::None;
  if (calls_have_extras.load(std::memory_order_relaxed)) [[unlikely]] {
    l.call.values = enter_region_with_extras(l, region, caller);
    if (l.call.values) return {&l, false};
    take_back_timing(l);
    return let_through;
  }
  l.call.values = enter_region(l, region, caller);
  return {&l, false};
}

}  // namespace

BegunCall begin_counted_call(Location& l, RegionId region, const platform::Registers& caller) {
  return begin(l, region, caller);
}

REFRAIN_HOT_CODE BegunCall begin_call(RegionId region, std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp) {
  Location* l = own_location();
  if (!l) [[unlikely]] {
    note_unmeasured_call(region);
    return let_through;
  }
  count_call(*l);
  if (is_announced(*l, region, sp)) [[unlikely]] {
    take_back_timing(*l);
    l->call.announcement = Announcement::Answered;
    l->transfer_within = {};
    return {enter(*l, Inside::Call) ? l : nullptr, true};
  }
  return begin(*l, region, {pc, sp, fp});
}

REFRAIN_HOT_CODE ReturnedCall return_from_mpi(BegunCall begun, std::uintptr_t sp) {
  Location& l = *begun.location;
  if (l.call.sp != sp) [[unlikely]]
    return {nullptr, 0};  // a fiber's that was taken for abandoned, and has been counted as such
  const platform::Ticks end = platform::now();
  if (!enter(l, Inside::Call)) [[unlikely]]
    return {nullptr, 0};  // counted by the finalizing thread
  OpenCall& call = l.call;
  if (!call.values) [[unlikely]]
    call.values = begun.within ? row_of(l, call) : row_after_cut(l);
  if (begun.within) [[unlikely]]
    return {call.values, 0};
  const platform::Ticks time = uncharged_time(call, end);
  if (time >= shortest_with_switch && !has_kept_processor(l)) look_after_call(l, time, end);
  ++call.values[column_of(MetricId::Visits)];
  call.values[column_of(MetricId::Time)] += time;
  l.unit.mpi += time;
  ++l.unit.mpi_calls;
  if (l.extra) [[unlikely]]
    charge_reading(l, false, end, call.values + columns_of(NodeKind::Region));
  return {call.values, end};
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
