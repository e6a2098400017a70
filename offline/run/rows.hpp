#pragma once
/// What one location did in one unit, by call path, in nanoseconds: the rows from which everything is added up. The
/// time rules make them from the data of the file on request; one rank is in memory at a time.

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "offline/experiment/profile.hpp"
#include "offline/run/metrics.hpp"
#include "offline/run/nodes.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::run {

/// Converts ticks of a rank's counter to nanoseconds in integers, with the same result on every machine.
class Clock {
 public:
  explicit Clock(double ticks_per_second);
  std::int64_t ns(std::int64_t ticks) const;

 private:
  std::int64_t rate_;
};

/// The row of a call path of the definitions, or of one that the time rules define.
struct Row {
  static constexpr std::uint32_t by_rules = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t path = by_rules;
  Pseudo pseudo{};          ///< if `path` is by_rules
  format::NodeKind kind{};  ///< otherwise
  std::int64_t ns = 0;
  std::uint32_t times = 0;                  ///< the metrics that include the time: bits by TimeMetric
  bool is_divided = false;                  ///< the time is a share that samples divided, or would have
  std::int64_t below = 0, above = 0;        ///< bounds of its error, where time off the CPU was not counted
  std::span<const std::int64_t> columns;    ///< by format::column_of()
  std::span<const std::int64_t> asked_for;  ///< by Rank::extra_metrics; may be shorter

  std::int64_t value(format::MetricId metric) const { return format::value_of(kind, columns, metric); }
  bool is_sampled() const { return is_divided && path != by_rules; }
  bool has(TimeMetric metric) const { return (times >> metric & 1) != 0; }
};

/// Whether it is known how much of the location's time off the CPU was waiting for a core.
bool tells_waiting(const experiment::Rank& rank, const experiment::Location& location);

/// The rows of a location in a unit. Holds references: rank, location and totals must outlive it.
struct Leaf {
  const experiment::Rank& rank;
  const experiment::Location& location;
  const experiment::RunTotals& totals;
  bool is_whole_run = true;
  bool is_exact = true;  ///< nothing is reconstructed
  /// Rows of MPI first, then of user code, then the rest. Their times add up to the wall time of the unit, to the
  /// nanosecond.
  std::vector<Row> rows;

  /// The sums over all rows by metric, in nanoseconds.
  std::array<std::int64_t, time_metrics> times() const;
  std::int64_t time(TimeMetric metric) const { return times()[metric]; }
  /// The time that samples have divided, in nanoseconds, and the weights of these samples.
  Stratum stratum() const;
  /// The value of a metric of marks in a row; times are in nanoseconds.
  std::int64_t mark_of(const Row& row, format::MetricId metric) const;
  std::uint32_t node_of(const Nodes& nodes, const Row& row) const {
    return row.path == Row::by_rules ? nodes.of(row.pseudo) : nodes.of_path(row.path);
  }
};

/// Makes leaves of one experiment.
class Leaves {
 public:
  /// `definitions` must outlive it.
  explicit Leaves(const experiment::ProfileDefinitions& definitions);
  /// `totals`: what the location did in the unit (totals.hpp).
  Leaf of(const experiment::Rank& rank, const experiment::Location& location,
          const experiment::RunTotals& totals) const;
  const experiment::ProfileDefinitions& definitions() const { return definitions_; }

 private:
  const experiment::ProfileDefinitions& definitions_;
  std::vector<TimeMetric> class_of_region_;
};

}  // namespace refrain::run
