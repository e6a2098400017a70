#pragma once
/// The log with the exact vector and the label of every iteration: shared by the writer (clustering/iteration_log.hpp)
/// and the reader (offline/experiment/iteration_log_reader.hpp). docs/file-format.md describes the blocks.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "format/float_code.hpp"

namespace refrain::format {

/// Names a cluster forever: labels are given in ascending order and never reused, unlike the slots that clusters lie
/// in.
enum class Label : std::uint32_t {};
inline constexpr Label no_label{0xffffffff};
/// The cluster of the iterations in which a follower recorded nothing.
inline constexpr Label passed_label{0xfffffffe};

inline constexpr std::size_t max_overall = 36;  ///< overall metrics

/// How the iteration log keeps an overall metric of every single iteration.
enum class Precision : std::uint8_t {
  Exact,
  Rounded,  ///< floating point with 10 bits of fraction: relative error at most 2^-11 (0.049 %), integers below 2048
            ///< exact
  NotKept
};

/// This many of the slowest iterations of a loop are kept with their wall time, whatever happens to the log.
inline constexpr std::size_t max_slowest = 16;

namespace log_format {
inline constexpr std::uint32_t magic = 0x4c544952;  // "RITL"
inline constexpr std::size_t header_bytes = 24;
inline constexpr std::size_t size_at = 4, first_at = 8, count_at = 16, columns_at = 20, kind_at = 22;
/// Kinds of blocks: iterations without a thread (1.9 and 1.10), and items (since 1.11). Readers of earlier versions
/// find a block without records, and its iterations missing. In both, the number of iterations that the block covers
/// (u64) follows the header.
inline constexpr std::uint16_t absence_kind = 1, items_kind = 2;
inline constexpr std::size_t covered_at = header_bytes, items_at = header_bytes + 8;
inline constexpr int level_shift = 8;  ///< the level of a block of items is in the high byte of the kind
/// An item begins with a number: 0 for a record, otherwise the length of a run times 4, plus the kind of the run.
inline constexpr int run_shift = 2;
inline constexpr int fraction_bits = 10;
}  // namespace log_format

/// Iterations without a record of their own, one after the other.
enum class Run : std::uint8_t {
  Passed = 1,    ///< the thread recorded nothing in them; their wall time is that of the first thread
  PassedInCall,  ///< the same, and all of them lie within one MPI call
  Absent         ///< there was no thread
};

/// The level of a block of iterations that begins at `first`: one of 2^level is kept. The level is 0 up to `whole`, a
/// power of two, and rises by one with each doubling. It depends on the number alone, so all ranks keep the same
/// iterations.
inline unsigned log_level_at(std::uint64_t first, std::uint64_t whole) {
  return static_cast<unsigned>(std::bit_width(first / whole));
}

/// The largest relative error of a Rounded value; integers below 2048 are exact.
inline constexpr double rounded_error = 1.0 / 2048;

inline std::int32_t rounded_code(std::int64_t value) { return float_code<log_format::fraction_bits>(value); }
inline std::int64_t rounded_value(std::int32_t code) { return float_value<log_format::fraction_bits>(code); }

/// The labels that a block has named most recently.
struct RecentLabels {
  static constexpr std::uint32_t slots = 63;  ///< so a record's first number is below 128 and takes one byte
  std::uint32_t label[slots + 1];             // the last one is never used
  std::uint32_t used, next;
  void clear() { used = next = 0; }
  /// Slot of a label; `used`: it is not there.
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
    used = used < slots ? used + 1 : slots;
    next = (next + 1) % slots;
  }
};

}  // namespace refrain::format
