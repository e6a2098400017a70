#pragma once
/// How long calls have taken, by call path and bin (call_bin.hpp): what the waiting in them is told from (Mao et
/// al., section 3): calls are counted, their times added up, and the shortest is remembered. Nothing else is kept of a
/// call, so the memory does not grow with their number.
///
/// The facts of the columns are in columns.def.

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

/// Of some calls.
struct Durations {
  std::array<std::int64_t, column_count> values{};

  constexpr std::int64_t& operator[](Column column) { return values[static_cast<std::size_t>(column)]; }
  constexpr std::int64_t operator[](Column column) const { return values[static_cast<std::size_t>(column)]; }
  constexpr bool empty() const { return (*this)[Column::Calls] == 0; }

  /// A call of `ticks`, and of `whole` with what was taken off for interruptions: that is an estimate, which may be too
  /// much, so the shortest is one of the whole ones. Async-signal-safe.
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
  /// Other calls.
  void add(const Durations& other);
  /// Beside the shortest call, which is a new one.
  void forget_short_if_long() {
    if ((*this)[Column::ShortTime] > (*this)[Column::ShortCalls] * short_limit((*this)[Column::Shortest]))
      (*this)[Column::ShortCalls] = (*this)[Column::ShortTime] = 0;
  }

  /// What takes no longer may be communication alone. With cold caches a short call takes several times as long; where
  /// much is moved a quarter is as much as it varies. The clock has 1 to 4 ticks in a nanosecond.
  static constexpr std::int64_t short_limit(std::int64_t shortest) {
    constexpr std::int64_t cold = 12'000;
    return shortest + std::max(std::min(3 * shortest, cold), shortest / 4);
  }
};

/// A table of them, in memory that it is given. One writer; nothing is allocated.
class DurationTable {
 public:
  /// Two of them are as large as what a processor fetches at once.
  struct alignas(64) Entry {
    std::uint32_t node;  ///< call path, 0: free
    CallBin bin;
    Durations durations;
    std::int64_t short_limit = 0;  ///< Durations::short_limit() of the shortest
  };
  static_assert(sizeof(Entry) == 64);

  /// Memory for 2^bits entries, aligned to their size, zero-filled. What the table has so far is moved there.
  void move_to(std::byte* memory, unsigned bits);
  std::byte* memory() const { return reinterpret_cast<std::byte*>(entries()); }
  /// 0: it has no memory.
  unsigned bits() const { return word_ == 0 ? 0 : 64 - shift(); }
  static constexpr std::size_t bytes(unsigned bits) { return sizeof(Entry) << bits; }
  std::span<const Entry> view() const {
    return bits() ? std::span(entries(), std::size_t{1} << bits()) : std::span<Entry>{};
  }

  /// A call by the call path `node`, not 0, that is neither the shortest nor the longest so far. False: it is, or has
  /// no entry yet; nothing was added. Async-signal-safe.
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
  /// The same of any call. False: it has no entry yet. Async-signal-safe.
  bool add(std::uint32_t node, CallBin bin, std::int64_t ticks, std::int64_t whole);
  /// The same of a call that has none, which gets one. There must be fewer than max_entries().
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
  /// Its entry, or the free one where it belongs. There always is a free one.
  Entry* find(std::uint32_t node, CallBin bin) const;

  /// The address of the entries, and below it by how much a hash is shifted to be one of their numbers: one word beside
  /// what every call looks at.
  std::uintptr_t word_ = 0;
};

}  // namespace refrain::waits
