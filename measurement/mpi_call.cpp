#include "measurement/mpi_call.hpp"

#include "platform/hot.hpp"

namespace refrain::measurement {

namespace {

[[gnu::always_inline]] inline BegunCall begin(Location& l, RegionId region, const platform::Registers& caller) {
  if (!enter(l, caller)) [[unlikely]] {
    pass_call(l);
    return {nullptr, false};
  }
  if (calls_have_extras.load(std::memory_order_relaxed)) [[unlikely]] {
    l.call_values = enter_region_with_extras(l, region, caller);
    if (l.call_values) return {&l, false};
    pass_call(l);
    return {nullptr, false};
  }
  l.call_values = enter_region(l, region, caller);
  return {&l, false};
}

}  // namespace

BegunCall begin_counted_call(Location& l, RegionId region, const platform::Registers& caller) {
  return begin(l, region, caller);
}

REFRAIN_HOT_CODE BegunCall begin_call(RegionId region, std::uintptr_t pc, std::uintptr_t sp, std::uintptr_t fp) {
  count_call();
  Location* l = this_thread.location;
  if (!l) return {nullptr, false};
  if (is_announced(*l, region, sp)) [[unlikely]] {
    pass_call(*l);
    l->announced = 0;
    return {enter(*l, Inside::Mpi) ? l : nullptr, true};
  }
  return begin(*l, region, {pc, sp, fp});
}

REFRAIN_HOT_CODE ReturnedCall return_from_mpi(BegunCall call, std::uintptr_t scope_sp) {
  Location& l = *call.location;
  if (l.scope_sp != scope_sp) [[unlikely]]
    return {nullptr, 0};  // a fiber's that was taken for abandoned, and has been counted as such
  if (!enter(l, Inside::Mpi)) [[unlikely]]
    return {nullptr, 0};  // counted by the finalizing thread
  const platform::Ticks end = call.within ? 0 : platform::now();
  std::int64_t* values = l.call_values;
  if (l.following) [[unlikely]]
    values = keep_up_after_call(l);
  if (call.within) [[unlikely]]
    return {values, 0};
  platform::Ticks time = end - l.call_begin - l.handler_time_in_call;
  if (time < 0) time = 0;
  l.unit.mpi += time;
  ++l.unit.mpi_calls;
  ++values[column_of(MetricId::Visits)];
  values[column_of(MetricId::Time)] += time;
  if (l.extra) [[unlikely]]
    charge_reading(l, false, values + columns_of(NodeKind::Region));
  return {values, end};
}

REFRAIN_HOT_CODE void finish_call(BegunCall call, platform::Ticks end) {
  Location& l = *call.location;
  if (call.within) [[unlikely]]
    return leave(l, Inside::Mpi);
  if (end >= snapshot_due.load(std::memory_order_relaxed)) [[unlikely]]
    take_due_snapshot(l);
  if (this_thread.calls_to_timing <= 0) [[unlikely]]
    end_timed_call(l, end, platform::now());
  leave(l, Inside::User);
}

}  // namespace refrain::measurement
