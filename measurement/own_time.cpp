#include "measurement/own_time.hpp"

#include <cmath>

#include "measurement/location.hpp"

namespace refrain::measurement {

using platform::Ticks;

namespace {

/// Without a switch watch, a time of more than this many times the mean shows that the thread has lost its processor.
constexpr Ticks max_times_mean = 64;
constexpr std::int64_t enough_for_a_mean = 16;

OwnTimes& times_of(Location& l, OwnTime of) { return l.own_times[static_cast<std::size_t>(of)]; }

Ticks mean_ticks(const OwnTimes& t) {
  const std::int64_t calls = t.each + calls_per_timing * t.sampled;
  return calls > 0 ? (t.each_sum + calls_per_timing * t.sampled_sum) / calls : 0;
}

/// Whether the thread has kept its processor for all of `time`.
bool is_undisturbed(Location& l, const OwnTimes& times, std::uint32_t watch, Ticks time) {
  platform::SwitchWatch& of_thread = l.cpu_clock.watch();
  if (of_thread.works()) return of_thread.holds(watch);
  return times.each + times.sampled < enough_for_a_mean || time <= max_times_mean * mean_ticks(times);
}

/// Sets `calls_to_timing`.
void choose_next_call(Location& l) {
  CallTiming& timing = l.call_timing;
  if (timing.each_left > 0) {
    l.calls_to_timing = 1;
    return;
  }
  const std::int32_t rest = calls_per_timing - timing.position;
  timing.position = 1 + static_cast<std::int32_t>(next_random(l) % calls_per_timing);  // uniform among the next ones
  l.calls_to_timing = static_cast<std::int16_t>(rest + timing.position);
}

Ticks take_until(Location& l, OwnTime of, const OwnTimeBegin& begin, Ticks end) {
  OwnTimes& times = times_of(l, of);
  const Ticks time = end - begin.at - (l.own_times_left_out - begin.left_out);
  if (time < 0 || !is_undisturbed(l, times, begin.watch, time)) return mean_ticks(times);
  ++times.each;
  times.each_sum += time;
  return time;
}

}  // namespace

OwnTimeMean mean_of(const OwnTimes& t) {
  OwnTimeMean result{t.each + t.sampled, 0, 0};
  if (result.timed == 0) return result;
  const auto sampled = static_cast<double>(t.sampled), sum = static_cast<double>(t.sampled_sum);
  const double calls = static_cast<double>(t.each) + calls_per_timing * sampled;
  result.mean = (static_cast<double>(t.each_sum) + calls_per_timing * sum) / calls;
  if (t.sampled < 2) return result;
  const double variance = (static_cast<double>(t.sampled_squares) - sum * sum / sampled) / (sampled - 1);
  if (variance > 0) result.error = calls_per_timing * std::sqrt(sampled * variance) / calls;
  return result;
}

void take_back_timing(Location& l) {
  if (l.calls_to_timing++ <= 0) l.call_timing.begin = l.call_timing.begin_before;
}

void end_timed_call(Location& l, Ticks end, Ticks exit) {
  CallTiming& timing = l.call_timing;
  OwnTimes& times = times_of(l, OwnTime::Call);
  const Ticks left_out = l.own_times_left_out - timing.begin.left_out;
  const Ticks time = (l.call.begin - timing.begin.at) + (exit - end) - left_out;
  const bool each = timing.each_left > 0;
  if (each) --timing.each_left;
  const bool is_recorded = !l.stopped && l.call.node != unrecorded_call;
  if (is_recorded && time >= 0 && is_undisturbed(l, times, timing.begin.watch, time)) {
    if (each) {
      ++times.each;
      times.each_sum += time;
    } else {
      ++times.sampled;
      times.sampled_sum += time;
      times.sampled_squares += static_cast<unsigned __int128>(time) * static_cast<unsigned __int128>(time);
    }
  }
  choose_next_call(l);
}

Ticks take_own_time(Location& l, OwnTime of, const OwnTimeBegin& begin) {
  return take_until(l, of, begin, platform::now());
}

Ticks end_own_time(Location& l, OwnTime of, const OwnTimeBegin& begin) {
  const Ticks end = platform::now();
  const Ticks time = take_until(l, of, begin, end);
  l.own_times_left_out = begin.left_out + (end - begin.at);
  return time;
}

void charge_longer_work(Location& l, Ticks work, Ticks elapsed) {
  l.unit.own += work < elapsed ? work : elapsed;
  l.own_times_left_out += elapsed;
}

void begin_own_times(Location& l) {
  CallTiming& timing = l.call_timing;
  if (!l.first_begin) timing.each_left = calls_timed_each;
  timing.position = calls_per_timing;
  choose_next_call(l);
}

}  // namespace refrain::measurement
