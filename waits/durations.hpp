#pragma once
/// Durations of calls, by call path and bin (call_bin.hpp), from which waiting is estimated (Mao et al., section 3):
/// the number of calls, the sum of their times, the shortest one, and so on. Single calls are not kept, so memory does
/// not grow with their number.
///
/// The columns are described in columns.def.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "format/metrics.hpp"
#include "waits/call_bin.hpp"

namespace refrain::waits {

enum class Column : std::uint8_t {
#define WAIT_COLUMN(id, name, unit, reduction, help) id,
#include "waits/columns.def"
#undef WAIT_COLUMN
};
struct ColumnRow {
  const char* name;
  const char* unit;
  format::Reduction reduction;
  const char* help;
};
inline constexpr ColumnRow column_table[] = {
#define WAIT_COLUMN(id, name, unit, reduction, help) {name, unit, format::Reduction::reduction, help},
#include "waits/columns.def"
#undef WAIT_COLUMN
};
inline constexpr std::size_t column_count = sizeof column_table / sizeof *column_table;

/// The durations of some calls.
struct Durations {
  std::array<std::int64_t, column_count> values{};

  constexpr std::int64_t& operator[](Column column) { return values[static_cast<std::size_t>(column)]; }
  constexpr std::int64_t operator[](Column column) const { return values[static_cast<std::size_t>(column)]; }
  constexpr bool empty() const { return (*this)[Column::Calls] == 0; }

  /// Adds a call of `ticks`, or of `whole` ticks with interruptions. The cost of interruptions is an estimate and may
  /// be too large, so the shortest call is determined from whole durations. Async-signal-safe.
  void add_call(std::int64_t ticks, std::int64_t whole) {
    if (empty()) {
      values = {1, ticks, whole, whole, 1, whole};
      return;
    }
    std::int64_t& shortest = (*this)[Column::Shortest];
    std::int64_t& longest = (*this)[Column::Longest];
    ++(*this)[Column::Calls];
    (*this)[Column::Time] += ticks;
    if (whole < shortest) {
      if (whole <= 0) return;  // the clock was set back
      shortest = whole;
      forget_short_if_long();
    }
    longest = std::max(longest, whole);
    if (whole > short_limit(shortest)) return;
    ++(*this)[Column::ShortCalls];
    (*this)[Column::ShortTime] += whole;
  }
  /// Adds the durations of other calls.
  void add(const Durations& other);
  /// The shortest call has changed: short calls that are now too long on average are not counted as short any more.
  void forget_short_if_long() {
    if ((*this)[Column::ShortTime] > (*this)[Column::ShortCalls] * short_limit((*this)[Column::Shortest]))
      (*this)[Column::ShortCalls] = (*this)[Column::ShortTime] = 0;
  }

  /// The limit of short calls: a call that takes no longer may be communication alone. With cold caches a short call
  /// takes several times as long; calls that move much data vary by about a quarter. A nanosecond has 1 to 4 ticks.
  static constexpr std::int64_t short_limit(std::int64_t shortest) {
    constexpr std::int64_t cold = 12'000;
    return shortest + std::max(std::min(3 * shortest, cold), shortest / 4);
  }
};

/// A hash table of durations by call path and bin, in memory that the caller provides. One writer; nothing is
/// allocated.
class DurationTable {
 public:
  /// Two entries are as large as the two cache lines that a processor fetches together.
  struct alignas(64) Entry {
    std::uint32_t node;  ///< call path; 0: the entry is free
    CallBin bin;
    Durations durations;
    std::int64_t short_limit = 0;  ///< Durations::short_limit() of the shortest
  };
  static_assert(sizeof(Entry) == 64);

  /// Moves the table to `memory`, which has room for 2^bits entries, is aligned to their size and zero-filled.
  void move_to(std::byte* memory, unsigned bits);
  std::byte* memory() const { return reinterpret_cast<std::byte*>(entries()); }
  /// Binary logarithm of the number of entries; 0: the table has no memory.
  unsigned bits() const { return word_ == 0 ? 0 : 64 - shift(); }
  static constexpr std::size_t bytes(unsigned bits) { return sizeof(Entry) << bits; }
  std::span<const Entry> view() const {
    return bits() ? std::span(entries(), std::size_t{1} << bits()) : std::span<Entry>{};
  }

  /// Adds a call by the call path `node`, which is not 0. Returns false and adds nothing if the call is the shortest or
  /// the longest so far, or if its call path has no entry yet. Async-signal-safe.
  [[gnu::always_inline]] bool add_usual(std::uint32_t node, CallBin bin, std::int64_t ticks, std::int64_t whole) {
    if (word_ == 0) [[unlikely]]
      return false;
    Entry* at = first_slot(node, bin);
    while (at->node != node || at->bin != bin) [[unlikely]] {
        if (at->node == 0) return false;
        at = next_slot(at);
      }
    Durations& durations = at->durations;
    if (whole < durations[Column::Shortest] || whole > durations[Column::Longest]) [[unlikely]]
      return false;
    ++durations[Column::Calls];
    durations[Column::Time] += ticks;
    if (whole <= at->short_limit) [[likely]] {
      ++durations[Column::ShortCalls];
      durations[Column::ShortTime] += whole;
    }
    return true;
  }
  /// Adds any call. False: it has no entry yet, and nothing was added. Async-signal-safe.
  bool add(std::uint32_t node, CallBin bin, std::int64_t ticks, std::int64_t whole);
  /// Adds a call without an entry, and makes one. There must be fewer than max_entries().
  void add_entry(std::uint32_t node, CallBin bin, std::int64_t ticks, std::int64_t whole);
  /// A quarter stays free.
  std::size_t max_entries() const { return bits() == 0 ? 0 : (std::size_t{3} << bits()) / 4; }

 private:
  unsigned shift() const { return static_cast<unsigned>(word_ & (alignof(Entry) - 1)); }
  Entry* entries() const { return reinterpret_cast<Entry*>(word_ & ~std::uintptr_t{alignof(Entry) - 1}); }
  Entry* first_slot(std::uint32_t node, CallBin bin) const {
    const std::uint64_t key = node | static_cast<std::uint64_t>(bin.code()) << 32;
    return &entries()[(key * 0x9e3779b97f4a7c15u) >> shift()];
  }
  Entry* next_slot(const Entry* at) const {
    return &entries()[static_cast<std::size_t>(at + 1 - entries()) & ((std::size_t{1} << bits()) - 1)];
  }
  /// The entry of a call path and bin, or the free one where it belongs. There is always a free one.
  Entry* find(std::uint32_t node, CallBin bin) const;

  /// The address of the entries and, in its low bits, the shift that makes an index of a hash: one word, next to other
  /// members of the location that every call reads.
  std::uintptr_t word_ = 0;
};

}  // namespace refrain::waits
