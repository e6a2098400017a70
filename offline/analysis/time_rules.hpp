#pragma once
/// The time rules: how the wall time of a leaf unit is divided, exactly, among its call paths (docs/architecture.md).
///
/// Pure functions of integers. Whatever the input, all results are non-negative and
///   wall = mpi + refrain + user + stopped,  user = not_on_cpu + no_sample + no_path + sum of user paths,
///   mpi = mpi_no_path + sum of MPI paths
/// hold to the tick. For input that no run can give (mpi > wall, negative times, ...) the excess is cut.

#include <cstdint>
#include <span>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::analysis {

struct PathTime {
  std::uint32_t path;
  std::int64_t ticks;
};

/// All times in ticks.
struct UnitTimes {
  std::int64_t wall = 0, mpi = 0, refrain = 0, user = 0;
  std::int64_t cpu = 0;      ///< CPU time, in user code and MPI
  std::int64_t stopped = 0;  ///< MPI_Pcontrol: nothing else is known of it
  std::int64_t not_on_cpu = 0;
  std::int64_t not_on_cpu_low = 0, not_on_cpu_high = 0;  ///< what is certain about it
  std::int64_t no_sample = 0;                            ///< on the CPU, but no tick says where
  std::int64_t no_path = 0;                              ///< on the CPU, by ticks whose call path was lost
  std::int64_t mpi_no_path = 0;                          ///< in MPI, but of no call path
  std::vector<PathTime> user_paths, mpi_paths;           ///< ascending by path
};

/// What the rules need to know of the location: what its calls and ticks have cost on average, by the location's own
/// timing where it has any, else by the rank's calibration.
struct RankConstants {
  double call_cost = 0;  ///< ticks of bookkeeping per MPI call
  double tick_cost = 0;  ///< ... per timer tick
  double ticks_per_second = 1e9;
};
RankConstants constants_of(const experiment::Rank& rank, const experiment::Location& location);

UnitTimes apply_time_rules(const experiment::Unit& unit, std::span<const experiment::CallPath> paths,
                           const RankConstants& constants);

/// Shares `total` >= 0 in proportion to `weights` (negative ones count as 0) into integers that add up to it: largest
/// remainders are rounded up, earlier ones first where they are equal. All zero when no weight is positive.
std::vector<std::int64_t> share_by_largest_remainder(std::int64_t total, std::span<const std::int64_t> weights);

/// Standard error of a share p that was estimated from weighted samples: sqrt(p (1 - p) / n) with the effective number
/// n = (sum w)^2 / sum w^2. 0 when there are none.
double standard_error_of_share(double share, double weight_sum, double weight_squares);

/// Value of `metric` in the row of a path, 0 when its kind of path does not have it.
std::int64_t value_of(const experiment::Unit& unit, const experiment::PathValues& row, experiment::NodeKind kind,
                      format::MetricId metric);

}  // namespace refrain::analysis
