#pragma once
/// The value of a call path in one iteration, from the sums of the iteration's cluster and the iteration's exact
/// vector. Needs plain numbers only, so that it serves sums in memory as well as sums read from a file.

#include <cstdint>

namespace refrain::run {

/// Numbers of one column of a call path, and of the overall metric that the column scales with.
struct ReconstructionInput {
  std::int64_t sum = 0;          ///< of the column over the cluster's members
  std::uint64_t members = 1;     ///< of the cluster
  std::int64_t overall_sum = 0;  ///< of the overall metric over the cluster's members
  double overall_value = 0;      ///< the overall metric in the iteration
  bool scales = false;           ///< false: the column scales with no overall metric, or its value was not kept
  bool has_slope = false;        ///< `slope` is known; otherwise the value is proportional to the overall metric
  float slope = 0;               ///< change of the column per change of the overall metric
  bool integral = true;          ///< counts, bytes, ticks: round to the nearest integer
  // Of the second overall metric, for columns that have one (MetricRow::also_scales_with) and `has_slope`.
  float second_slope = 0;
  std::int64_t second_overall_sum = 0;
  double second_overall_value = 0;
};

/// The mean of the cluster, moved along the slopes by the difference of the iteration's overall metrics from the
/// cluster's means. Never negative unless the mean is. A cluster of one member gives the value exactly.
inline double reconstruct(const ReconstructionInput& in) {
  if (in.members == 0) return 0;
  const double n = static_cast<double>(in.members);
  const double mean = static_cast<double>(in.sum) / n;
  double value = mean;
  if (in.scales && in.members > 1) {
    const double overall_mean = static_cast<double>(in.overall_sum) / n;
    if (in.has_slope)
      value = mean + static_cast<double>(in.slope) * (in.overall_value - overall_mean) +
              static_cast<double>(in.second_slope) *
                  (in.second_overall_value - static_cast<double>(in.second_overall_sum) / n);
    else if (in.overall_sum != 0) value = mean * (in.overall_value / overall_mean);
    if (mean >= 0 && value < 0) value = 0;
  }
  if (in.integral && value > -9e18 && value < 9e18)
    value = static_cast<double>(static_cast<std::int64_t>(value + (value < 0 ? -0.5 : 0.5)));
  return value;
}

}  // namespace refrain::run
