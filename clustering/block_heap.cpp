#include "clustering/block_heap.hpp"

#include <bit>

namespace refrain::clustering {

std::size_t BlockHeap::rounded(std::size_t bytes) {
  if (bytes == 0) return 0;
  if (bytes <= smallest) return smallest;
  if (bytes > largest_shared) return (bytes + 4095) & ~std::size_t{4095};
  const std::size_t step = std::bit_floor(bytes - 1) / 4;
  return (bytes + step - 1) / step * step;
}

std::size_t BlockHeap::size_index(std::size_t rounded_bytes) {
  if (rounded_bytes == smallest) return 0;
  const std::size_t power = std::bit_floor(rounded_bytes - 1);  // 32, 64, ...
  const auto level = static_cast<std::size_t>(std::countr_zero(power)) - 5;
  return 4 * level + (rounded_bytes - power) / (power / 4);
}

std::byte* BlockHeap::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t size = rounded(bytes);
  if (size > largest_shared) {
    auto* block = static_cast<std::byte*>(platform::map_pages(size));
    if (!block) return nullptr;
    in_use_ += size;
    mapped_ += size;
    return block;
  }
  Free*& list = free_[size_index(size)];
  if (list) {
    auto* block = reinterpret_cast<std::byte*>(list);
    list = list->next;
    in_use_ += size;
    return block;
  }
  if (bump_left_ < size) {
    if (!chunks_.reserve(chunks_.size() + 1)) return nullptr;
    void* chunk = platform::map_pages(chunk_bytes);
    if (!chunk) return nullptr;
    (void)chunks_.push_back({chunk, chunk_bytes});
    mapped_ += chunk_bytes;
    bump_ = static_cast<std::byte*>(chunk);  // what was left of the old chunk stays unused: below one block's size
    bump_left_ = chunk_bytes;
  }
  std::byte* block = bump_;
  bump_ += size;
  bump_left_ -= size;
  in_use_ += size;
  return block;
}

void BlockHeap::free(std::byte* block, std::size_t bytes) {
  if (!block) return;
  const std::size_t size = rounded(bytes);
  in_use_ -= size;
  if (size > largest_shared) {
    mapped_ -= size;
    platform::unmap_pages(block, size);
    return;
  }
  auto* item = reinterpret_cast<Free*>(block);
  Free*& list = free_[size_index(size)];
  item->next = list;
  list = item;
}

void BlockHeap::release() {
  for (const Chunk& chunk : chunks_) platform::unmap_pages(chunk.address, chunk.bytes);
  chunks_.release();
  for (Free*& list : free_) list = nullptr;
  bump_ = nullptr;
  bump_left_ = in_use_ = mapped_ = 0;
}

}  // namespace refrain::clustering
