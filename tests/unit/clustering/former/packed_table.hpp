#pragma once
/// A table of 64-bit integers stored column by column, each column as wide as its largest value needs: 0, 1, 2, 4 or 8
/// bytes.
///
/// Exact: a value that does not fit makes its column wider first. Changing a table is done in two steps, so that
/// running out of memory in the middle leaves everything as it was: allocate() gets the memory, the writes that follow
/// cannot fail. The table does not own its block: the heap is handed in by the owner of many tables.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "clustering/types.hpp"
#include "tests/unit/clustering/former/block_heap.hpp"

namespace refrain::clustering::former {

/// By column: 0, 1, 2, 4 or 8 bytes; column 0 of a sparse table holds path ids.
using Widths = std::uint8_t[max_columns + 1];

inline std::uint8_t width_of(std::int64_t value) {
  if (value == 0) return 0;
  if (value == static_cast<std::int8_t>(value)) return 1;
  if (value == static_cast<std::int16_t>(value)) return 2;
  if (value == static_cast<std::int32_t>(value)) return 4;
  return 8;
}

/// Calls `body` with a typed pointer to a column of `width` bytes; a column of no bytes gives `empty()`.
template <class Body, class Empty>
inline auto with_width(std::uint8_t width, const std::byte* column, Body&& body, Empty&& empty) {
  switch (width) {
    case 1: return body(reinterpret_cast<const std::int8_t*>(column));
    case 2: return body(reinterpret_cast<const std::int16_t*>(column));
    case 4: return body(reinterpret_cast<const std::int32_t*>(column));
    case 8: return body(reinterpret_cast<const std::int64_t*>(column));
    default: return empty();
  }
}

struct PackedTable {
  std::byte* data = nullptr;
  std::uint32_t rows = 0;
  std::uint32_t capacity = 0;  ///< rows that there is room for
  std::uint8_t columns = 0;
  Widths width = {};
  Widths before = {};  ///< widths of the columns that lie before: columns lie widest first, so that each is aligned

  std::size_t bytes() const {
    std::size_t sum = 0;
    for (unsigned c = 0; c < columns; ++c) sum += width[c];
    return sum * capacity;
  }
  std::size_t offset(unsigned column) const { return std::size_t{before[column]} * capacity; }
  std::int64_t get(std::uint32_t row, unsigned column) const {
    return with_width(
        width[column], data + offset(column), [row](auto* v) -> std::int64_t { return v[row]; },
        []() -> std::int64_t { return 0; });
  }
  /// The value must fit.
  void set(std::uint32_t row, unsigned column, std::int64_t value) { write(column, row, &value, 1); }

  void read(unsigned column, std::int64_t* out) const {
    with_width(
        width[column], data + offset(column),
        [&](auto* v) {
          for (std::uint32_t i = 0; i < rows; ++i) out[i] = v[i];
        },
        [&] { std::memset(out, 0, rows * sizeof *out); });
  }
  /// Writes `count` values from row `first` on. They must fit.
  void write(unsigned column, std::uint32_t first, const std::int64_t* values, std::uint32_t count) {
    with_width(
        width[column], data + offset(column),
        [&](auto* v) {
          using Stored = std::remove_cv_t<std::remove_pointer_t<decltype(v)>>;
          auto* out = const_cast<Stored*>(v) + first;
          for (std::uint32_t i = 0; i < count; ++i) out[i] = static_cast<Stored>(values[i]);
        },
        [] {});
  }

  /// An empty table of the given layout in fresh memory. False: there is none.
  [[nodiscard]] bool allocate(BlockHeap& heap, unsigned column_count, std::uint32_t row_capacity, const Widths& widths);
  void free(BlockHeap& heap);
  /// Takes the place of `old`: copies its rows, with its widths or wider ones, and frees it.
  void take_over(BlockHeap& heap, PackedTable& old);
};

}  // namespace refrain::clustering::former
