#include "offline/analysis/run_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "offline/analysis/autocorrelation.hpp"

namespace refrain::analysis {
namespace {

constexpr std::size_t most_batches = 20, fewest_in_batch = 4;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance_of(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return squares / static_cast<double>(values.size() - 1);
}

/// The mean of batches and its error. Batches that resemble their neighbours tell less.
BatchValue over_batches(std::span<const double> batches) {
  BatchValue result{mean_of(batches), 0, static_cast<int>(batches.size())};
  std::vector<double> left(batches.begin(), batches.end());
  for (double& value : left) value -= result.value;
  result.variance = variance_of(batches);
  result.correlation = lag1_correlation(left);
  result.assess(result.correlation);
  return result;
}

/// The mean of the faster half.
double lower_mean(std::vector<double> values) {
  const std::size_t half = (values.size() + 1) / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half - 1), values.end());
  return mean_of(std::span(values).first(half));
}

/// Continued fraction of the incomplete beta function (Press et al., Numerical Recipes; modified Lentz).
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300, exact = 1e-15;
  constexpr int most = 500;
  const auto off_zero = [](double value) { return std::abs(value) < tiny ? tiny : value; };
  double c = 1, d = 1 / off_zero(1 - (a + b) * x / (a + 1)), result = d;
  for (int m = 1; m <= most; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / off_zero(1 + even * d);
    c = off_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / off_zero(1 + odd * d);
    c = off_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < exact) break;
  }
  return result;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

struct RunTest {
  double before = 0, difference = 0, error = 0, degrees = 1;

  /// One-sided: the probability of this difference or more where the true one is `true_difference`.
  double p_beyond(double true_difference) const {
    const double excess = difference - true_difference;
    // Times that do not vary at all: any difference is one.
    return error > 0 ? student_above(excess / error, degrees) : excess > 0 ? 0 : 1;
  }
};

/// Against enough other runs Student's test of one run against the mean of the others: what differs from run
/// to run has in it what differs within them, but it may be small by chance, so the error within this run is the least.
/// Against fewer runs Welch's test against the slowest one of them. Runs of one program have about the same correlation
/// of neighbours, and 20 batches know it badly: each takes a fifth of the other one's. A smaller part misses more of
/// what is slower, a larger one raises more false alarms where the correlation is high (tests/unit/analysis).
RunTest test_of(const BatchValue& now, std::span<const BatchValue> before) {
  std::vector<double> values;
  for (const BatchValue& of : before) values.push_back(of.value);
  RunTest test;
  double variance = now.error * now.error;
  if (values.size() >= fewest_runs) {
    const auto runs = static_cast<double>(values.size());
    test.before = mean_of(values);
    test.degrees = runs - 1;
    variance = std::max(variance, variance_of(values) * (1 + 1 / runs));
  } else {
    constexpr double own = 0.8, of_other = 1 - own;
    BatchValue slowest = *std::ranges::max_element(before, {}, &BatchValue::value), of_now = now;
    of_now.assess(own * now.correlation + of_other * slowest.correlation);
    slowest.assess(own * slowest.correlation + of_other * now.correlation);
    test.before = slowest.value;
    variance = of_now.error * of_now.error + slowest.error * slowest.error;
    test.degrees = welch_degrees(of_now, slowest);
  }
  test.difference = now.value - test.before;
  test.error = std::sqrt(variance);
  return test;
}

/// Which of several tests are significant when all of them together may give false alarms at this rate. Holm: the
/// smallest p is compared with the rate divided by all tests, the next one by one less, until one is above.
std::vector<bool> significant(std::span<const double> p, double rate) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<bool> result(p.size());
  for (std::size_t i = 0; i < order.size() && p[order[i]] <= rate / static_cast<double>(order.size() - i); ++i)
    result[order[i]] = true;
  return result;
}

}  // namespace

RunSeries series_of_times(std::span<const double> seconds) {
  RunSeries series;
  series.iterations = static_cast<std::int64_t>(seconds.size());
  if (seconds.empty()) return series;
  series.lower.value = series.mean.value = mean_of(seconds);
  if (seconds.size() < fewest_iterations) return series;
  const std::size_t batches = std::min(most_batches, seconds.size() / fewest_in_batch);
  std::vector<double> lower;
  for (std::size_t i = 0; i < batches; ++i) {
    const std::size_t begin = i * seconds.size() / batches, end = (i + 1) * seconds.size() / batches;
    const auto batch = seconds.subspan(begin, end - begin);
    series.batches.push_back(mean_of(batch));
    lower.push_back(lower_mean({batch.begin(), batch.end()}));
  }
  series.lower = over_batches(lower);
  series.mean = over_batches(series.batches);
  series.mean.value = mean_of(seconds);
  return series;
}

void BatchValue::add_error(double other) {
  other_error = std::hypot(other_error, other);
  assess(correlation);
}

void BatchValue::assess(double correlation_of_neighbours) {
  degrees = effective_batches(batches, correlation_of_neighbours);
  error = std::sqrt(variance / degrees);
  if (!(other_error > 0)) return;
  // Welch and Satterthwaite, with a second error of any number of degrees of freedom.
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
    difference.degrees = welch_degrees(before.mean, now.mean);
  }
  difference.value = now.mean.value - before.mean.value;
  return difference;
}

double welch_degrees(const BatchValue& a, const BatchValue& b) {
  const double of_a = a.error * a.error, of_b = b.error * b.error, both = of_a + of_b;
  if (!(both > 0)) return 1;
  return both * both / (of_a * of_a / a.degrees + of_b * of_b / b.degrees);
}

double student_above(double t, double degrees) {
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t > 0 ? tail : 1 - tail;
}

double student_quantile(double above, double degrees) {
  double low = -1e6, high = 1e6;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (student_above(middle, degrees) > above ? low : high) = middle;
  }
  return high;
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
      constexpr double one_sided = 0.025;
      const double reach = test.error > 0 ? student_quantile(one_sided, test.degrees) * test.error : 0;
      comparison.low = test.difference - reach;
      comparison.high = test.difference + reach;
      comparison.of_loop = time > 0 ? test.difference / time : 0;
      comparisons.push_back(std::move(comparison));
      tolerated.push_back(options.tolerance * time);
      // Where it is not known how much runs differ by chance, that much is within what is tolerated.
      p_of_slower.push_back(test.p_beyond(before.size() >= fewest_runs ? 0 : tolerated.back()));
    };
    add(test_of(of.lower, lower), of.lower, false);
    if (before.size() >= fewest_runs) add(test_of(of.mean, mean), of.mean, true);
  }
  std::vector<double> p;
  for (const RunDifference& comparison : comparisons) p.push_back(comparison.p);
  const std::vector<bool> differs = significant(p, options.false_alarms),
                          slower = significant(p_of_slower, options.false_alarms);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    RunDifference& of = comparisons[i];
    of.is_significant = differs[i];
    of.is_slower = slower[i] && of.of_loop > options.tolerance;
    of.cannot_be_told = !of.is_slower && of.high > tolerated[i] && of.high - of.low > 2 * tolerated[i];
  }
  return comparisons;
}

}  // namespace refrain::analysis
