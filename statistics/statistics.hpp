#pragma once
/// The statistics of reports, search and comparisons: each formula once, with its source. Pure functions, which know
/// nothing of programs. Where nothing was observed they answer as their comments say.

#include <cstddef>
#include <span>
#include <vector>

namespace refrain::statistics {

// Values.

double mean(std::span<const double> values);      ///< 0 of none
double variance(std::span<const double> values);  ///< of a sample: divided by n - 1; 0 of fewer than two

/// The value of rank `part` * n, counted from 0: the inverse of the empirical distribution, and where that jumps the
/// upper value (Hyndman and Fan 1996, "Sample quantiles in statistical packages", definition 1). So the middle of three
/// or four ignores one that stands out. 0 of none. Puts the values into another order.
double quantile(std::vector<double>& values, double part);
/// The extremes of what the lowest and the highest `part` of the values leave. Sorts the values.
struct Range {
  double low = 0, high = 0;
};
Range range_without_tails(std::vector<double>& values, double part);
/// Of an even number of values the mean of the two in the middle. 0 of none. Puts the values into another order.
double median(std::vector<double>& values);
/// The standard deviation of a normal distribution, by the median distance of values from their middle, which a few
/// that stand out do not change (Hampel 1974, "The influence curve and its role in robust estimation").
double deviation_by_median(std::vector<double> values, double middle);
/// The lower quarter of the distances of two normal values, in their standard deviations: sqrt(2) times the quantile
/// 0.625 of the normal distribution.
inline constexpr double quarter_of_distance = 0.4506;

/// Number, mean, and squares of the distances from the mean, of values that come one by one or in groups (Chan, Golub
/// and LeVeque 1983, "Algorithms for computing the sample variance").
struct Moments {
  double count = 0, mean = 0, squares = 0;

  double deviation() const;  ///< of all there are: divided by n; 0 of none
  Moments& operator+=(const Moments& other);
  void add(double value) { *this += {1, value, 0}; }
};

// Shares that samples tell.

/// Samples of equal weight that tell as much: (sum w)^2 / sum w^2 (Kish 1965, "Survey Sampling"). 0 of none.
double effective_samples(double weight_sum, double weight_squares);
/// Standard error of the share p that so many samples tell: sqrt(p (1 - p) / n), binomial. 0 without samples.
double error_of_share(double share, double samples);
/// The same of weighted samples. Of everything it is 1 / n: that all of a few samples hit one place does not make it
/// certain. 0 without samples.
double error_of_share(double share, double weight_sum, double weight_squares);
/// Its square of a share above 0, of so many effective samples above 0.
double variance_of_share(double share, double samples);
/// Standard error of a time of which each sample tells `period`, in the same unit: sqrt(time period). Samples are
/// counts of rare events (Poisson).
double error_of_sampled_time(double time, double period);
/// What is more than so many standard errors is no chance: of normal values, one of 740 is as far to that side.
inline constexpr double certain_errors = 3;

/// By what the errors of a sample are less when it is the part `part` of all there are: sqrt(1 - part) (Cochran 1977,
/// "Sampling Techniques", section 2.6).
double correction_of_sample(double part);
/// Standard deviation of a share of which n observations tell that it is 0, or that it is 1: of the rule of
/// succession's distribution, beta(n + 1, 1) (Laplace 1774).
double deviation_by_succession(double n);

/// n log(n / expected): half of what an observed number adds to the statistic G of a likelihood-ratio test against its
/// expectation (Wilks 1938; Sokal and Rohlf, "Biometry", chapter 17). 0 of n = 0.
double n_log_ratio(double n, double expected);

// What may be any value of a range.

/// Standard deviation, were all values as likely: width / sqrt(12).
double uniform_deviation(double width);
/// Root mean square of the distance from `value`, were all values from `low` to `high` as likely.
double uniform_deviation_from(double value, double low, double high);

// Tests.

/// The probability that Student's t with these degrees of freedom is above `t` (Student 1908; the incomplete beta
/// function by Press et al., "Numerical Recipes", section 6.4).
double student_above(double t, double degrees);
/// The probability of a distance from 0 at least as large as that of `value`, to either side. Values that do not vary
/// at all: 0, and 1 of no distance.
double student_beyond(double value, double error, double degrees);
/// The t that is exceeded with the probability `above`.
double student_quantile(double above, double degrees);
/// The same of a normal distribution.
double normal_quantile(double above);
/// Half the width of the 95 % confidence interval of a value with this standard error.
double half_of_interval(double error, double degrees);

/// Degrees of freedom of a sum or difference of two values, each with a standard error that was estimated with so many
/// of its own (Welch 1947; Satterthwaite 1946). 1 without errors.
double welch_degrees(double error_a, double degrees_a, double error_b, double degrees_b);
/// Which of several tests are significant when all of them together may give false alarms at this rate (Holm 1979, "A
/// simple sequentially rejective multiple test procedure").
std::vector<bool> significant(std::span<const double> p, double rate);

// Series in which neighbours resemble each other. Iterations of real programs do: the machine warms up, other jobs come
// and go, grids are refined.

/// The lag-1 correlation of what a model leaves of batches. An estimate from n values is too low by (1 + 3 r) / n for
/// each parameter that was fitted (Kendall, Marriott and Pope 1954), which is corrected. Between 0 and 0.98.
/// `standard_errors`: the estimate is raised by so many of its own (Bartlett 1946: sqrt((1 - r^2) / n)).
double lag1_correlation(std::span<const double> residuals, double parameters = 1, double standard_errors = 0);
/// As many independent batches tell as much: the weight of their mean, and the degrees of freedom of its error (of an
/// autoregressive process; Law and Kelton, "Simulation Modeling and Analysis", section 9.5, on batch means).
double effective_batches(double batches, double correlation);

}  // namespace refrain::statistics
