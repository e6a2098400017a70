#include "measurement/extra_metrics.hpp"

#include <utility>

#include "measurement/event_log.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {

constinit ExtraMetrics extra_metrics;

namespace {

/// False: the location is another thread's.
bool read(Location& l, bool at_tick, std::int64_t (&values)[most_extra_metrics]) {
  const ExtraReadings& r = *l.extra;
  if (!r.counters || r.thread != __builtin_thread_pointer()) return false;
  for (std::size_t i = 0; i < most_extra_metrics; ++i) values[i] = r.last[i];
  if (!extra_metrics.read(r.counters, at_tick, values)) l.count_loss(Loss::MetricUnreadable);
  return true;
}

/// The growth since the last reading is charged to nothing.
void leave_out_growth(Location& l, bool at_tick) {
  ExtraReadings& r = *l.extra;
  std::int64_t values[most_extra_metrics];
  if (!read(l, at_tick, values)) return;
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) {
    const std::int64_t growth = values[i] - r.last[i];
    r.last[i] = values[i];
    r.begin[i] += growth;
    r.uncounted[i] += growth;
  }
}

/// False: they could not be read.
bool charge(Location& l, bool at_tick, std::int64_t* extra_columns) {
  std::int64_t values[most_extra_metrics];
  if (!read(l, at_tick, values)) return false;
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) {
    extra_columns[i] += values[i] - l.extra->last[i];
    l.extra->last[i] = values[i];
  }
  return true;
}

}  // namespace

void take_reading(Location& l, bool at_tick) {
  if (std::exchange(l.extra->leave_out, false)) return leave_out_growth(l, at_tick);
  std::int64_t values[most_extra_metrics];
  if (!read(l, at_tick, values)) return;
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) l.extra->last[i] = values[i];
}

void charge_reading(Location& l, bool at_tick, platform::Ticks at, std::int64_t* extra_columns) {
  if (l.stopped) return;
  if (std::exchange(l.extra->leave_out, false)) leave_out_growth(l, at_tick);
  else if (!charge(l, at_tick, extra_columns)) return;
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
  std::int64_t counted[most_extra_metrics];  // of the location's earlier threads
  for (std::size_t i = 0; i < most_extra_metrics; ++i) counted[i] = counted_of(*l.extra, i);
  for (std::int64_t& value : l.extra->last) value = 0;
  take_reading(l, false);
  for (std::size_t i = 0; i < most_extra_metrics; ++i) {
    l.extra->begin[i] = l.extra->last[i];
    l.extra->uncounted[i] = l.extra->last[i] - counted[i];
  }
}

void end_readings(Location& l) {
  // Counters of a thread that still runs at the end of the measurement end with the process.
  if (!l.extra || !l.extra->counters || l.extra->thread != __builtin_thread_pointer()) return;
  extra_metrics.close(l.extra->counters);
  l.extra->counters = nullptr;
}

}  // namespace refrain::measurement
