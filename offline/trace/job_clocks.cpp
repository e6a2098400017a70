#include "offline/trace/job_clocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <queue>

namespace refrain::trace {

void JobClocks::add(const experiment::Rank& rank) {
  const experiment::EventsOfRank& events = *rank.events;
  if (clocks_.empty()) first_ = events.clock;
  const auto machine = static_cast<std::uint32_t>(clocks_.size());
  const auto [at, is_new] = clocks_.try_emplace(events.clock, Clock{rank.begin_epoch_ns - events.first.monotonic_ns});
  if (is_new) at->second.machine = machine;
  clock_of_rank_[rank.rank] = events.clock;
  begins_.push_back({events.clock, events.first.monotonic_ns});
  for (const experiment::EventsOfRank::ClockOffset& of : events.clock_offsets)
    seen_.push_back({events.clock, of.rank, {of.at_ns, of.offset_ns, of.round_trip_ns}});
}

namespace {

/// Damaged files may contain any number; 2^61 ns are 73 years.
bool is_possible(std::int64_t ns) {
  constexpr std::int64_t most = std::int64_t{1} << 61;
  return -most < ns && ns < most;
}

}  // namespace

/// Of the early and of the late samples, the one with the shortest round trip is the best. If the two offsets differ by
/// no more than their possible errors, as in a short run, the difference says nothing about the clocks: the better
/// sample stands for all times.
void JobClocks::follow(std::uint64_t clock, std::uint64_t parent, std::vector<Sample> samples) {
  const auto [first, last] = std::ranges::minmax(samples, {}, &Sample::at);
  const std::int64_t middle = first.at + (last.at - first.at) / 2;
  const auto late = std::ranges::partition(samples, [&](const Sample& s) { return s.at <= middle; });
  const std::ranges::subrange early(samples.begin(), late.begin());
  Sample begin = *std::ranges::min_element(early, {}, &Sample::round_trip);
  Sample end = late.empty() ? begin : *std::ranges::min_element(late, {}, &Sample::round_trip);
  Clock& of = clocks_.at(clock);
  of.measured = {begin};
  if (!late.empty()) of.measured.push_back(end);
  if (std::abs(end.offset - begin.offset) <= begin.round_trip / 2 + end.round_trip / 2)
    begin = end = std::min(begin, end, [](const Sample& a, const Sample& b) { return a.round_trip < b.round_trip; });
  of.parent = parent;
  of.at = begin.at;
  of.offset = begin.offset;
  if (end.at > begin.at)
    of.slope = static_cast<double>(end.offset - begin.offset) / static_cast<double>(end.at - begin.at);
  uncertainties_[clock] = uncertainties_[parent] + std::max(begin.round_trip, end.round_trip) / 2;
}

void JobClocks::connect() {
  std::map<std::uint64_t, std::map<std::uint64_t, std::vector<Sample>>> between;
  for (const Seen& seen : seen_) {
    const auto other = clock_of_rank_.find(seen.rank);
    if (other == clock_of_rank_.end() || other->second == seen.clock) continue;
    const Sample& s = seen.sample;
    if (!is_possible(s.at) || !is_possible(s.offset) || !is_possible(s.round_trip) || s.round_trip < 0) continue;
    between[seen.clock][other->second].push_back(s);
    between[other->second][seen.clock].push_back({s.at + s.offset, -s.offset, s.round_trip});
  }
  std::queue<std::uint64_t> reached;
  reached.push(first_);
  uncertainties_[first_] = 0;
  for (; !reached.empty(); reached.pop())
    for (const auto& [other, samples] : between[reached.front()]) {
      if (uncertainties_.contains(other)) continue;
      follow(other, reached.front(), between[other][reached.front()]);
      reached.push(other);
    }
  uncertainty_ = uncertainties_.size() < clocks_.size() ? -1 : 0;
  if (uncertainty_ == 0)
    for (const auto& [clock, of] : uncertainties_) uncertainty_ = std::max(uncertainty_, of);
  begin_ = std::numeric_limits<std::int64_t>::max();
  for (const Begin& of : begins_) begin_ = std::min(begin_, to_first(of.clock, of.monotonic_ns));
}

std::int64_t JobClocks::to_first(std::uint64_t clock, std::int64_t time) const {
  const Clock* of = &clocks_.at(clock);
  for (; of->parent != 0; of = &clocks_.at(of->parent))
    time += of->offset + static_cast<std::int64_t>(static_cast<double>(time - of->at) * of->slope);
  return time + of->to_epoch;
}

/// A clock is wrong by the distance of the line from the measured point, plus the errors on the way to the first clock.
ClockCorrection JobClocks::correction(std::int64_t end_ns) const {
  ClockCorrection correction(clocks_.size(), 0, end_ns);
  for (const auto& [clock, of] : clocks_)
    for (const Sample& sample : of.measured) {
      const double line = static_cast<double>(of.offset) + static_cast<double>(sample.at - of.at) * of.slope;
      const double error = std::abs(static_cast<double>(sample.offset) - line) +
                           static_cast<double>(uncertainties_.at(of.parent) + sample.round_trip / 2);
      correction.add_measured(of.machine, since_begin(to_first(clock, sample.at)), error);
    }
  return correction;
}

void JobClocks::correct(const ClockCorrection& correction) {
  bounds_ = correction.bounds();
  const std::int64_t even_begin = begin_;
  std::map<std::uint64_t, ClockCurve> curves;
  uncertainty_ = 0;
  for (const auto& [clock, of] : clocks_) {
    if (ClockCurve curve = correction.curve(of.machine); !curve.empty()) curves[clock] = std::move(curve);
    const auto measured = uncertainties_.find(clock);
    const std::int64_t even = measured == uncertainties_.end() ? -1 : measured->second;
    const double bounded = correction.uncertainty(of.machine);
    const std::int64_t known = bounded >= 0 ? static_cast<std::int64_t>(bounded) : even;
    uncertainty_ = known < 0 || uncertainty_ < 0 ? -1 : std::max(uncertainty_, known);
  }
  begin_ = std::numeric_limits<std::int64_t>::max();
  for (const Begin& of : begins_) {
    const std::int64_t even = to_first(of.clock, of.monotonic_ns);
    const auto curve = curves.find(of.clock);
    const double add =
        curve == curves.end() ? 0 : curve->second.at(static_cast<double>(even) - static_cast<double>(even_begin));
    begin_ = std::min(begin_, even + static_cast<std::int64_t>(add));
  }
  for (auto& [clock, curve] : curves) {
    curve.move(static_cast<double>(even_begin) - static_cast<double>(begin_));
    clocks_.at(clock).curve = std::make_shared<const ClockCurve>(std::move(curve));
  }
}

std::uint32_t JobClocks::machine_of(std::int32_t rank) const {
  const auto clock = clock_of_rank_.find(rank);
  return clock == clock_of_rank_.end() ? 0 : clocks_.at(clock->second).machine;
}

std::shared_ptr<const ClockCurve> JobClocks::curve_of(std::int32_t rank) const {
  const auto clock = clock_of_rank_.find(rank);
  return clock == clock_of_rank_.end() ? nullptr : clocks_.at(clock->second).curve;
}

std::int64_t JobClocks::corrected(std::uint64_t clock, std::int64_t time) const {
  const std::int64_t even = to_first(clock, time);
  const auto& curve = clocks_.at(clock).curve;
  return curve ? even + static_cast<std::int64_t>(curve->at(since_begin(even))) : even;
}

std::optional<std::int64_t> JobClocks::offset_of(std::int32_t rank, std::int64_t monotonic_ns) const {
  const auto clock = clock_of_rank_.find(rank);
  if (clock == clock_of_rank_.end() || !uncertainties_.contains(clock->second)) return std::nullopt;
  return corrected(clock->second, monotonic_ns) - clocks_.at(first_).to_epoch - monotonic_ns;
}

std::int64_t JobClocks::even_time_of(const experiment::Rank& rank, std::int64_t monotonic_ns) const {
  return to_first(rank.events->clock, monotonic_ns);
}

std::int64_t JobClocks::time_of(const experiment::Rank& rank, std::int64_t monotonic_ns) const {
  return corrected(rank.events->clock, monotonic_ns);
}

}  // namespace refrain::trace
