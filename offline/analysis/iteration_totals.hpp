#pragma once
/// What the exact vector of an iteration says of the iteration as a whole.

#include <array>
#include <cstdint>
#include <span>

#include "offline/experiment/profile.hpp"

namespace refrain::analysis {

/// The first are what the columns of an MPI call path follow, in the order of those.
enum Total : std::uint8_t {
  mpi_calls,
  mpi,
  messages_sent,
  bytes_sent,
  messages_received,
  bytes_received,
  messages_completed,
  bytes_completed,
  bytes_read,
  bytes_written,
  wall,
  own,
  cpu,
  samples,
  samples_mpi,
  ticks_lost,
  total_count
};
inline constexpr std::size_t region_columns = format::columns_of(experiment::NodeKind::Region);
static_assert(region_columns == wall && format::column_of(format::MetricId::Time) == mpi &&
              format::column_of(format::MetricId::BytesWritten) == bytes_written &&
              static_cast<std::size_t>(format::MetricId::BytesWritten) == bytes_written);

/// Where they are in the vectors of a loop.
class TotalColumns {
 public:
  explicit TotalColumns(const experiment::Loop& loop);
  /// -1: not there.
  int operator[](std::size_t total) const { return columns_[total]; }
  std::int64_t of(std::span<const std::int64_t> row, Total total) const {
    const int column = columns_[total];
    return column < 0 ? 0 : row[static_cast<std::size_t>(column)];
  }

 private:
  std::array<int, total_count> columns_;
};

}  // namespace refrain::analysis
