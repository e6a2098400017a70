#pragma once
/// The metrics that every iteration has a value of: those of its exact vector, what the time rules make of them, and
/// the reconstructed ones of chosen call paths.

#include <concepts>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "offline/experiment/profile.hpp"
#include "offline/run/iteration_profile.hpp"
#include "offline/run/metrics.hpp"

namespace refrain::run {

/// Of iterations. `unit`: of the file.
Metric metric_of(const std::string& name, std::string_view unit);

/// Metrics of whole iterations of this loop, in the order of the file; `user` and `refrain` follow from the time rules.
std::vector<Metric> iteration_metrics(const experiment::Loop& loop);
/// The names that iteration_metrics() gives for files that this version writes, without those of REFRAIN_METRICS.
std::vector<std::string> iteration_metric_names();
/// Metrics that a call path has in one iteration; `wall` is its time with everything that it calls.
std::vector<Metric> callpath_metrics(std::span<const experiment::ExtraMetric> asked_for);

/// The value of one iteration, of the cluster and with the vector that for_each_iteration() gives: in seconds, bytes
/// or 1.
class IterationValue {
 public:
  using Function =
      std::function<double(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row)>;
  IterationValue() = default;  ///< null: not known
  IterationValue(std::nullptr_t) {}
  template <class F>
  requires(std::convertible_to<F, Function> && !std::same_as<std::remove_cvref_t<F>, IterationValue>)
      IterationValue(F function)
      : function_(std::move(function)) {}
  /// One number of the row. Most are.
  static IterationValue of_row(std::size_t column, double divisor) {
    IterationValue value;
    value.column_ = static_cast<std::ptrdiff_t>(column);
    value.divisor_ = divisor;
    return value;
  }
  double operator()(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) const {
    if (column_ >= 0) {
      const auto value = static_cast<double>(row[static_cast<std::size_t>(column_)]);
      return divisor_ == 1 ? value : value / divisor_;  // most are counts, which need no division
    }
    return function_(iteration, cluster, row);
  }
  explicit operator bool() const { return column_ >= 0 || function_; }

 private:
  std::ptrdiff_t column_ = -1;
  double divisor_ = 1;
  Function function_;
};

/// `metric` is a name of iteration_metrics(); null when this loop has no such metric. `profiles` must outlive the
/// result.
IterationValue value_of_metric(const IterationProfiles& profiles, std::string_view metric);
/// What the selected call paths have together; `metric` is a name of callpath_metrics(). Both must outlive the result.
/// Samples are those that were recorded in the iteration, where they were kept.
IterationValue value_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric);
/// Whether that value, or without call paths that of a metric, tells waiting for a core from being blocked at a
/// location where the kernel did not: then it is NaN.
bool is_untold(const IterationProfiles& profiles, const PathSelection* selection, std::string_view metric);
/// The standard error of that value, for times in user code. Null: the metric is exact, or its error is not known.
/// Where the value is 0 it is not the error but a third of what the value is below (95 %).
IterationValue error_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric);
/// Whether only the time rules define the selected call paths: then nothing is reconstructed.
bool is_by_rules(const PathSelection& selection);
/// How well that value is known, as the number of a Known (run/quantities.hpp).
IterationValue known_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric);

}  // namespace refrain::run
