#include "offline/analysis/iteration_shape.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "offline/analysis/run_comparison.hpp"

namespace refrain::analysis {
namespace {

/// A peak takes half as much again as the median around it, and is so many deviations away from it.
constexpr double least_peak = 1.5, least_deviations = 8;
constexpr double most_peaks = 0.4;       ///< of the iterations: more are no exceptions
constexpr double least_excess = 0.02;    ///< of all: less is not worth a word
constexpr double least_change = 0.1;     ///< of the median: the same for steps and growth
constexpr double most_by_chance = 1e-6;  ///< probability of a change at least as large, without any
constexpr std::size_t most_batches = 40, fewest_in_batch = 4, fewest_batches_of_level = 2;

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Iterations that follow each other.
struct Batch {
  std::size_t begin, end;
  double median, deviation;  ///< deviation: from the median, robust
};

std::vector<Batch> batches_of(std::span<const double> values) {
  constexpr double normal = 1.4826;  // the deviation of a normal distribution by its median absolute one
  const std::size_t count = std::clamp<std::size_t>(values.size() / fewest_in_batch, 1, most_batches);
  std::vector<Batch> batches;
  for (std::size_t b = 0; b < count; ++b) {
    Batch batch{b * values.size() / count, (b + 1) * values.size() / count, 0, 0};
    std::vector<double> own;
    for (std::size_t i = batch.begin; i < batch.end; ++i)
      if (std::isfinite(values[i])) own.push_back(values[i]);
    if (own.empty()) continue;
    batch.median = median_of(own);
    for (double& value : own) value = std::abs(value - batch.median);
    batch.deviation = normal * median_of(std::move(own));
    batches.push_back(batch);
  }
  return batches;
}

std::optional<IterationShape::Peaks> peaks_of(std::span<const double> values, std::span<const Batch> batches,
                                              double usual) {
  // Batches are short: what scatters little in one of them by chance scatters as much as in most.
  std::vector<double> deviations;
  for (const Batch& batch : batches) deviations.push_back(batch.deviation);
  const double deviation = median_of(std::move(deviations));
  IterationShape::Peaks peaks;
  double all = 0, sum = 0;
  for (const Batch& batch : batches) {
    // A batch may lie in the middle of a step.
    const double least = std::max(least_peak * std::max(batch.median, usual * 0.1),
                                  batch.median + least_deviations * std::max(batch.deviation, deviation));
    for (std::size_t i = batch.begin; i < batch.end; ++i) {
      if (!std::isfinite(values[i])) continue;
      all += values[i];
      if (values[i] <= least) continue;
      peaks.places.push_back(i);
      peaks.excess += values[i] - batch.median;
      sum += values[i];
    }
  }
  const auto count = static_cast<double>(peaks.places.size());
  if (peaks.places.empty() || count > most_peaks * static_cast<double>(values.size()) ||
      peaks.excess < least_excess * all)
    return std::nullopt;
  peaks.mean = sum / count;
  peaks.error = deviation * std::sqrt(count);
  peaks.period = period_of(peaks.places, values.size());
  return peaks;
}

struct Line {
  double level = 0, slope = 0, squares = 0;  ///< at the first batch, per batch; of what is left
};

Line line_through(std::span<const double> y) {
  const auto n = static_cast<double>(y.size());
  const double mean_x = (n - 1) / 2, mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double x = static_cast<double>(i) - mean_x;
    xx += x * x;
    xy += x * (y[i] - mean_y);
  }
  Line line{0, xy / xx, 0};
  line.level = mean_y - line.slope * mean_x;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double left = y[i] - line.level - line.slope * static_cast<double>(i);
    line.squares += left * left;
  }
  return line;
}

struct Levels {
  std::size_t batch = 0;  ///< the first one of the second level
  double before = 0, after = 0, squares = 0;
};

/// The two levels that leave least.
Levels two_levels(std::span<const double> y) {
  Levels best;
  for (std::size_t at = fewest_batches_of_level; at + fewest_batches_of_level <= y.size(); ++at) {
    Levels levels{at, 0, 0, 0};
    const auto mean = [](std::span<const double> part) {
      return std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size());
    };
    levels.before = mean(y.first(at));
    levels.after = mean(y.subspan(at));
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double left = y[i] - (i < at ? levels.before : levels.after);
      levels.squares += left * left;
    }
    if (best.batch == 0 || levels.squares < best.squares) best = levels;
  }
  return best;
}

/// The iteration of the step, near the first batch of the other level: the one that leaves least of absolute
/// deviations from both levels.
std::size_t place_of_step(std::span<const double> values, std::span<const Batch> batches, const Levels& levels) {
  const std::size_t from = batches[levels.batch - 1].begin,
                    to = batches[std::min(levels.batch + 1, batches.size() - 1)].begin;
  double gain = 0, best_gain = 0;
  std::size_t best = from;
  for (std::size_t i = from; i < to; ++i) {
    if (std::isfinite(values[i])) gain += std::abs(values[i] - levels.after) - std::abs(values[i] - levels.before);
    if (gain > best_gain) {
      best_gain = gain;
      best = i + 1;
    }
  }
  return best;
}

/// Batches resemble their neighbours: they tell less than independent ones.
double inflation(std::span<const double> left) {
  double squares = 0, products = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    squares += left[i] * left[i];
    if (i > 0) products += left[i] * left[i - 1];
  }
  constexpr double most_correlation = 0.9;
  const double correlation = squares > 0 ? std::clamp(products / squares, 0.0, most_correlation) : 0;
  return (1 + correlation) / (1 - correlation);
}

/// `tried`: so many changes were looked at, of which this is the largest.
bool is_change(double change, double error, double degrees, double tried, double usual) {
  const double size = std::abs(change);
  return size > least_change * usual &&
         (error <= 0 || 2 * tried * student_above(size / error, degrees) < most_by_chance);
}

}  // namespace

std::size_t period_of(std::span<const std::size_t> places, std::size_t extent) {
  constexpr std::size_t fewest = 4;
  constexpr double nearly_all = 0.7;
  if (places.size() < fewest) return 0;
  std::map<std::size_t, std::size_t> gaps;
  for (std::size_t i = 1; i < places.size(); ++i) ++gaps[places[i] - places[i - 1]];
  const auto usual = std::ranges::max_element(gaps, {}, [](const auto& of) { return of.second; });
  const auto count = static_cast<double>(places.size()), period = static_cast<double>(usual->first);
  const bool is_regular = static_cast<double>(usual->second) >= nearly_all * (count - 1),
             is_everywhere = count * period >= nearly_all * static_cast<double>(extent);
  return is_regular && is_everywhere && usual->first > 1 ? usual->first : 0;
}

IterationShape shape_of(std::span<const double> values) {
  IterationShape shape;
  if (values.size() < least_iterations_of_shape) return shape;
  const std::vector<Batch> batches = batches_of(values);
  if (batches.size() < 2 * fewest_batches_of_level + 1) return shape;
  std::vector<double> known, y;
  for (const double value : values)
    if (std::isfinite(value)) known.push_back(value);
  shape.usual = median_of(std::move(known));
  for (const Batch& batch : batches) y.push_back(batch.median);
  shape.peaks = peaks_of(values, batches, shape.usual);

  const auto n = static_cast<double>(y.size());
  const Line line = line_through(y);
  const Levels levels = two_levels(y);
  std::vector<double> left(y.size());
  if (levels.squares < line.squares) {
    for (std::size_t i = 0; i < y.size(); ++i) left[i] = y[i] - (i < levels.batch ? levels.before : levels.after);
    const auto first = static_cast<double>(levels.batch);
    const double variance = levels.squares / (n - 3) * inflation(left);
    const double error = std::sqrt(variance * (1 / first + 1 / (n - first))), change = levels.after - levels.before;
    if (is_change(change, error, n - 3, n, shape.usual))
      shape.step = {place_of_step(values, batches, levels), levels.before, levels.after, error};
    return shape;
  }
  for (std::size_t i = 0; i < y.size(); ++i) left[i] = y[i] - line.level - line.slope * static_cast<double>(i);
  const double variance = line.squares / (n - 2) * inflation(left);
  const double change = line.slope * (n - 1);
  const double error = std::sqrt(variance * 12 / (n * (n * n - 1))) * (n - 1);
  if (is_change(change, error, n - 2, 1, shape.usual)) shape.growth = {line.level, line.level + change, error};
  return shape;
}

}  // namespace refrain::analysis
