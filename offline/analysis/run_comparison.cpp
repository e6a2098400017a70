#include "offline/analysis/run_comparison.hpp"

#include <algorithm>
#include <cmath>

#include "statistics/statistics.hpp"

namespace refrain::analysis {
namespace {

constexpr std::size_t most_batches_of_run = 20, fewest_in_batch_of_run = 4;

/// The mean of batches and its error. Batches that resemble their neighbours tell less.
BatchValue over_batches(std::span<const double> batches) {
  BatchValue result{statistics::mean(batches), 0, static_cast<int>(batches.size())};
  std::vector<double> left(batches.begin(), batches.end());
  for (double& value : left) value -= result.value;
  result.variance = statistics::variance(batches);
  result.correlation = statistics::lag1_correlation(left);
  result.assess(result.correlation);
  return result;
}

/// The mean of the faster half.
double lower_mean(std::vector<double> values) {
  const std::size_t half = (values.size() + 1) / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half - 1), values.end());
  return statistics::mean(std::span(values).first(half));
}

struct RunTest {
  double before = 0, difference = 0, error = 0, degrees = 1;

  /// One-sided: the probability of this difference or more where the true one is `true_difference`.
  double p_beyond(double true_difference) const {
    const double excess = difference - true_difference;
    // If times do not vary at all, any difference counts.
    return error > 0 ? statistics::student_above(excess / error, degrees) : excess > 0 ? 0 : 1;
  }
};

/// With enough other runs, Student's test of one run against the mean of the others: the variance from run to run
/// includes that within runs, but it may be small by chance, so the error within this run is the least. With fewer
/// runs, Welch's test against the slowest of them. Runs of one program have about the same correlation of neighbours,
/// and 20 batches tell it badly: each run takes a fifth of the other's. A smaller part misses more slow runs, a larger
/// one raises more false alarms if the correlation is high (tests/unit/analysis).
RunTest test_of(const BatchValue& now, std::span<const BatchValue> before) {
  std::vector<double> values;
  for (const BatchValue& of : before) values.push_back(of.value);
  RunTest test;
  double variance = now.error * now.error;
  if (values.size() >= fewest_runs) {
    const auto runs = static_cast<double>(values.size());
    test.before = statistics::mean(values);
    test.degrees = runs - 1;
    variance = std::max(variance, statistics::variance(values) * (1 + 1 / runs));
  } else {
    constexpr double own = 0.8, of_other = 1 - own;
    BatchValue slowest = *std::ranges::max_element(before, {}, &BatchValue::value), of_now = now;
    of_now.assess(own * now.correlation + of_other * slowest.correlation);
    slowest.assess(own * slowest.correlation + of_other * now.correlation);
    test.before = slowest.value;
    variance = of_now.error * of_now.error + slowest.error * slowest.error;
    test.degrees = statistics::welch_degrees(of_now.error, of_now.degrees, slowest.error, slowest.degrees);
  }
  test.difference = now.value - test.before;
  test.error = std::sqrt(variance);
  return test;
}

}  // namespace

RunSeries series_of_times(std::span<const double> seconds) {
  RunSeries series;
  series.iterations = static_cast<std::int64_t>(seconds.size());
  if (seconds.empty()) return series;
  series.lower.value = series.mean.value = statistics::mean(seconds);
  if (seconds.size() < fewest_iterations) return series;
  const std::size_t batches = std::min(most_batches_of_run, seconds.size() / fewest_in_batch_of_run);
  std::vector<double> lower;
  for (std::size_t i = 0; i < batches; ++i) {
    const std::size_t begin = i * seconds.size() / batches, end = (i + 1) * seconds.size() / batches;
    const auto batch = seconds.subspan(begin, end - begin);
    series.batches.push_back(statistics::mean(batch));
    lower.push_back(lower_mean({batch.begin(), batch.end()}));
  }
  series.lower = over_batches(lower);
  series.mean = over_batches(series.batches);
  series.mean.value = statistics::mean(seconds);
  return series;
}

void BatchValue::add_error(double other) {
  other_error = std::hypot(other_error, other);
  assess(correlation);
}

void BatchValue::assess(double correlation_of_neighbours) {
  degrees = statistics::effective_batches(batches, correlation_of_neighbours);
  error = std::sqrt(variance / degrees);
  if (!(other_error > 0)) return;
  // Welch and Satterthwaite; the second error has infinitely many degrees of freedom.
  constexpr double most_degrees = 1e6;
  const double own = error * error, both = own + other_error * other_error;
  degrees = own > 0 ? std::min(degrees * (both / own) * (both / own), most_degrees) : most_degrees;
  error = std::sqrt(both);
}

BatchValue difference_of_means(const RunSeries& before, const RunSeries& now) {
  BatchValue difference;
  if (before.iterations == now.iterations && !before.batches.empty() && before.batches.size() == now.batches.size()) {
    std::vector<double> pairs(now.batches);
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] -= before.batches[i];
    difference = over_batches(pairs);
    difference.add_error(std::hypot(before.sampling_s, now.sampling_s));
  } else {
    difference.batches = std::min(before.mean.batches, now.mean.batches);
    difference.error = std::hypot(before.mean.error, now.mean.error);
    difference.degrees =
        statistics::welch_degrees(before.mean.error, before.mean.degrees, now.mean.error, now.mean.degrees);
  }
  difference.value = now.mean.value - before.mean.value;
  return difference;
}

std::vector<RunDifference> compare_runs(std::span<const RunSeries> now, std::span<const std::vector<RunSeries>> before,
                                        const RunComparisonOptions& options) {
  std::vector<RunDifference> comparisons;
  std::vector<double> p_of_slower, tolerated;
  const auto loop_time = [&](const std::string& loop) {
    double sum = 0, count = 0;
    for (const auto& run : before)
      for (const RunSeries& series : run)
        if (series.loop == loop && series.path.empty()) {
          sum += series.mean.value;
          ++count;
        }
    return count > 0 ? sum / count : 0;
  };
  for (const RunSeries& of : now) {
    std::vector<BatchValue> lower, mean;
    for (const auto& run : before) {
      const auto same = std::ranges::find_if(
          run, [&](const RunSeries& series) { return series.loop == of.loop && series.path == of.path; });
      if (same == run.end()) continue;
      lower.push_back(same->lower);
      mean.push_back(same->mean);
    }
    const auto is_known = [](const BatchValue& value) {
      return value.batches > 0 && std::isfinite(value.value) && std::isfinite(value.error);
    };
    if (lower.empty() || lower.size() < before.size() || !is_known(of.lower) || !is_known(of.mean)) continue;
    if (!std::ranges::all_of(lower, is_known) || !std::ranges::all_of(mean, is_known)) continue;
    if (of.loop.empty() && before.size() < fewest_runs) continue;
    const double time = loop_time(of.loop);
    const auto add = [&](const RunTest& test, const BatchValue& value, bool by_means) {
      RunDifference comparison{of.loop, of.path, test.before, value.value, test.error, test.p_beyond(0), 0,
                               0,       0,       false,       false,       false,      by_means};
      const double reach = statistics::half_of_interval(test.error, test.degrees);
      comparison.low = test.difference - reach;
      comparison.high = test.difference + reach;
      comparison.of_loop = time > 0 ? test.difference / time : 0;
      comparisons.push_back(std::move(comparison));
      tolerated.push_back(options.tolerance * time);
      // If it is not known how much runs differ by chance, the tolerance has to cover that.
      p_of_slower.push_back(test.p_beyond(before.size() >= fewest_runs ? 0 : tolerated.back()));
    };
    add(test_of(of.lower, lower), of.lower, false);
    if (before.size() >= fewest_runs) add(test_of(of.mean, mean), of.mean, true);
  }
  std::vector<double> p;
  for (const RunDifference& comparison : comparisons) p.push_back(comparison.p);
  const std::vector<bool> differs = statistics::significant(p, options.false_alarms),
                          slower = statistics::significant(p_of_slower, options.false_alarms);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    RunDifference& of = comparisons[i];
    of.is_significant = differs[i];
    of.is_slower = slower[i] && of.of_loop > options.tolerance;
    of.cannot_be_told = !of.is_slower && of.high > tolerated[i] && of.high - of.low > 2 * tolerated[i];
  }
  return comparisons;
}

}  // namespace refrain::analysis
