#pragma once
/// Reads what iteration_log.hpp writes, and what both agree on. For both halves.

#include <cstddef>
#include <cstdint>
#include <span>

#include "clustering/types.hpp"

namespace refrain::clustering {

/// What writer and reader agree on.
namespace log_format {
inline constexpr std::uint32_t magic = 0x4c544952;  // "RITL"
inline constexpr std::size_t header_bytes = 24;
inline constexpr int fraction_bits = 10;
}  // namespace log_format

/// Relative error of a Rounded value at most; integers below 2048 are exact.
inline constexpr double rounded_error = 1.0 / 2048;

/// Floating point with 6 bits of exponent and 10 of fraction, plus 1, with the sign of the value; 0 is 0. Order is
/// kept: larger values, larger codes.
std::int32_t rounded_code(std::int64_t value);
std::int64_t rounded_value(std::int32_t code);

/// Labels that a block has named last.
struct RecentLabels {
  static constexpr std::uint32_t places = 63;  ///< a record's first number is below 128 then: one byte
  std::uint32_t label[places + 1];             // the last one is never used
  std::uint32_t used, next;
  void clear() { used = next = 0; }
  /// Place of a label, or `used`.
  std::uint32_t find(std::uint32_t value) const {
    for (std::uint32_t i = 0; i < used; i += 4) {
      const bool found[4] = {label[i] == value, label[i + 1] == value, label[i + 2] == value, label[i + 3] == value};
      if (!(found[0] | found[1] | found[2] | found[3])) continue;
      for (std::uint32_t k = 0; k < 4 && i + k < used; ++k)
        if (found[k]) return i + k;
    }
    return used;
  }
  void insert(std::uint32_t value) {
    label[next] = value;
    used = used < places ? used + 1 : places;
    next = (next + 1) % places;
  }
};

/// Reads the records of one block one after the other. Damaged input makes it end early, never read outside the block.
class IterationLogReader {
 public:
  /// `columns` as they were when the log was written. False: not a block of such a log.
  [[nodiscard]] bool open(std::span<const std::byte> block, std::span<const OverallColumn> columns);

  std::uint64_t first() const { return first_; }
  std::uint32_t count() const { return count_; }
  /// The next record; columns that are not kept are 0. False: no more, or the block is damaged (see damaged()).
  [[nodiscard]] bool next(Label& label, std::int64_t (&overall)[max_overall]);
  bool damaged() const { return damaged_; }

 private:
  bool varint(std::uint64_t& out);

  std::span<const std::byte> block_;
  std::size_t at_ = 0;
  std::uint64_t first_ = 0;
  std::uint32_t count_ = 0, read_ = 0, columns_ = 0;
  Precision precision_[max_overall] = {};
  std::int64_t before_[max_overall] = {};
  RecentLabels recent_ = {};
  std::uint64_t mask_ = 0;
  bool damaged_ = false;
};

}  // namespace refrain::clustering
