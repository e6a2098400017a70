#include "statistics/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace refrain::statistics {
namespace {

/// Continued fraction of the incomplete beta function (Press et al., section 6.4; modified Lentz).
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

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return squares / static_cast<double>(values.size() - 1);
}

double quantile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  const auto rank = static_cast<std::size_t>(part * static_cast<double>(values.size()));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(rank, values.size() - 1));
  std::ranges::nth_element(values, at);
  return *at;
}

Range range_without_tails(std::vector<double>& values, double part) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const auto tail = static_cast<std::size_t>(part * static_cast<double>(values.size()));
  return {values[tail], values[values.size() - 1 - tail]};
}

double median(std::vector<double>& values) {
  constexpr double half = 0.5;
  const double upper = quantile(values, half);
  if (values.empty() || values.size() % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2))) /
         2;
}

double deviation_by_median(std::vector<double> values, double middle) {
  constexpr double half = 0.5, of_normal = 1.4826;  // 1 / the quantile 0.75 of the normal distribution
  for (double& value : values) value = std::abs(value - middle);
  return of_normal * quantile(values, half);
}

double Moments::deviation() const { return count > 0 ? std::sqrt(squares / count) : 0; }

Moments& Moments::operator+=(const Moments& other) {
  const double all = count + other.count;
  if (!(all > 0)) return *this;
  const double apart = other.mean - mean;
  squares += other.squares + apart * apart * count * other.count / all;
  mean += apart * other.count / all;
  count = all;
  return *this;
}

double effective_samples(double weight_sum, double weight_squares) {
  return weight_squares > 0 ? weight_sum * weight_sum / weight_squares : 0;
}

double error_of_share(double share, double samples) {
  return samples > 0 ? std::sqrt(std::max(share * (1 - share), 0.0) / samples) : 0;
}

double variance_of_share(double share, double samples) {
  constexpr double all = 1 - 1e-9;  // but for rounding
  if (share < all) return share * (1 - share) / samples;
  const double error = std::min(1.0, 1 / samples);
  return error * error;
}

double error_of_share(double share, double weight_sum, double weight_squares) {
  const double samples = effective_samples(weight_sum, weight_squares);
  if (!(weight_sum > 0) || !(samples > 0) || !(share > 0)) return 0;
  return std::sqrt(variance_of_share(share, samples));
}

double error_of_sampled_time(double time, double period) { return std::sqrt(std::max(period * time, 0.0)); }

double correction_of_sample(double part) { return std::sqrt(std::max(1 - part, 0.0)); }

double deviation_by_succession(double n) { return std::sqrt((n + 1) / ((n + 2) * (n + 2) * (n + 3))); }

double n_log_ratio(double n, double expected) { return n > 0 ? n * std::log(n / expected) : 0; }

double uniform_deviation(double width) { return width / std::sqrt(12.0); }

double uniform_deviation_from(double value, double low, double high) {
  const double width = high - low, beside_middle = value - (low + high) / 2;
  return std::sqrt(width * width / 12 + beside_middle * beside_middle);
}

double student_above(double t, double degrees) {
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  const double tail = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
  return t > 0 ? tail : 1 - tail;
}

double student_beyond(double value, double error, double degrees) {
  if (error > 0) return 2 * student_above(std::abs(value) / error, degrees);
  return error == 0 && value != 0 ? 0 : 1;
}

double student_quantile(double above, double degrees) {
  double low = -1e6, high = 1e6;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (student_above(middle, degrees) > above ? low : high) = middle;
  }
  return high;
}

double normal_quantile(double above) {
  constexpr double many_degrees = 1e6;
  return student_quantile(above, many_degrees);
}

double half_of_interval(double error, double degrees) {
  constexpr double one_sided = 0.025;
  return error > 0 ? student_quantile(one_sided, degrees) * error : 0;
}

double welch_degrees(double error_a, double degrees_a, double error_b, double degrees_b) {
  const double of_a = error_a * error_a, of_b = error_b * error_b, both = of_a + of_b;
  if (!(both > 0)) return 1;
  return both * both / (of_a * of_a / degrees_a + of_b * of_b / degrees_b);
}

/// The smallest p is compared with the rate divided by all tests, the next one by one less, until one is above.
std::vector<bool> significant(std::span<const double> p, double rate) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p[i]; });
  std::vector<bool> result(p.size());
  for (std::size_t i = 0; i < order.size() && p[order[i]] <= rate / static_cast<double>(order.size() - i); ++i)
    result[order[i]] = true;
  return result;
}

double lag1_correlation(std::span<const double> residuals, double parameters, double standard_errors) {
  double squares = 0, products = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    squares += residuals[i] * residuals[i];
    if (i > 0) products += residuals[i] * residuals[i - 1];
  }
  // A random walk has 1 and would tell nothing at all.
  constexpr double most_correlation = 0.98;
  const auto n = static_cast<double>(residuals.size());
  const double seen = squares > 0 ? products / squares : 0;
  const double corrected = std::clamp(seen + parameters * (1 + 3 * seen) / n, 0.0, most_correlation);
  const double error = std::sqrt((1 - corrected * corrected) / n);
  return std::min(corrected + standard_errors * error, most_correlation);
}

double effective_batches(double batches, double correlation) { return batches * (1 - correlation) / (1 + correlation); }

}  // namespace refrain::statistics
