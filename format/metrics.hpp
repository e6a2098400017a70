#pragma once
/// Ids and columns of the metrics; the facts are in metrics.def.

#include <cstddef>
#include <cstdint>

namespace refrain::format {

enum class NodeKind : std::uint8_t {
  Root,      ///< the location itself
  Frame,     ///< a call site: key is a return address
  Function,  ///< a function that a tick interrupted: key is its first address (or the pc when there is no table)
  Region,    ///< a function recorded exactly (MPI): key is a RegionId
  Special,   ///< a pseudo path: key is a SpecialPath
  Marked,    ///< a loop or region that the program has marked: key is a RegionId, below the function with the mark
};

/// Pseudo call paths directly below the root.
enum class SpecialPath : std::uint8_t { Truncated, ArenaFull };

enum class Reduction : std::uint8_t { Sum, Min, Max };

enum class MetricId : std::uint8_t {
#define METRIC(id, name, unit, reduction, kind, help) id,
#include "format/metrics.def"
#undef METRIC
};

struct MetricRow {
  const char* name;
  const char* unit;
  Reduction reduction;
  NodeKind kind;
  const char* help;
};

inline constexpr MetricRow metric_table[] = {
#define METRIC(id, name, unit, reduction, kind, help) {name, unit, Reduction::reduction, NodeKind::kind, help},
#include "format/metrics.def"
#undef METRIC
};
inline constexpr std::size_t metric_count = sizeof metric_table / sizeof *metric_table;

/// True when a node of `kind` has a column for `row`. Ticks may end at a pseudo path: it has the columns of a function.
constexpr bool has_column(NodeKind kind, const MetricRow& row) {
  return row.kind == (kind == NodeKind::Special ? NodeKind::Function : kind);
}
/// Number of value columns of a node of `kind`.
constexpr std::size_t columns_of(NodeKind kind) {
  std::size_t n = 0;
  for (const auto& row : metric_table) n += has_column(kind, row);
  return n;
}
/// Position of a metric in the value row of its node kind.
constexpr std::size_t column_of(MetricId id) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(id); ++i)
    n += metric_table[i].kind == metric_table[static_cast<std::size_t>(id)].kind;
  return n;
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
  bool is_time;  ///< nanoseconds, else a count
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
