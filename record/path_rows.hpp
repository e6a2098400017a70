#pragma once
/// Shared by the sections with values of call paths: the rank's own path of each node, the head of a location, and the
/// values of a unit by path. Runtime half.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "format/saturating.hpp"
#include "platform/pages.hpp"
#include "record/encoder.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

using Numbers = platform::GrowableArray<std::uint32_t>;

inline std::string_view fixed_text(const char* text, std::size_t size) { return {text, strnlen(text, size)}; }

/// The rank's own path of each node of a location.
using Paths = std::span<const std::uint32_t>;

/// Calls `encode(location, paths)` for every location. `paths` has the paths of one location after the other.
template <class Encode>
void for_each_location(const RankRecord& record, const Numbers& paths, Encode encode) {
  const std::uint32_t* at = paths.data();
  for (const LocationRecord& location : record.locations) {
    encode(location, Paths{at, location.nodes.size()});
    at += location.nodes.size();
  }
}

/// Encodes the rank's own path of each node. Most trees are numbered like the rank's tree, so most differences are 0.
inline void encode_node_paths(Paths paths, Encoder& out) {
  out.varint(paths.size());
  std::int64_t expected = 0;
  for (const std::uint32_t path : paths) {
    out.signed_varint(path - expected);
    expected = std::int64_t{path} + 1;
  }
}

/// Encodes what a location is, before its values.
inline void encode_location_head(const LocationRecord& location, Encoder& out) {
  out.signed_varint(location.thread);
  out.signed_varint(location.os_thread_id);
  out.text(fixed_text(location.name, sizeof location.name));
  out.signed_varint(location.begin);
  out.signed_varint(location.end);
  out.signed_varint(location.arena_bytes);
  out.varint(measurement::loss_count);
  for (const std::int64_t count : location.losses) out.signed_varint(count);
}

/// Encodes the number of the rank's extra metrics, then their names and units.
inline void encode_extra_metrics(const RankRecord& record, Encoder& out) {
  out.varint(record.extra_metrics.size());
  for (const measurement::ExtraMetric& metric : record.extra_metrics) {
    out.text(metric.name);
    out.text(metric.unit);
  }
}

/// How many columns a kind of node has, and how each adds up.
struct KindColumns {
  std::size_t count;
  measurement::Reduction reduction[measurement::metric_count];
};
inline constexpr std::size_t node_kinds = static_cast<std::size_t>(NodeKind::Marked) + 1;
inline constexpr auto columns_by_kind = [] {
  std::array<KindColumns, node_kinds> all{};
  for (std::size_t kind = 0; kind < node_kinds; ++kind)
    for (const auto& metric : measurement::metric_table)
      if (measurement::has_column(static_cast<NodeKind>(kind), metric))
        all[kind].reduction[all[kind].count++] = metric.reduction;
  return all;
}();
constexpr const KindColumns& kind_columns(NodeKind kind) { return columns_by_kind[static_cast<std::size_t>(kind)]; }

inline constexpr std::size_t max_columns = [] {
  std::size_t most = 0;
  for (const KindColumns& columns : columns_by_kind) most = std::max(most, columns.count);
  return most;
}();
/// The values of one node: its columns, then the extra metrics.
inline constexpr std::size_t max_values = max_columns + measurement::max_extra_metrics;

inline bool all_zero(std::span<const std::int64_t> values) {
  return std::all_of(values.begin(), values.end(), [](std::int64_t v) { return v == 0; });
}

/// Combines the columns of one call path with the sums it already has, each by its metric's reduction.
inline void combine_columns(NodeKind kind, const std::int64_t* values, std::int64_t* sums) {
  const KindColumns& columns = kind_columns(kind);
  for (std::size_t c = 0; c < columns.count; ++c) switch (columns.reduction[c]) {
      case measurement::Reduction::Sum: sums[c] = format::add_saturating(sums[c], values[c]); break;
      case measurement::Reduction::Min: sums[c] = std::min(sums[c], values[c]); break;
      case measurement::Reduction::Max: sums[c] = std::max(sums[c], values[c]); break;
    }
}

/// Adds the extra metrics of one call path to the sums it already has.
inline void add_extras(std::span<const std::int64_t> values, std::int64_t* sums) {
  for (std::size_t m = 0; m < values.size(); ++m) sums[m] = format::add_saturating(sums[m], values[m]);
}

/// Values of a node in one unit.
struct Row {
  std::uint32_t path;
  NodeKind kind;
  std::span<const std::int64_t> values;
};

/// Collects the rows of a unit in ascending order of path; several nodes of one path have a row each. Rows whose values
/// are all zero are left out. `values_of(kind, values)` returns the values of a node to take; none: the node is
/// skipped. False: no memory.
template <class ValuesOf>
bool collect_rows(const UnitRecord& unit, const LocationRecord& location, Paths paths, ValuesOf values_of,
                  platform::GrowableArray<Row>& rows) {
  rows.clear();
  for (const ValueRecord& value : unit.values) {
    if (value.node >= location.nodes.size() || value.values == nullptr) continue;
    const NodeKind kind = location.nodes[value.node].kind;
    const std::span<const std::int64_t> values = values_of(kind, value.values);
    if (all_zero(values)) continue;
    if (!rows.push_back({paths[value.node], kind, values})) return false;
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.path < b.path; });
  return true;
}

/// Calls `use(rows)` for the rows of each path, of which there is at least one. False: one of the calls returned false.
template <class Use>
bool for_each_path(std::span<const Row> rows, Use use) {
  for (std::size_t i = 0, end = 0; i < rows.size(); i = end) {
    while (end < rows.size() && rows[end].path == rows[i].path) ++end;
    if (!use(rows.subspan(i, end - i))) return false;
  }
  return true;
}

}  // namespace refrain::record
