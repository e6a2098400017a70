#pragma once
/// Reads the log of the iterations of one loop (format/iteration_log.hpp).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "format/bytes.hpp"
#include "format/iteration_log.hpp"

namespace refrain::experiment {

/// Consecutive iterations of a log: a run, or a record of one iteration or of a group of 2^level iterations.
struct LoggedItem {
  std::optional<format::Run> run;            ///< none: a record
  std::uint64_t count = 0;                   ///< iterations; the last group of a log may have fewer than this says
  format::Label label{};                     ///< of a record, as are the values
  std::int64_t row[format::max_overall];     ///< of the iteration, or the one that is kept of the group
  std::int64_t others[format::max_overall];  ///< sums over the other iterations of the group
};

/// Reads the items of one block in order. Damaged input ends the reading early; nothing is read outside the block.
class IterationLogReader {
 public:
  /// `columns` must be those with which the log was written. False: not a block of such a log.
  [[nodiscard]] bool open(std::span<const std::byte> block, std::span<const format::Precision> columns);

  std::uint64_t first() const { return first_; }
  /// Number of iterations in the block, from first() on.
  std::uint64_t covered() const { return covered_; }
  /// Level of its records: each stands for 2^level iterations.
  unsigned level() const { return level_; }
  /// Reads the next item; columns that are not kept are 0. False: no more, or the block is damaged (see damaged()).
  [[nodiscard]] bool next(LoggedItem& item);
  bool damaged() const { return damaged_; }

 private:
  bool varint(std::uint64_t& out) { return format::take_varint(block_, at_, out); }
  bool take_label(std::uint64_t start, format::Label& label);
  bool take_values(unsigned which, bool new_mask, std::int64_t (&overall)[format::max_overall]);

  std::span<const std::byte> block_;
  std::size_t at_ = 0;
  std::uint64_t first_ = 0, covered_ = 0, read_ = 0;
  std::uint32_t columns_ = 0;
  unsigned level_ = 0;
  bool items_ = false;
  std::optional<format::Run> whole_;  ///< all of the block is this run
  format::Precision precision_[format::max_overall] = {};
  std::int64_t before_[2][format::max_overall] = {};  ///< of iterations, and of sums over the others of a group
  std::uint64_t mask_[2] = {};
  format::RecentLabels recent_ = {};
  bool damaged_ = false;
};

}  // namespace refrain::experiment
