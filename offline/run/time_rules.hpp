#pragma once
/// Applies the time rules (format/time_rules.hpp) to units that were read.

#include <cstdint>
#include <span>
#include <vector>

#include "format/time_rules.hpp"
#include "offline/experiment/profile.hpp"

namespace refrain::run {

struct PathTime {
  std::uint32_t path;
  std::int64_t ticks;
};

/// The times of a unit and of its call paths.
struct UnitTimes : format::UnitTimes {
  std::vector<PathTime> user_paths, mpi_paths;  ///< ascending by path
};

using RankConstants = format::TimeConstants;
RankConstants constants_of(const experiment::Rank& rank, const experiment::Location& location);

UnitTimes apply_time_rules(const experiment::Unit& unit, std::span<const experiment::CallPath> paths,
                           const RankConstants& constants);

/// Shares `total` >= 0 in proportion to `weights` (negative ones count as 0) into integers that add up to it: largest
/// remainders are rounded up, earlier ones first where they are equal. All zero when no weight is positive.
std::vector<std::int64_t> share_by_largest_remainder(std::int64_t total, std::span<const std::int64_t> weights);

/// Value of `metric` in the row of a path; 0 if paths of this kind do not have the metric.
std::int64_t value_of(const experiment::Unit& unit, const experiment::PathValues& row, experiment::NodeKind kind,
                      format::MetricId metric);

}  // namespace refrain::run
