#include "waits/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "statistics/statistics.hpp"

namespace refrain::waits {
namespace {

/// Durations::short_limit() in seconds.
double short_limit(double shortest_s) {
  constexpr double cold_s = 5e-6;
  return shortest_s + std::max(std::min(3 * shortest_s, cold_s), shortest_s / 4);
}

}  // namespace

double slowest_of(CallBin bin) {
  constexpr double latency_s = 200e-6, bytes_in_s = 50e6;
  const double steps = std::max(bin.processes(), 1U);
  return steps * (latency_s + static_cast<double>(bin.max_bytes()) / bytes_in_s);
}

Calls::Calls(const Durations& durations, double seconds_per_tick)
    : number(static_cast<double>(durations[Column::Calls])),
      time_s(static_cast<double>(durations[Column::Time]) * seconds_per_tick),
      short_number(static_cast<double>(durations[Column::ShortCalls])),
      short_time_s(static_cast<double>(durations[Column::ShortTime]) * seconds_per_tick) {}

Calls& Calls::operator+=(const Calls& other) {
  number += other.number;
  time_s += other.time_s;
  short_number += other.short_number;
  short_time_s += other.short_time_s;
  return *this;
}

void FloorBuilder::add(const Durations& durations, double seconds_per_tick) {
  if (durations.empty()) return;
  const double shortest = static_cast<double>(durations[Column::Shortest]) * seconds_per_tick;
  shortest_s_ = number_ == 0 ? shortest : std::min(shortest_s_, shortest);
  const Calls calls(durations, seconds_per_tick);
  number_ += calls.number;
  constexpr double nothing_s = 1e-12, in_an_octave = 8;
  Short& with = by_shortest_[static_cast<int>(std::floor(in_an_octave * std::log2(std::max(shortest, nothing_s))))];
  with.number += calls.short_number;
  with.time_s += calls.short_time_s;
}

Floor FloorBuilder::floor() const {
  // Groups in which even the shortest call may have waited do not contribute to the usual duration.
  constexpr double in_an_octave = 8;
  Short all;
  for (const auto& [eighths, group] : by_shortest_) {
    if (std::exp2(eighths / in_an_octave) > short_limit(shortest_s_)) break;
    all.number += group.number;
    all.time_s += group.time_s;
  }
  return {shortest_s_, all.number > 0 ? std::max(all.time_s / all.number, shortest_s_) : shortest_s_, number_};
}

Estimate& Estimate::operator+=(const Estimate& other) {
  seconds += other.seconds;
  least_s += other.least_s;
  most_s += other.most_s;
  paper_s += other.paper_s;
  most_by_shortest_s += other.most_by_shortest_s;
  return *this;
}

void Estimate::extend(double known_s, double time_s) {
  if (known_s >= time_s || known_s <= 0) return;
  seconds *= time_s / known_s;
  paper_s *= time_s / known_s;
  most_s += time_s - known_s;
  seconds = std::min(seconds, most_s);  // both may be rounded
  paper_s = std::min(paper_s, most_s);
  most_by_shortest_s += time_s - known_s;
}

double Estimate::error_s() const { return statistics::uniform_deviation_from(seconds, least_s, most_s); }

Estimate estimate(const Calls& calls, const Floor& own, const Floor& of_all, const Comparison& by) {
  const auto longer_than = [&](double floor_s) { return std::max(calls.time_s - calls.number * floor_s, 0.0); };
  const double short_s = short_limit(own.shortest_s);
  Estimate result;
  result.paper_s = longer_than(own.shortest_s);
  result.most_by_shortest_s = longer_than(std::min(own.shortest_s, of_all.shortest_s));
  if (by.long_by == LongBy::polling) {
    result.seconds = result.most_s = calls.time_s;
    return result;
  }
  result.most_s = by.has_one_without_waiting ? result.most_by_shortest_s : calls.time_s;
  result.seconds = std::min(longer_than(own.usual_s), result.most_by_shortest_s);
  const double of_long = calls.time_s - calls.short_time_s - (calls.number - calls.short_number) * short_s;
  result.least_s = std::clamp(std::max(of_long, longer_than(short_s)), 0.0, result.seconds);
  if (by.long_by == LongBy::data) result.seconds = std::exchange(result.least_s, 0.0);
  // No network is this slow, so even the shortest call has waited.
  if (!by.has_one_without_waiting && own.shortest_s > by.slowest_s)
    result.seconds = std::max(result.seconds, longer_than(by.slowest_s));
  result.least_s *= std::clamp(1 - by.off_processor, 0.0, 1.0);
  if (own.number < fewest_calls) {
    result.least_s = 0;
    result.most_s = calls.time_s;
  }
  return result;
}

}  // namespace refrain::waits
