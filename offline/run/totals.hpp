#pragma once
/// Totals of locations by the time rules, for the run or for a part of it: the form in which values meet names.

#include <span>

#include "format/saturating.hpp"
#include "offline/experiment/profile.hpp"
#include "offline/run/time_rules.hpp"

namespace refrain::run {

/// The totals of these units of one location together.
experiment::RunTotals totals_of(std::span<const experiment::Unit> units, const experiment::Rank& rank,
                                const experiment::Location& location, std::span<const experiment::CallPath> paths);

/// Sums of the location's whole run, not divided among call paths: from the file if it has them, else from the units.
format::UnitTotals sums_of_run(const experiment::Location& location);

/// The MPI calls of one call path in a unit.
struct MpiCalls {
  std::uint32_t path;
  double number, seconds;
};
std::vector<MpiCalls> mpi_calls_of(const experiment::Unit& unit, const experiment::RankDefinition& rank,
                                   std::span<const experiment::CallPath> paths);

using format::add_saturating;

inline double seconds_of(const experiment::RankDefinition& rank, double ticks) {
  return rank.ticks_per_second > 0 ? ticks / rank.ticks_per_second : 0;
}

}  // namespace refrain::run
