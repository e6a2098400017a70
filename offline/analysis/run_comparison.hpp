#pragma once
/// Whether a run is slower than others of the same program: by its marked loops and the call paths in them.
///
/// The value that is compared is the time of an iteration. Iterations of one run are not independent trials: neighbours
/// are alike, and all of them share what was special in this run. So the error of a run's value comes from 20 batches
/// of consecutive iterations, weighted by the correlation of neighbouring batches (statistics/), and the variance from
/// run to run comes from the runs that it is compared with, if there are several. The value is the mean over batches of
/// their faster half: what another process takes from some iterations hardly changes it, and it scatters less than a
/// quantile. If the variance from run to run is known (fewest_runs), means are compared, too; with fewer runs, a run is
/// slower if it is significantly more than the tolerance slower. What happens only once in a run, or more slowly than
/// the run is long, cannot be seen within it: only further runs tell how much it matters.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace refrain::analysis {

/// A mean over the batches of a run's iterations.
struct BatchValue {
  double value = 0, error = 0;  ///< standard error, within the run
  int batches = 0;              ///< 0: the value is not known
  double degrees = 1;           ///< degrees of freedom of the error
  double variance = 0;          ///< of a batch
  double correlation = 0;       ///< of neighbouring batches
  double other_error = 0;       ///< error that is not from how batches differ; its size is known exactly

  void add_error(double other);
  /// Sets error and degrees of freedom for this correlation.
  void assess(double correlation_of_neighbours);
};

struct RunSeries {
  std::string loop;  ///< empty: there is no loop, and the values are of the whole run
  std::string path;  ///< call path below the loop: names with " > " between; empty: all of the loop
  std::int64_t iterations = 0;
  BatchValue lower, mean;       ///< seconds per iteration: of the faster half, and of all
  std::vector<double> batches;  ///< means of the batches, in their order
  double sampling_s = 0;        ///< standard error of the mean from the number of samples; part of `lower` and `mean`
};

/// A series of fewer iterations has no error.
inline constexpr std::size_t fewest_iterations = 16;
/// With fewer runs, it is not known how much runs differ by chance.
inline constexpr std::size_t fewest_runs = 4;

/// The series of consecutive times. `batches` is 0 if there are too few.
RunSeries series_of_times(std::span<const double> seconds);

/// The difference of two means. If the numbers of iterations are equal, it is taken batch by batch: a step or growth
/// that both runs have adds nothing to the error.
BatchValue difference_of_means(const RunSeries& before, const RunSeries& now);

struct RunDifference {
  std::string loop, path;
  double before = 0, now = 0;   ///< seconds per iteration
  double error = 0;             ///< standard error of the difference
  double p = 1;                 ///< probability of this or more without any difference; of one test alone
  double low = 0, high = 0;     ///< 95 % confidence interval of the difference, of this test alone
  double of_loop = 0;           ///< the difference as a part of the loop's time before
  bool is_significant = false;  ///< slower than before, by more than the error
  bool is_slower = false;       ///< significant and beyond the tolerance; with few runs, significantly beyond it
  /// Not slower, but it could be beyond the tolerance, and the interval reaches further than that to both sides.
  bool cannot_be_told = false;
  bool by_means = false;  ///< by the means of all iterations; else by those of the faster half
};

struct RunComparisonOptions {
  double tolerance = 0.03;     ///< of the loop's time
  double false_alarms = 0.01;  ///< rate, of all tests of a comparison together
};

/// `before`: other runs, each with series of the same names. Series that not all of them have are left out: a new call
/// path makes its loop slower. Without a loop, errors within runs are not known, so fewest_runs are needed.
std::vector<RunDifference> compare_runs(std::span<const RunSeries> now, std::span<const std::vector<RunSeries>> before,
                                        const RunComparisonOptions& options = {});

}  // namespace refrain::analysis
