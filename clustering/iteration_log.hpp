#pragma once
/// The exact vector and the label of every iteration, packed into blocks that go to a file.
///
/// A block is decodable by itself; docs/file-format.md describes it. Iterations of a block are consecutive. Columns
/// that are not kept take no room.
///
/// Thread safety: none, one log per loop of a location, ordinary context. No I/O.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "clustering/types.hpp"
#include "format/iteration_log.hpp"
#include "platform/pages.hpp"

namespace refrain::clustering {

class IterationLog {
 public:
  /// False: no memory, more than max_overall columns, or a block too small for one record.
  [[nodiscard]] bool create(std::span<const Precision> columns, std::size_t block_bytes = 32768);
  void destroy();

  enum class Appended : std::uint8_t { Yes, BlockFull };
  /// BlockFull: the record is not in: the block has no room, or `iteration` does not follow the last one. Take
  /// closed(), call start_block() and append again.
  [[nodiscard]] Appended append(std::uint64_t iteration, Label label, std::span<const std::int64_t> overall);
  /// The record before once more, but for the value of one exact column. BlockFull: it cannot be said like this.
  [[nodiscard]] Appended append_again(std::uint64_t iteration, std::size_t column, std::int64_t value);
  /// The block so far, with its header complete; empty when it has no record.
  std::span<const std::byte> closed();
  void start_block();
  /// A block that says that the location had no thread during `count` iterations from `first` on.
  std::array<std::byte, format::log_format::absence_bytes> absence(std::uint64_t first, std::uint64_t count) const;

  std::size_t bytes() const { return used_; }
  std::uint32_t count() const { return count_; }

 private:
  platform::Bytes block_;
  std::size_t used_ = 0;
  std::uint64_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t columns_ = 0;
  std::uint8_t order_[max_overall] = {};  ///< columns kept exactly, then those that are rounded
  std::uint32_t exact_ = 0, kept_ = 0;
  std::int64_t before_[max_overall] = {};
  format::RecentLabels recent_ = {};
  std::uint32_t last_place_ = 0;  ///< in recent_: of the last record's label
  std::uint64_t mask_before_ = 0;
};

}  // namespace refrain::clustering
