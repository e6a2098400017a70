#include "tests/unit/clustering/former/packed_table.hpp"

namespace refrain::clustering::former {

bool PackedTable::allocate(BlockHeap& heap, unsigned column_count, std::uint32_t row_capacity, const Widths& widths) {
  *this = PackedTable{};
  columns = static_cast<std::uint8_t>(column_count);
  capacity = row_capacity;
  std::memcpy(width, widths, sizeof width);
  std::uint8_t next = 0;
  for (std::uint8_t w = 8; w; w /= 2)
    for (unsigned c = 0; c < columns; ++c)
      if (width[c] == w) {
        before[c] = next;
        next = static_cast<std::uint8_t>(next + w);
      }
  const std::size_t wanted = bytes();
  data = heap.allocate(wanted);
  return data || wanted == 0;
}

void PackedTable::free(BlockHeap& heap) {
  heap.free(data, bytes());
  *this = PackedTable{};
}

void PackedTable::take_over(BlockHeap& heap, PackedTable& old) {
  rows = old.rows;
  for (unsigned c = 0; c < columns; ++c) {
    if (width[c] == 0) continue;
    with_width(
        width[c], data + offset(c),
        [&](auto* v) {
          using Stored = std::remove_cv_t<std::remove_pointer_t<decltype(v)>>;
          auto* out = const_cast<Stored*>(v);
          with_width(
              old.width[c], old.data + old.offset(c),
              [&](auto* from) {
                for (std::uint32_t i = 0; i < rows; ++i) out[i] = static_cast<Stored>(from[i]);
              },
              [&] { std::memset(out, 0, rows * sizeof *out); });
        },
        [] {});
  }
  old.free(heap);
}

}  // namespace refrain::clustering::former
