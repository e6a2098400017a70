#pragma once
/// The exact vector and the label of every iteration, packed into blocks that go to a file.
///
/// A block is decodable by itself:
///   offset 0: u32 magic "RITL", 4: u32 bytes of the block, 8: u64 first iteration, 16: u32 iterations, 20: u16
///   columns, 22: u16 zero, 24: records; all little-endian. A record: varint label (zigzag difference from the record
///   before), varint mask of the columns that differ from the record before, then per such column a zigzag varint
///   difference. Rounded columns are stored as their code. The first record differs from zeros.
/// Iterations of a block are consecutive. Columns that are not kept take no room.
///
/// Thread safety: none, one log per location, ordinary context. No I/O.

#include <cstddef>
#include <cstdint>
#include <span>

#include "clustering/types.hpp"
#include "platform/pages.hpp"

namespace refrain::clustering {

/// What writer and reader agree on.
namespace log_format {
inline constexpr std::uint32_t magic = 0x4c544952;  // "RITL"
inline constexpr std::size_t header_bytes = 24;
inline constexpr int fraction_bits = 10;
}  // namespace log_format

/// Relative error of a Rounded value at most; integers below 2048 are exact.
inline constexpr double rounded_error = 1.0 / 2048;

/// Floating point with 6 bits of exponent and 10 of fraction, above the sign. Order is kept: larger values, larger
/// codes.
std::int32_t rounded_code(std::int64_t value);
std::int64_t rounded_value(std::int32_t code);

/// Labels that a block has named last.
struct RecentLabels {
  static constexpr std::uint32_t places = 63;  ///< a record's first number is below 128 then: one byte
  std::uint32_t label[places];
  std::uint32_t used, next;
  void clear() { used = next = 0; }
  void insert(std::uint32_t value) {
    label[next] = value;
    used = used < places ? used + 1 : places;
    next = (next + 1) % places;
  }
};

class IterationLog {
 public:
  /// False: no memory, more than max_overall columns, or a block too small for one record.
  [[nodiscard]] bool create(std::span<const OverallColumn> columns, std::size_t block_bytes = 32768);
  void destroy();

  enum class Appended : std::uint8_t { Yes, BlockFull };
  /// BlockFull: the record is not in: the block has no room, or `iteration` does not follow the last one. Take
  /// closed(), call start_block() and append again.
  [[nodiscard]] Appended append(std::uint64_t iteration, Label label, std::span<const std::int64_t> overall);
  /// The block so far, with its header complete; empty when it has no record.
  std::span<const std::byte> closed();
  void start_block();

  std::size_t bytes() const { return used_; }
  std::uint32_t count() const { return count_; }

 private:
  platform::Bytes block_;
  std::size_t used_ = 0;
  std::uint64_t first_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t columns_ = 0;
  Precision precision_[max_overall] = {};
  std::int64_t before_[max_overall] = {};
  RecentLabels recent_ = {};
  std::uint64_t mask_before_ = 0;
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
