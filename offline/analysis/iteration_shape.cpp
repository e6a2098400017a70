#include "offline/analysis/iteration_shape.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "statistics/statistics.hpp"

namespace refrain::analysis {
namespace {

/// A peak is at least this many times the median around it, and this many deviations above it.
constexpr double least_peak = 1.5, least_deviations = 8;
constexpr double most_peaks = 0.4;     ///< of the iterations: more are no exceptions
constexpr double least_excess = 0.02;  ///< of the total: a smaller excess is not reported
constexpr double least_change = 0.1;   ///< of the median: smaller steps and growth are not reported
constexpr std::size_t most_batches = 40, fewest_batches_of_level = 2;
/// Minimum iterations of a batch: a median of three ignores one peak. The usual value around a peak needs more of them.
constexpr std::size_t fewest_in_batch = 3, fewest_around_peak = 4;

/// The median; of an even number of values, the upper one of the two in the middle.
double median_of(std::vector<double> values) {
  constexpr double half = 0.5;
  return statistics::quantile(values, half);
}

/// Consecutive iterations.
struct Batch {
  std::size_t begin, end;
  double median, deviation;  ///< deviation: from the median, robust
};

std::vector<Batch> batches_of(std::span<const double> values, std::size_t fewest) {
  const std::size_t count = std::clamp<std::size_t>(values.size() / fewest, 1, most_batches);
  std::vector<Batch> batches;
  for (std::size_t b = 0; b < count; ++b) {
    Batch batch{b * values.size() / count, (b + 1) * values.size() / count, 0, 0};
    std::vector<double> own;
    for (std::size_t i = batch.begin; i < batch.end; ++i)
      if (std::isfinite(values[i])) own.push_back(values[i]);
    if (own.empty()) continue;
    batch.median = median_of(own);
    batch.deviation = statistics::deviation_by_median(std::move(own), batch.median);
    batches.push_back(batch);
  }
  return batches;
}

double level_at(const IterationShape& shape, std::size_t i);

std::optional<IterationShape::Peaks> peaks_of(std::span<const double> values, std::span<const Batch> batches,
                                              const IterationShape& shape) {
  // Batches are short: one that scatters little does so by chance, and counts as scattering like most of them.
  std::vector<double> deviations;
  for (const Batch& batch : batches) deviations.push_back(batch.deviation);
  const double deviation = median_of(std::move(deviations));
  IterationShape::Peaks peaks;
  double all = 0, sum = 0;
  for (const Batch& batch : batches) {
    for (std::size_t i = batch.begin; i < batch.end; ++i) {
      if (!std::isfinite(values[i])) continue;
      all += values[i];
      // A step may lie within a batch.
      const double around = std::max(batch.median, level_at(shape, i));
      const double least = std::max(least_peak * std::max(around, shape.usual * 0.1),
                                    around + least_deviations * std::max(batch.deviation, deviation));
      if (values[i] <= least) continue;
      peaks.places.push_back(i);
      peaks.excess += values[i] - around;
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

/// A description of the batches.
struct Model {
  std::vector<double> values;  ///< by batch
  double squares = 0;          ///< sum of squared residuals
  double parameters = 0;       ///< number of fitted parameters

  /// Bayesian information criterion: the model with the lowest value describes the batches best.
  double criterion(double usual) const {
    const auto n = static_cast<double>(values.size());
    const double least = n * std::pow(1e-6 * usual, 2);
    return n * std::log(std::max(squares, least) / n) + parameters * std::log(n);
  }
};

double squares_left(std::span<const double> y, std::span<const double> values) {
  double squares = 0;
  for (std::size_t i = 0; i < y.size(); ++i) squares += std::pow(y[i] - values[i], 2);
  return squares;
}

struct Curve : Model {
  double slope = 0;  ///< per batch, in the middle
  bool is_monotonic = true;
};

/// Fits a line or a parabola with polynomials that are orthogonal on the batches.
Curve curve_through(std::span<const double> y, bool is_line) {
  const auto n = static_cast<double>(y.size());
  const double middle = (n - 1) / 2, mean_squared = (n * n - 1) / 12;
  double level = 0, xy = 0, qy = 0, qq = 0;
  const auto x_of = [&](std::size_t i) { return static_cast<double>(i) - middle; };
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double x = x_of(i), q = x * x - mean_squared;
    level += y[i] / n;
    xy += x * y[i];
    qy += q * y[i];
    qq += q * q;
  }
  Curve curve;
  curve.slope = xy / (n * mean_squared);
  const double bend = is_line ? 0 : qy / qq;
  for (std::size_t i = 0; i < y.size(); ++i)
    curve.values.push_back(level + curve.slope * x_of(i) + bend * (x_of(i) * x_of(i) - mean_squared));
  curve.squares = squares_left(y, curve.values);
  curve.parameters = is_line ? 2 : 3;
  curve.is_monotonic = std::abs(2 * bend * middle) <= std::abs(curve.slope);
  return curve;
}

struct Levels : Model {
  std::vector<std::size_t> begins;  ///< the first batch of each level except the first level
};

/// Prefix sums, so that sums over a range need no loop.
class Ranges {
 public:
  explicit Ranges(std::span<const double> y) : sums_(y.size() + 1), squares_(y.size() + 1) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      sums_[i + 1] = sums_[i] + y[i];
      squares_[i + 1] = squares_[i] + y[i] * y[i];
    }
  }
  double mean(std::size_t begin, std::size_t end) const {
    return (sums_[end] - sums_[begin]) / static_cast<double>(end - begin);
  }
  /// Sum of the squared deviations from the mean.
  double squares(std::size_t begin, std::size_t end) const {
    const double mean_here = mean(begin, end);
    return std::max(squares_[end] - squares_[begin] - mean_here * mean_here * static_cast<double>(end - begin), 0.0);
  }

 private:
  std::vector<double> sums_, squares_;
};

/// The two or three levels with the least squared residuals. The level in the middle may be a single batch.
Levels levels_of(std::span<const double> y, std::size_t count) {
  const Ranges ranges(y);
  const std::size_t n = y.size(), last = n - fewest_batches_of_level;
  std::vector<std::size_t> begins;
  double best = -1;
  for (std::size_t a = fewest_batches_of_level; a <= last; ++a)
    for (std::size_t b = count == 2 ? n : a + 1; b <= (count == 2 ? n : last); ++b) {
      const double squares = ranges.squares(0, a) + ranges.squares(a, b) + (b < n ? ranges.squares(b, n) : 0);
      if (best >= 0 && squares >= best) continue;
      best = squares;
      begins = {a};
      if (b < n) begins.push_back(b);
    }
  Levels levels;
  levels.begins = begins;
  begins.push_back(n);
  std::size_t from = 0;
  for (const std::size_t to : begins) {
    levels.values.insert(levels.values.end(), to - from, ranges.mean(from, to));
    from = to;
  }
  levels.squares = squares_left(y, levels.values);
  // The place of a step is chosen among many: it counts as two parameters.
  levels.parameters = static_cast<double>(count + 2 * (count - 1));
  return levels;
}

/// The iteration of a step, near the first batch of the other level: the one that minimises the absolute deviations
/// from both levels.
std::size_t place_of_step(std::span<const double> values, std::span<const Batch> batches, const Levels& levels,
                          std::size_t batch) {
  const double before = levels.values[batch - 1], after = levels.values[batch];
  const std::size_t from = batches[batch - 1].begin, to = batches[std::min(batch + 1, batches.size() - 1)].begin;
  double gain = 0, best_gain = 0;
  std::size_t best = from;
  for (std::size_t i = from; i < to; ++i) {
    if (std::isfinite(values[i])) gain += std::abs(values[i] - after) - std::abs(values[i] - before);
    if (gain > best_gain) {
      best_gain = gain;
      best = i + 1;
    }
  }
  return best;
}

/// What a change must meet to be reported.
struct Demand {
  double usual;      ///< the median of all
  double by_chance;  ///< the probability of a change at least as large where there is none

  /// `tried`: number of changes that were examined, of which this is the largest.
  bool is_met(double change, double error, double degrees, double tried) const {
    return std::abs(change) > least_change * usual &&
           tried * statistics::student_beyond(change, error, degrees) < by_chance;
  }
};

/// Scatter of what a model leaves of the batches.
struct BatchScatter {
  double variance = 0;   ///< of the residual of a batch
  double effective = 0;  ///< number of independent batches that tell as much as all of them
};

/// The correlation is estimated from a short series to which a model was fitted, so it is taken as high as it may well
/// be: with the estimate itself, a random walk has steps and growth ten times too often (20,000 series each).
BatchScatter scatter_of(std::span<const double> left, double batches, double parameters, double bias) {
  constexpr double standard_errors = 2.5;
  double squares = 0;
  for (const double value : left) squares += value * value;
  const double correlation = statistics::lag1_correlation(left, bias, standard_errors);
  return {squares / (batches - parameters), statistics::effective_batches(batches, correlation)};
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

namespace {

std::vector<double> differences(std::span<const double> y, const Model& model) {
  std::vector<double> left(y.size());
  std::ranges::transform(y, model.values, left.begin(), std::minus<>{});
  return left;
}

/// Tests the jump at a step against all other changes from one batch to the next but one. These have the same
/// distribution whatever the correlation of neighbours: a random walk that seems to be on two levels has no jump.
bool has_jump(std::span<const double> y, const Levels& levels, std::size_t at, const Demand& demand) {
  constexpr double overlap = 1.5;  // a change shares a batch with two others: so many fewer are independent
  double squares = 0, count = 0;
  for (std::size_t i = 0; i + 2 < y.size(); ++i) {
    const auto is_within = [&](std::size_t begin) { return begin > i && begin <= i + 2; };
    if (std::ranges::any_of(levels.begins, is_within)) continue;
    squares += std::pow(y[i + 2] - y[i], 2);
    ++count;
  }
  if (count < 2 * overlap) return false;
  // The step may lie within the batch on either side of it.
  const double later = at + 1 < y.size() ? y[at + 1] - y[at - 1] : 0, sooner = at >= 2 ? y[at] - y[at - 2] : 0;
  const double jump = std::max(std::abs(later), std::abs(sooner));
  const double tried = 2 * std::pow(static_cast<double>(y.size()), static_cast<double>(levels.begins.size()));
  return demand.is_met(jump, std::sqrt(squares / count), count / overlap, tried);
}

/// The steps from level to level; empty: not all of them are certain.
std::vector<IterationShape::Step> steps_of(std::span<const double> values, std::span<const Batch> batches,
                                           std::span<const double> y, const Levels& levels, const Demand& demand) {
  const auto n = static_cast<double>(y.size()), changes = static_cast<double>(levels.begins.size());
  std::vector<double> left = differences(y, levels);
  double whole = n;
  // A batch that contains a step has a part of each level: it tells nothing about the scatter of batches.
  for (const std::size_t at : levels.begins) {
    const std::size_t mixed = std::abs(left[at]) > std::abs(left[at - 1]) ? at : at - 1;
    const auto [low, high] = std::minmax(levels.values[at - 1], levels.values[at]);
    if (left[mixed] == 0 || y[mixed] < low || y[mixed] > high) continue;
    left[mixed] = 0;
    --whole;
  }
  // The place of a step was chosen to minimise what is left, so it lowers the correlation like further parameters.
  const BatchScatter scatter = scatter_of(left, whole, 1 + 2 * changes, 1 + 3 * changes);
  const double degrees = scatter.effective * (whole - 1 - 2 * changes) / whole;
  std::vector<IterationShape::Step> steps;
  std::size_t from = 0;
  for (std::size_t i = 0; i < levels.begins.size(); ++i) {
    const std::size_t at = levels.begins[i], to = i + 1 < levels.begins.size() ? levels.begins[i + 1] : y.size();
    const double of_both = 1 / static_cast<double>(at - from) + 1 / static_cast<double>(to - at);
    const double error = std::sqrt(scatter.variance * of_both * whole / scatter.effective);
    const double before = levels.values[at - 1], after = levels.values[at];
    const double tried = 2 * std::pow(n, changes);  // by either test
    if (!demand.is_met(after - before, error, degrees, tried) &&
        !(std::abs(after - before) > least_change * demand.usual && has_jump(y, levels, at, demand)))
      return {};
    steps.push_back({place_of_step(values, batches, levels, at), before, after, error});
    from = at;
  }
  return steps;
}

std::optional<IterationShape::Growth> growth_of(std::span<const double> y, const Curve& curve, const Demand& demand) {
  const auto n = static_cast<double>(y.size());
  const BatchScatter scatter = scatter_of(differences(y, curve), n, curve.parameters, curve.parameters);
  const double degrees = scatter.effective * (n - curve.parameters) / n;
  const double change = curve.slope * (n - 1),
               error = std::sqrt(scatter.variance * n / scatter.effective * 12 / (n * (n * n - 1))) * (n - 1);
  if (!curve.is_monotonic || !demand.is_met(change, error, degrees, 1)) return std::nullopt;
  return IterationShape::Growth{curve.values.front(), curve.values.back(), statistics::mean(y), error};
}

/// Independent iterations make batches this much alike in one of 30,000 series.
std::optional<IterationShape::Wander> wander_of(std::span<const double> y, double usual) {
  constexpr double standard_errors = 4, tails = 0.1;
  const auto n = static_cast<double>(y.size());
  const double mean = statistics::mean(y);
  std::vector<double> left(y.begin(), y.end()), values(left);
  for (double& value : left) value -= mean;
  const auto [low, high] = statistics::range_without_tails(values, tails);
  const IterationShape::Wander wander{low, high};
  if (statistics::lag1_correlation(left) < standard_errors / std::sqrt(n) ||
      wander.high - wander.low < least_change * usual)
    return std::nullopt;
  return wander;
}

/// The steps as a stretch, if they go up and back to where the level was.
std::optional<IterationShape::Stretch> stretch_of(std::span<const IterationShape::Step> steps, std::size_t count) {
  constexpr double back_again = 0.3;
  if (steps.size() != 2 || steps[0].at >= steps[1].at) return std::nullopt;
  const double up = steps[0].after - steps[0].before, left = steps[1].after - steps[0].before;
  if (up <= 0 || std::abs(left) > back_again * up) return std::nullopt;
  const auto before = static_cast<double>(steps[0].at), after = static_cast<double>(count - steps[1].at);
  const double around = (before * steps[0].before + after * steps[1].after) / (before + after);
  return IterationShape::Stretch{steps[0].at, steps[1].at, steps[0].after, around,
                                 std::max(steps[0].error, steps[1].error)};
}

void describe(IterationShape& shape, std::span<const double> values, std::span<const Batch> batches,
              std::span<const double> y, double by_chance) {
  const double usual = shape.usual;
  const Demand demand{usual, by_chance};
  const Curve line = curve_through(y, true), parabola = curve_through(y, false);
  const Levels two = levels_of(y, 2);
  const Curve& curve = parabola.criterion(usual) < line.criterion(usual) ? parabola : line;
  const double of_curve = curve.criterion(usual), of_two = two.criterion(usual);
  constexpr std::size_t fewest_of_three = 8;
  if (const Levels three = y.size() < fewest_of_three ? two : levels_of(y, 3);
      three.criterion(usual) < std::min(of_curve, of_two)) {
    shape.steps = steps_of(values, batches, y, three, demand);
    shape.stretch = stretch_of(shape.steps, values.size());
    if (shape.stretch) shape.steps.clear();
    if (shape.stretch || !shape.steps.empty()) return;
  }
  if (of_two < of_curve) shape.steps = steps_of(values, batches, y, two, demand);
  else shape.growth = growth_of(y, curve, demand);
  if (shape.steps.empty() && !shape.growth) shape.wander = wander_of(y, usual);
}

/// The level of an iteration by steps or stretch; 0: there are none, or the iteration is outside of the stretch.
double level_at(const IterationShape& shape, std::size_t i) {
  if (shape.stretch) return i >= shape.stretch->begin && i < shape.stretch->end ? shape.stretch->level : 0;
  double level = shape.steps.empty() ? 0 : shape.steps[0].before;
  for (const IterationShape::Step& step : shape.steps)
    if (i >= step.at) level = step.after;
  return level;
}

}  // namespace

IterationShape shape_of(std::span<const double> values, double by_chance) {
  IterationShape shape;
  if (values.size() < least_iterations_of_shape) return shape;
  const std::vector<Batch> batches = batches_of(values, fewest_in_batch);
  if (batches.size() < 2 * fewest_batches_of_level + 1) return shape;
  std::vector<double> known, y;
  for (const double value : values)
    if (std::isfinite(value)) known.push_back(value);
  shape.usual = median_of(std::move(known));
  for (const Batch& batch : batches) y.push_back(batch.median);
  describe(shape, values, batches, y, by_chance);
  shape.peaks = peaks_of(values, batches_of(values, fewest_around_peak), shape);
  return shape;
}

}  // namespace refrain::analysis
