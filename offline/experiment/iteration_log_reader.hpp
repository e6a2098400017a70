#pragma once
/// Reads the log of the iterations of one loop (format/iteration_log.hpp).

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/bytes.hpp"
#include "format/iteration_log.hpp"

namespace refrain::experiment {

/// Reads the records of one block in order. Damaged input ends the reading early; nothing is read outside the block.
class IterationLogReader {
 public:
  /// `columns` must be those with which the log was written. False: not a block of such a log.
  [[nodiscard]] bool open(std::span<const std::byte> block, std::span<const format::Precision> columns);

  std::uint64_t first() const { return first_; }
  std::uint32_t count() const { return count_; }
  /// Number of iterations from first() on in which the location had no thread; if not 0, the block has no records.
  std::uint64_t absent() const { return absent_; }
  /// Reads the next record; columns that are not kept are 0. False: no more, or the block is damaged (see damaged()).
  [[nodiscard]] bool next(format::Label& label, std::int64_t (&overall)[format::max_overall]);
  bool damaged() const { return damaged_; }

 private:
  bool varint(std::uint64_t& out) { return format::take_varint(block_, at_, out); }

  std::span<const std::byte> block_;
  std::size_t at_ = 0;
  std::uint64_t first_ = 0, absent_ = 0;
  std::uint32_t count_ = 0, read_ = 0, columns_ = 0;
  format::Precision precision_[format::max_overall] = {};
  std::int64_t before_[format::max_overall] = {};
  format::RecentLabels recent_ = {};
  std::uint64_t mask_ = 0;
  bool damaged_ = false;
};

}  // namespace refrain::experiment
