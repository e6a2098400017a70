#pragma once
/// Reads the log of the iterations of one loop (format/iteration_log.hpp).

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/bytes.hpp"
#include "format/iteration_log.hpp"

namespace refrain::experiment {

/// Reads the records of one block one after the other. Damaged input makes it end early, never read outside the block.
class IterationLogReader {
 public:
  /// `columns` as they were when the log was written. False: not a block of such a log.
  [[nodiscard]] bool open(std::span<const std::byte> block, std::span<const format::Precision> columns);

  std::uint64_t first() const { return first_; }
  /// Of records, one for each iteration unless some stand for several.
  std::uint32_t count() const { return count_; }
  /// Iterations from first() on during which the location had no thread; then the block has no records.
  std::uint64_t absent() const { return absent_; }
  /// The next record; columns that are not kept are 0. False: no more, or the block is damaged (see damaged()).
  [[nodiscard]] bool next(format::Label& label, std::int64_t (&overall)[format::max_overall]);
  /// How many iterations the last record stands for. Its vector is their mean.
  std::uint64_t iterations() const { return iterations_; }
  /// What the last record says when it is that of passed iterations; else null. Then there is no vector.
  const format::PassedIterations* passed() const { return passed_.count > 0 ? &passed_ : nullptr; }
  bool damaged() const { return damaged_; }

 private:
  bool read_passed();
  bool varint(std::uint64_t& out) { return format::take_varint(block_, at_, out); }

  std::span<const std::byte> block_;
  std::size_t at_ = 0;
  std::uint64_t first_ = 0, absent_ = 0;
  std::uint32_t count_ = 0, read_ = 0, columns_ = 0;
  format::Precision precision_[format::max_overall] = {};
  std::int64_t before_[format::max_overall] = {};
  format::RecentLabels recent_ = {};
  std::uint64_t mask_ = 0;
  format::PassedIterations passed_ = {};
  std::uint64_t iterations_ = 0;
  bool may_have_several_ = false;
  bool damaged_ = false;
};

}  // namespace refrain::experiment
