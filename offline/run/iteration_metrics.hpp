#pragma once
/// The metrics that every iteration has a value for: those of its exact vector, those that the time rules derive from
/// them, and the reconstructed ones of selected call paths.

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

/// A metric of iterations. `unit`: the unit in the file.
Metric metric_of(const std::string& name, std::string_view unit);

/// Metrics of whole iterations of this loop, in the order of format/metrics.def, then other metrics of the file.
/// `user`, `off_cpu`, `blocked` and `refrain` follow from the time rules.
std::vector<Metric> iteration_metrics(const experiment::Loop& loop);
/// The names that iteration_metrics() gives for files that this version writes, without those of REFRAIN_METRICS.
std::vector<std::string> iteration_metric_names();
/// Metrics that a call path has in one iteration; `wall` is its inclusive time.
std::vector<Metric> callpath_metrics(std::span<const experiment::ExtraMetric> asked_for);

/// Computes a value of one iteration from the cluster and the vector that for_each_iteration() passes, in seconds,
/// bytes or 1.
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
  /// A value that is one number of the row, as most are.
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
/// The sum over the selected call paths; `metric` is a name of callpath_metrics(). `profiles` and `selection` must
/// outlive the result. Samples are those recorded in the iteration if they were kept.
IterationValue value_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric);
/// Whether value_of_callpaths(), or value_of_metric() if `selection` is null, is NaN because the value depends on
/// telling waiting for a core from being blocked, which the kernel did not do at this location.
bool is_untold(const IterationProfiles& profiles, const PathSelection* selection, std::string_view metric);
/// The standard error of value_of_callpaths(), for times in user code. Null: the metric is exact, or its error is not
/// known. If the value is 0, the result is a third of its upper limit (95 %) instead.
IterationValue error_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric);
/// Whether all selected call paths are defined by the time rules, so that nothing is reconstructed.
bool is_by_rules(const PathSelection& selection);
/// How well the value of value_of_callpaths() is known, as the number of a Known (run/quantities.hpp).
IterationValue known_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric);

}  // namespace refrain::run
