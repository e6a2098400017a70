#pragma once
/// The columns of the metrics of whole iterations in the rows of a loop, and how the columns of MPI call paths map to
/// them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "offline/experiment/profile.hpp"

namespace refrain::run {

inline constexpr std::size_t region_columns = format::columns_of(experiment::NodeKind::Region);
/// Columns of MPI call paths.
inline constexpr std::size_t calls_column = format::column_of(format::MetricId::Visits),
                             time_column = format::column_of(format::MetricId::Time),
                             off_cpu_column = format::column_of(format::MetricId::OffCpuMpi);

class LoopColumns {
 public:
  explicit LoopColumns(const experiment::Loop& loop) {
    for (std::size_t m = 0; m < columns_.size(); ++m) {
      const char* name = format::metric_table[m].total_name;
      const auto at =
          std::ranges::find_if(loop.metrics, [&](const auto& metric) { return name && metric.name == name; });
      columns_[m] = at == loop.metrics.end() ? -1 : static_cast<int>(at - loop.metrics.begin());
    }
  }
  /// The column of a metric; -1: not there.
  int operator[](format::MetricId metric) const { return columns_[static_cast<std::size_t>(metric)]; }
  /// The metric of whole iterations that a column of MPI call paths adds up to.
  int of_path(std::size_t column) const {
    return (*this)[format::column_metrics<experiment::NodeKind::Region>[column]];
  }
  std::int64_t of(std::span<const std::int64_t> row, format::MetricId metric) const {
    const int column = (*this)[metric];
    return column < 0 ? 0 : row[static_cast<std::size_t>(column)];
  }

 private:
  std::array<int, format::metric_count> columns_{};
};

}  // namespace refrain::run
