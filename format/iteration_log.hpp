#pragma once
/// What the writer (clustering/iteration_log.hpp) and the reader (offline/experiment/iteration_log_reader.hpp) of the
/// exact vector and the label of every iteration agree on. docs/file-format.md describes the blocks.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace refrain::format {

/// Names a cluster for ever: labels are given in ascending order and never reused, unlike the slots that clusters lie
/// in.
enum class Label : std::uint32_t {};
inline constexpr Label no_label{0xffffffff};

inline constexpr std::size_t max_overall = 36;  ///< overall metrics

/// How an overall metric of every single iteration is kept in the iteration log.
enum class Precision : std::uint8_t {
  Exact,
  Rounded,  ///< floating point with 10 bits of fraction: relative error at most 2^-11 (0.049 %), integers below 2048
            ///< exact
  NotKept
};

/// Iterations in a row during which a location was in user code, or in one MPI call, without recording anything. One
/// record stands for all of them. Their wall times are those of the process's first thread, and what else they have is
/// in proportion to that.
struct PassedIterations {
  std::uint64_t count;
  std::int64_t wall;  ///< ticks; these are sums
  std::int64_t cpu_ns;
  std::int64_t off_ns;  ///< in a call: off the CPU; else waited for a core
  bool in_call;
};

/// Iterations have a record each up to number `whole`, a power of two or 0: all have one. Behind it one record stands
/// for 4, from 2 `whole` on for 16, from 4 `whole` on for 64, ...: so a log of any length has at most 1.5 `whole`
/// records, and for which iterations they stand follows from the numbers of these alone, so that all ranks have the
/// same. Returns how many the record of iteration `number` stands for.
constexpr std::uint64_t iterations_of_record(std::uint64_t number, std::uint64_t whole) {
  std::uint64_t count = 1;
  for (std::uint64_t begin = whole; begin > 0 && number >= begin; begin *= 2)
    count = count * 4 < begin ? count * 4 : begin;
  return count;
}
/// The first iteration behind these.
constexpr std::uint64_t end_of_record(std::uint64_t number, std::uint64_t whole) {
  const std::uint64_t count = iterations_of_record(number, whole);
  return (number / count + 1) * count;
}

/// The slowest iterations of a loop, of which the log keeps the numbers and wall times whatever its records stand for.
inline constexpr std::size_t slowest_of_loop = 8;
struct TimedIteration {
  std::uint64_t number;
  std::int64_t wall;  ///< ticks
};

namespace log_format {
inline constexpr std::uint32_t magic = 0x4c544952;  // "RITL"
inline constexpr std::size_t header_bytes = 24;
inline constexpr std::size_t size_at = 4, first_at = 8, count_at = 16, columns_at = 20, kind_at = 22;
/// In place of records, a block of this kind has the number of iterations from its first on during which the location
/// had no thread (u64). Readers before 1.9 find a block without records, and these iterations missing.
inline constexpr std::uint16_t absence_kind = 1;
inline constexpr std::size_t absence_bytes = header_bytes + 8;
/// Records of this block may stand for several iterations. Readers before 1.11 find it damaged.
inline constexpr std::uint16_t several_kind = 2;
inline constexpr int fraction_bits = 10;
}  // namespace log_format

/// Relative error of a Rounded value at most; integers below 2048 are exact.
inline constexpr double rounded_error = 1.0 / 2048;

/// Floating point with 6 bits of exponent and 10 of fraction, plus 1, with the sign of the value; 0 is 0. Order is
/// kept: larger values, larger codes.
inline std::int32_t rounded_code(std::int64_t value) {
  if (value == 0) return 0;
  auto magnitude = static_cast<std::uint64_t>(value);
  if (value < 0) magnitude = 0 - magnitude;
  int exponent = 63 - std::countl_zero(magnitude);
  if (exponent > log_format::fraction_bits) {
    const int drop = exponent - log_format::fraction_bits;
    magnitude = (magnitude + (std::uint64_t{1} << (drop - 1))) >> drop;
    if (magnitude >> (log_format::fraction_bits + 1)) {  // rounded up to the next power of two
      magnitude >>= 1;
      ++exponent;
    }
  } else {
    magnitude <<= log_format::fraction_bits - exponent;
  }
  const auto code = static_cast<std::int32_t>(exponent << log_format::fraction_bits |
                                              (static_cast<int>(magnitude) & ((1 << log_format::fraction_bits) - 1))) +
                    1;
  return value < 0 ? -code : code;
}

inline std::int64_t rounded_value(std::int32_t code) {
  if (code == 0) return 0;
  const std::uint32_t positive =
      (code < 0 ? 0U - static_cast<std::uint32_t>(code) : static_cast<std::uint32_t>(code)) - 1;
  const unsigned exponent = positive >> log_format::fraction_bits;
  const std::uint64_t fraction =
      (std::uint64_t{1} << log_format::fraction_bits) | (positive & ((1U << log_format::fraction_bits) - 1));
  std::uint64_t magnitude = 0;
  if (exponent > 62)  // the largest values round up to what does not fit
    magnitude = static_cast<std::uint64_t>(INT64_MAX);
  else if (exponent >= log_format::fraction_bits) magnitude = fraction << (exponent - log_format::fraction_bits);
  else magnitude = fraction >> (log_format::fraction_bits - exponent);
  return code < 0 ? static_cast<std::int64_t>(0 - magnitude) : static_cast<std::int64_t>(magnitude);
}

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

}  // namespace refrain::format
