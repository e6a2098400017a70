// Iterations that differ: slow ones, steps to other levels, stretches, growth.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "offline/findings/blame.hpp"
#include "offline/findings/rules_of.hpp"
#include "statistics/statistics.hpp"

namespace refrain::findings {

namespace {

/// The iterations that are one period apart from another one. An iteration between them may be slow for a reason of its
/// own.
std::vector<std::size_t> in_turn(const std::vector<std::size_t>& places, std::size_t period) {
  std::vector<std::size_t> of;
  for (const std::size_t place : places)
    if (std::ranges::binary_search(places, place + period) ||
        (place >= period && std::ranges::binary_search(places, place - period)))
      of.push_back(place);
  return of;
}

/// The first few iterations.
std::vector<std::int64_t> first_of(const std::vector<std::size_t>& places) {
  constexpr std::size_t most = 5;
  return {places.begin(), places.begin() + static_cast<std::ptrdiff_t>(std::min(places.size(), most))};
}

}  // namespace

double share_of(const Facts& facts, const LoopFacts& loop, double seconds) {
  return seconds * static_cast<double>(loop.processes) / facts.elapsed_s();
}

Finding finding_of(const Facts& facts, const LoopFacts& loop, double seconds, double error_s) {
  Iterations of{.loop = loop.name, .of = loop.iterations, .first = 0, .last = loop.iterations - 1};
  if (!loop.has_all_ranks) {
    of.ranks_read = static_cast<std::int64_t>(loop.ranks.size());
    of.ranks = static_cast<std::int64_t>(loop.processes);
  }
  of.is_one_of_several = facts.loops.size() > 1;
  return {
      .share = share_of(facts, loop, seconds), .error = share_of(facts, loop, error_s), .iterations = std::move(of)};
}

void slow_iterations(const Facts& facts, std::vector<Finding>& found) {
  for (const LoopFacts& loop : facts.loops) {
    if (!loop.shape.peaks || loop.stride > 1) continue;
    const auto& peaks = *loop.shape.peaks;
    if (share_of(facts, loop, peaks.excess) < least_share) continue;
    const std::size_t count = peaks.places.size();
    const double excess_s = peaks.excess / static_cast<double>(count), usual_s = peaks.mean - excess_s;
    Finding& finding = found.emplace_back(finding_of(facts, loop, peaks.excess, peaks.error));
    finding.figures = {{Figure::Mean, peaks.mean}, {Figure::Others, usual_s}};
    Iterations& which = *finding.iterations;
    which.count = static_cast<std::int64_t>(count);
    which.period = static_cast<std::int64_t>(peaks.period);
    which.numbers = first_of(peaks.period > 0 ? in_turn(peaks.places, peaks.period) : peaks.places);
    finding.cause = blame(facts, loop, excess_s,
                          [&](std::size_t i) { return std::optional(std::ranges::binary_search(peaks.places, i)); });
  }
}

namespace {

/// Whether the iteration is a peak: single slow iterations say nothing of levels.
bool is_peak(const LoopFacts& loop, std::size_t iteration) {
  return loop.shape.peaks && std::ranges::binary_search(loop.shape.peaks->places, loop.value_of(iteration));
}

/// Number of iterations that all ranks have, from the value `begin` to before the value `end` of the loop.
double iterations_between(const LoopFacts& loop, std::size_t begin, std::size_t end) {
  double count = 0;
  for (std::size_t v = begin; v < std::min(end, loop.wall_s.size()); ++v) count += std::isfinite(loop.wall_s[v]);
  return count * static_cast<double>(loop.stride);
}

/// The cost of a step: by how much iterations on its slower side are longer than those on its faster side, for each at
/// most the height of the step.
double seconds_of_step(const LoopFacts& loop, std::size_t number) {
  const auto& steps = loop.shape.steps;
  const double least_s = std::min(steps[number].before, steps[number].after),
               height_s = std::abs(steps[number].after - steps[number].before);
  const bool is_slower = steps[number].after > steps[number].before;
  double seconds = 0;
  std::size_t begin = 0;
  for (std::size_t level = 0; level <= steps.size(); ++level) {
    const std::size_t end = level < steps.size() ? steps[level].at : loop.wall_s.size();
    const double level_s = level < steps.size() ? steps[level].before : steps.back().after;
    if (is_slower == (level > number))
      seconds += std::clamp(level_s - least_s, 0.0, height_s) * iterations_between(loop, begin, end);
    begin = end;
  }
  return seconds;
}

}  // namespace

void step_of_iterations(const Facts& facts, std::vector<Finding>& found) {
  for (const LoopFacts& loop : facts.loops) {
    std::int64_t from = 0;
    for (std::size_t s = 0; s < loop.shape.steps.size(); ++s) {
      const auto& step = loop.shape.steps[s];
      const bool is_last = s + 1 == loop.shape.steps.size(), is_slower = step.after > step.before;
      const std::int64_t at = static_cast<std::int64_t>(step.at) * loop.stride,
                         to = is_last ? loop.iterations
                                      : static_cast<std::int64_t>(loop.shape.steps[s + 1].at) * loop.stride;
      const double height_s = std::abs(step.after - step.before), seconds = seconds_of_step(loop, s);
      const auto is_of_slower = [&](std::size_t i) {
        const auto iteration = static_cast<std::int64_t>(i);
        return iteration < from || iteration >= to || is_peak(loop, i) ? std::nullopt
                                                                       : std::optional((iteration >= at) == is_slower);
      };
      if (share_of(facts, loop, seconds) >= least_share) {
        Finding& finding = found.emplace_back(finding_of(facts, loop, seconds, step.error / height_s * seconds));
        finding.figures = {{Figure::Mean, step.after}, {Figure::Others, step.before}};
        finding.iterations->first = at;
        finding.cause = blame(facts, loop, height_s, is_of_slower);
      }
      from = at;
    }
  }
}

void slow_stretch(const Facts& facts, std::vector<Finding>& found) {
  for (const LoopFacts& loop : facts.loops) {
    if (!loop.shape.stretch) continue;
    const auto& stretch = *loop.shape.stretch;
    const std::int64_t begin = static_cast<std::int64_t>(stretch.begin) * loop.stride,
                       end = static_cast<std::int64_t>(stretch.end) * loop.stride;
    const double count = iterations_between(loop, stretch.begin, stretch.end),
                 excess_s = stretch.level - stretch.around;
    if (share_of(facts, loop, excess_s * count) < least_share) continue;
    Finding& finding = found.emplace_back(finding_of(facts, loop, excess_s * count, stretch.error * count));
    finding.figures = {{Figure::Mean, stretch.level}, {Figure::Others, stretch.around}};
    finding.iterations->first = begin;
    finding.iterations->last = end - 1;
    finding.cause = blame(facts, loop, excess_s, [&](std::size_t i) {
      const auto iteration = static_cast<std::int64_t>(i);
      return is_peak(loop, i) ? std::nullopt : std::optional(iteration >= begin && iteration < end);
    });
  }
}

void growing_iterations(const Facts& facts, std::vector<Finding>& found) {
  for (const LoopFacts& loop : facts.loops) {
    if (!loop.shape.growth) continue;
    const auto& growth = *loop.shape.growth;
    const bool grows = growth.last > growth.first;
    const double count = iterations_between(loop, 0, loop.wall_s.size()), half = count / 2,
                 change_s = std::abs(growth.last - growth.first),
                 more_s = std::max(growth.mean - std::min(growth.first, growth.last), 0.0);
    if (share_of(facts, loop, more_s * count) < least_share) continue;
    Finding& finding = found.emplace_back(finding_of(facts, loop, more_s * count, growth.error * half));
    finding.figures = {{Figure::Low, growth.first}, {Figure::High, growth.last}};
    finding.cause = blame(facts, loop, change_s / 2, [&](std::size_t i) {
      return is_peak(loop, i) ? std::nullopt : std::optional((static_cast<double>(i) >= half) == grows);
    });
  }
}

void varying_iterations(const Facts& facts, std::vector<Finding>& found) {
  constexpr double tail = 0.05, least_ratio = 2;
  for (const LoopFacts& loop : facts.loops) {
    const analysis::IterationShape& shape = loop.shape;
    const bool has_peaks = shape.peaks && share_of(facts, loop, shape.peaks->excess) >= least_share;
    if (has_peaks || !shape.steps.empty() || shape.stretch || shape.growth || !(shape.usual > 0)) continue;
    std::vector<double> times_s;
    double more_s = 0, longer = 0;
    for (const double seconds : loop.wall_s) {
      if (!std::isfinite(seconds)) continue;
      times_s.push_back(seconds);
      more_s += std::max(seconds - shape.usual, 0.0) * static_cast<double>(loop.stride);
      longer += static_cast<double>(seconds > shape.usual) * static_cast<double>(loop.stride);
    }
    if (times_s.empty()) continue;
    const auto [low, high] = statistics::range_without_tails(times_s, tail);
    if (share_of(facts, loop, more_s) < least_share || (high < least_ratio * low && !shape.wander)) continue;
    Finding& finding = found.emplace_back(finding_of(facts, loop, more_s, 0));
    finding.figures = {{Figure::Low, times_s.front()}, {Figure::High, times_s.back()}, {Figure::Median, shape.usual}};
    if (shape.wander) {
      finding.figures[Figure::LevelLow] = shape.wander->low;
      finding.figures[Figure::LevelHigh] = shape.wander->high;
    }
    finding.cause = blame(facts, loop, more_s / longer, [&](std::size_t i) {
      const double seconds = loop.wall_s[loop.value_of(i)];
      return std::isfinite(seconds) ? std::optional(seconds > shape.usual) : std::nullopt;
    });
  }
}

}  // namespace refrain::findings
