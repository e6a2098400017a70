#include "measurement/extra_metrics.hpp"

#include <utility>

#include "measurement/event_log.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {

namespace {

/// Reads the counters and calls count(metric, growth since the last reading). False: the location belongs to another
/// thread, or has no counters.
template <class Count>
bool read(Location& l, bool at_tick, const Count& count) {
  ExtraReadings& r = *l.extra;
  if (!r.counters || r.thread != __builtin_thread_pointer()) return false;
  std::int64_t values[max_extra_metrics];
  for (std::size_t i = 0; i < max_extra_metrics; ++i) values[i] = r.last[i];
  if (!extra_metrics.read(r.counters, at_tick, values)) l.count_loss(Loss::MetricUnreadable);
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) {
    const std::int64_t growth = values[i] - r.last[i];
    r.last[i] = values[i];
    count(i, growth);
  }
  return true;
}

/// Reads the counters and charges the growth to nothing.
void leave_out_growth(Location& l, bool at_tick) {
  (void)read(l, at_tick, [&](std::uint32_t i, std::int64_t growth) {
    l.extra->begin[i] += growth;
    l.extra->uncounted[i] += growth;
  });
}

}  // namespace

void take_reading(Location& l, bool at_tick) {
  if (std::exchange(l.extra->leave_out, false)) return leave_out_growth(l, at_tick);
  (void)read(l, at_tick, [](std::uint32_t, std::int64_t) {});
}

void charge_reading(Location& l, bool at_tick, platform::Ticks at, std::int64_t* extra_columns) {
  if (l.stopped) return;
  const auto charge = [&](std::uint32_t i, std::int64_t growth) { extra_columns[i] += growth; };
  if (std::exchange(l.extra->leave_out, false)) leave_out_growth(l, at_tick);
  else if (!read(l, at_tick, charge)) return;
  note_reading(l, at, !at_tick);
}

void leave_out_own_work(Location& l) {
  if (l.extra) leave_out_growth(l, false);
}

void begin_readings(Location& l) {
  if (!extra_metrics.open) return;
  if (!l.extra) l.extra = platform::make_on_pages<ExtraReadings>();
  if (!l.extra) return l.count_loss(Loss::MetricUnreadable);
  l.extra->counters = extra_metrics.open();
  if (!l.extra->counters) return l.count_loss(Loss::MetricUnreadable);
  l.extra->thread = __builtin_thread_pointer();
  std::int64_t counted[max_extra_metrics];  // of the location's earlier threads
  for (std::size_t i = 0; i < max_extra_metrics; ++i) counted[i] = counted_of(*l.extra, i);
  for (std::int64_t& value : l.extra->last) value = 0;
  take_reading(l, false);
  for (std::size_t i = 0; i < max_extra_metrics; ++i) {
    l.extra->begin[i] = l.extra->last[i];
    l.extra->uncounted[i] = l.extra->last[i] - counted[i];
  }
}

void end_readings(Location& l) {
  // The process closes the counters of threads that still run at the end of the measurement.
  if (!l.extra || !l.extra->counters || l.extra->thread != __builtin_thread_pointer()) return;
  extra_metrics.close(l.extra->counters);
  l.extra->counters = nullptr;
}

}  // namespace refrain::measurement
