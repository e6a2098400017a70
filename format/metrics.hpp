#pragma once
/// The metrics (metrics.def has the rows), the totals that every unit has, and the losses.
///
/// A unit is the run of a location, the time outside of its iterations, a cluster of them, or one iteration. A metric
/// is a column of call paths of one kind, a total of whole units, or both.

#include <array>
#include <cstddef>
#include <cstdint>

#include "format/iteration_log.hpp"

namespace refrain::format {

enum class NodeKind : std::uint8_t {
  Root,      ///< the location itself
  Frame,     ///< a call site: key is a return address
  Function,  ///< a function that a tick interrupted: key is its first address, or the pc without a table
  Region,    ///< a function recorded exactly (MPI): key is a RegionId
  Special,   ///< a pseudo call path: key is a SpecialPath
  Marked,    ///< a loop or region that the program has marked: key is a RegionId, below the function with the mark
};

/// Pseudo call paths directly below the root.
enum class SpecialPath : std::uint8_t { Truncated, ArenaFull };

/// The measured sums of a unit. docs/architecture.md says how the time rules divide them.
struct UnitTotals {
  // Changed by every call: these two lie together.
  std::int64_t mpi = 0;             ///< ticks in outermost MPI calls
  std::int64_t mpi_calls = 0;       ///< outermost calls; each costs the mean of the location's calls
  std::int64_t wall = 0;            ///< ticks
  std::int64_t own = 0;             ///< ticks of Refrain's own work besides calls and timer ticks (own_time.hpp)
  std::int64_t cpu_ns = 0;          ///< thread CPU time
  std::int64_t ticks_user = 0;      ///< timer ticks that found user code
  std::int64_t ticks_mpi = 0;       ///< ... an MPI call
  std::int64_t ticks_lost = 0;      ///< ... Refrain itself or nothing to attribute; each tick costs the location's mean
  std::int64_t weight_user_ns = 0;  ///< W_user
  std::int64_t weight_mpi_ns = 0;   ///< W_mpi
  std::int64_t waited_ns = 0;       ///< the thread was ready to run outside of MPI, but did not
  std::int64_t off_mpi_ns = 0;      ///< the thread did not run in MPI calls, ready or not
  double weight_user_squared = 0;   ///< sum of w^2 over user ticks, ns^2, for the standard error

  inline UnitTotals& operator+=(const UnitTotals& other);
};

/// Takes the place of the cluster in the unit of the time for which the program stopped the measurement (stopping.hpp);
/// the loop is -1. That unit has wall time and CPU time and nothing else.
inline constexpr std::int32_t stopped_unit = -2;

enum class MetricId : std::uint8_t {
#define METRIC(id, name, total, unit, kind, paths, reduction, source, log, apart, scales, also, help) id,
#include "format/metrics.def"
#undef METRIC
  Self,     ///< in the table: the metric of the row itself
  Nothing,  ///< in the table: no metric
};

enum class Quantity : std::uint8_t { Count, Time, Squares };
enum class Reduction : std::uint8_t { Sum, Min, Max };

/// Where the value of a unit comes from.
struct MetricSource {
  enum From : std::uint8_t { Total, Paths, Rules, Squares, Nowhere } from;
  std::int64_t UnitTotals::*total;
};

/// Which comparisons of the clustering a metric takes part in.
enum class ToldApart : std::uint8_t { neither, paths };

struct MetricRow {
  const char* name;        ///< at call paths; null: they do not have the metric
  const char* total_name;  ///< of whole units; null: they do not have the metric
  const char* unit;
  Quantity quantity;
  NodeKind kind;  ///< kind of the call paths that have it; Root: none
  Reduction reduction;
  MetricSource source;
  Precision log;
  ToldApart told_apart;
  MetricId scales_with, also_scales_with;
  const char* help;

  /// Whether the log of iterations has a column for it, which may be empty (Precision::NotKept).
  constexpr bool is_logged() const { return total_name != nullptr && source.from != MetricSource::Rules; }
  constexpr bool tells_paths_apart() const { return told_apart == ToldApart::paths; }
};

namespace metric_rows {
using enum ToldApart;
inline constexpr const char* none = nullptr;
inline constexpr MetricSource from_paths{MetricSource::Paths, nullptr}, from_rules{MetricSource::Rules, nullptr},
    from_squares{MetricSource::Squares, nullptr}, nowhere{MetricSource::Nowhere, nullptr};
constexpr MetricSource total_at(std::int64_t UnitTotals::*total) { return {MetricSource::Total, total}; }

inline constexpr MetricRow table[] = {
#define METRIC(id, name, total, unit, kind, paths, reduction, source, log, apart, scales, also, help) \
  {name,   total,          unit,  Quantity::kind,   NodeKind::paths, Reduction::reduction,            \
   source, Precision::log, apart, MetricId::scales, MetricId::also,  help},
#include "format/metrics.def"
#undef METRIC
};
}  // namespace metric_rows

inline constexpr auto& metric_table = metric_rows::table;
inline constexpr std::size_t metric_count = sizeof metric_table / sizeof *metric_table;

constexpr const MetricRow& row_of(MetricId metric) { return metric_table[static_cast<std::size_t>(metric)]; }

/// Whether a node of `kind` has a column for `row`. Ticks may end at a pseudo path, which has the columns of a
/// function.
constexpr bool has_column(NodeKind kind, const MetricRow& row) {
  return row.name != nullptr && row.kind == (kind == NodeKind::Special ? NodeKind::Function : kind);
}
/// Number of value columns of a node of `kind`.
constexpr std::size_t columns_of(NodeKind kind) {
  std::size_t n = 0;
  for (const auto& row : metric_table) n += has_column(kind, row);
  return n;
}
/// Whether call paths of this kind have a value for each extra metric (REFRAIN_METRICS), behind their columns.
constexpr bool has_extra_columns(NodeKind kind) {
  return kind == NodeKind::Region || kind == NodeKind::Function || kind == NodeKind::Special;
}
/// Position of a metric in the value row of its node kind.
constexpr std::size_t column_of(MetricId id) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(id); ++i) n += has_column(row_of(id).kind, metric_table[i]);
  return n;
}
/// The metric at each position.
template <NodeKind kind>
inline constexpr auto column_metrics = [] {
  std::array<MetricId, columns_of(kind)> metrics{};
  std::size_t n = 0;
  for (std::size_t i = 0; i < metric_count; ++i)
    if (has_column(kind, metric_table[i])) metrics[n++] = static_cast<MetricId>(i);
  return metrics;
}();

/// The metrics of whole iterations, in the order of the log. The extra metrics follow them.
inline constexpr std::size_t logged_count = [] {
  std::size_t n = 0;
  for (const auto& row : metric_table) n += row.is_logged();
  return n;
}();
inline constexpr auto logged_metrics = [] {
  std::array<MetricId, logged_count> metrics{};
  std::size_t n = 0;
  for (std::size_t i = 0; i < metric_count; ++i)
    if (metric_table[i].is_logged()) metrics[n++] = static_cast<MetricId>(i);
  return metrics;
}();
/// Position of a metric in the row of an iteration; logged_count: it is not there.
constexpr std::size_t logged_index(MetricId metric) {
  std::size_t n = 0;
  for (const MetricId one : logged_metrics) {
    if (one == metric) break;
    ++n;
  }
  return n;
}

static_assert(
    [] {
      for (const auto& row : metric_table)
        for (const MetricId of : {row.scales_with, row.also_scales_with})
          if (of != MetricId::Nothing && of != MetricId::Self && logged_index(of) == logged_count) return false;
      return true;
    }(),
    "a column scales with a metric that single iterations have");

/// The integers of UnitTotals, in the order of the file: first those that every version has, which versions before 1.6
/// read by position, then the others in the order of the table (docs/file-format.md).
struct TotalColumn {
  MetricId metric;
  std::int64_t UnitTotals::*total;
  std::size_t logged;  ///< logged_index() of the metric
};
inline constexpr MetricId oldest_totals[] = {
    MetricId::Wall,   MetricId::Time,     MetricId::Own,        MetricId::Cpu,
    MetricId::Visits, MetricId::Samples,  MetricId::SamplesMpi, MetricId::TicksWithoutSample,
    MetricId::Weight, MetricId::WeightMpi};
inline constexpr std::size_t total_count = [] {
  std::size_t n = 0;
  for (const auto& row : metric_table) n += row.source.from == MetricSource::Total;
  return n;
}();
inline constexpr auto total_columns = [] {
  std::array<TotalColumn, total_count> columns{};
  std::size_t n = 0;
  const auto add = [&](MetricId metric) { columns[n++] = {metric, row_of(metric).source.total, logged_index(metric)}; };
  for (const MetricId metric : oldest_totals) add(metric);
  for (std::size_t i = 0; i < metric_count; ++i) {
    bool is_old = metric_table[i].source.from != MetricSource::Total;
    for (const MetricId metric : oldest_totals) is_old |= metric == static_cast<MetricId>(i);
    if (!is_old) add(static_cast<MetricId>(i));
  }
  return columns;
}();

UnitTotals& UnitTotals::operator+=(const UnitTotals& other) {
  for (const auto& column : total_columns) this->*column.total += other.*column.total;
  weight_user_squared += other.weight_user_squared;
  return *this;
}

enum class Loss : std::uint8_t {
#define LOSS(id, name, help) id,
#define LOSS_OF_TIME LOSS
#include "format/losses.def"
#undef LOSS
#undef LOSS_OF_TIME
};
struct LossRow {
  const char* name;
  const char* help;
  bool is_time;  ///< true: nanoseconds; false: a count
};
inline constexpr LossRow loss_table[] = {
#define LOSS(id, name, help) {name, help, false},
#define LOSS_OF_TIME(id, name, help) {name, help, true},
#include "format/losses.def"
#undef LOSS
#undef LOSS_OF_TIME
};
inline constexpr std::size_t loss_count = sizeof loss_table / sizeof *loss_table;

}  // namespace refrain::format
