#include "tests/unit/clustering/former/block_heap.hpp"

#include <bit>

namespace refrain::clustering::former {

std::size_t BlockHeap::rounded(std::size_t bytes) {
  if (bytes == 0) return 0;
  if (bytes > largest_shared) return (bytes + 4095) & ~std::size_t{4095};
  const std::size_t size = (bytes + sizeof(Tag) + 15) & ~std::size_t{15};
  return size < smallest ? smallest : size;
}

/// Four bins per power of two; the bin's least size is at most `size`.
std::size_t BlockHeap::bin_below(std::size_t size) {
  const auto power = static_cast<std::size_t>(std::bit_width(size) - 1);
  return 4 * (power - 5) + (size >> (power - 2) & 3);
}

void BlockHeap::insert(Tag* tag, std::size_t size) {
  const std::size_t bin = bin_below(size);
  Free* links = links_of(tag);
  *links = {bins_[bin], nullptr};
  if (bins_[bin]) bins_[bin]->previous = links;
  bins_[bin] = links;
  filled_ |= std::uint64_t{1} << bin;
  tag->size = static_cast<std::uint32_t>(size);
  after(tag, size)->size_before = tag->size;
}

void BlockHeap::remove(Tag* tag) {
  Free* links = links_of(tag);
  const std::size_t bin = bin_below(tag->size);
  if (links->next) links->next->previous = links->previous;
  if (links->previous) links->previous->next = links->next;
  else bins_[bin] = links->next;
  if (!bins_[bin]) filled_ &= ~(std::uint64_t{1} << bin);
}

bool BlockHeap::add_chunk() {
  if (!chunks_.reserve(chunks_.size() + 1)) return false;
  void* chunk = platform::map_pages(chunk_bytes);
  if (!chunk) return false;
  (void)chunks_.push_back({chunk, chunk_bytes});
  mapped_ += chunk_bytes;
  // The first tag lies 8 bytes in, so that sizes are multiples of 16 and a tag of size 0 fits at the end.
  auto* tag = reinterpret_cast<Tag*>(static_cast<std::byte*>(chunk) + 8);
  const std::size_t size = chunk_bytes - 16;
  tag->size_before = 0;
  after(tag, size)->size = 1;  // the end: never free
  insert(tag, size);
  empty_chunk_ = true;
  return true;
}

std::byte* BlockHeap::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::size_t size = rounded(bytes);
  if (bytes > largest_shared) {
    auto* block = static_cast<std::byte*>(platform::map_pages(size));
    if (!block) return nullptr;
    in_use_ += size;
    mapped_ += size;
    return block;
  }
  // Every block of the next bin is large enough; in the own bin the first one may be.
  std::size_t bin = bin_below(size);
  if (!bins_[bin] || tag_of(bins_[bin])->size < size) {
    std::uint64_t larger = filled_ >> bin >> 1;
    if (!larger) {
      if (!add_chunk()) return nullptr;
      larger = filled_ >> bin >> 1;
    }
    bin += 1 + static_cast<std::size_t>(std::countr_zero(larger));
  }
  Tag* tag = tag_of(bins_[bin]);
  const std::size_t found = tag->size;
  if (found == chunk_bytes - 16) empty_chunk_ = false;
  remove(tag);
  std::size_t taken = found;
  if (found - size >= smallest) {
    taken = size;
    Tag* rest = after(tag, size);
    rest->size_before = static_cast<std::uint32_t>(size);
    insert(rest, found - size);
  }
  tag->size = static_cast<std::uint32_t>(taken) | 1;
  in_use_ += taken;
  return reinterpret_cast<std::byte*>(tag + 1);
}

void BlockHeap::free(std::byte* block, std::size_t bytes) {
  if (!block) return;
  if (bytes > largest_shared) {
    const std::size_t size = rounded(bytes);
    in_use_ -= size;
    mapped_ -= size;
    platform::unmap_pages(block, size);
    return;
  }
  Tag* tag = tag_of(block);
  std::size_t size = tag->size & ~std::uint32_t{1};
  in_use_ -= size;
  Tag* behind = after(tag, size);
  if (!(behind->size & 1)) {
    remove(behind);
    size += behind->size;
  }
  if (tag->size_before) {
    auto* front = reinterpret_cast<Tag*>(reinterpret_cast<std::byte*>(tag) - tag->size_before);
    if (!(front->size & 1)) {
      remove(front);
      size += front->size;
      tag = front;
    }
  }
  // A chunk without any block goes back to the system, but for one, which the next block may need.
  if (size == chunk_bytes - 16) {
    if (empty_chunk_ && give_back(reinterpret_cast<std::byte*>(tag) - 8)) return;
    empty_chunk_ = true;
  }
  insert(tag, size);
}

bool BlockHeap::give_back(std::byte* address) {
  for (Chunk& chunk : chunks_)
    if (chunk.address == address) {
      platform::unmap_pages(chunk.address, chunk.bytes);
      mapped_ -= chunk.bytes;
      chunk = chunks_.back();
      (void)chunks_.resize(chunks_.size() - 1);
      return true;
    }
  return false;
}

void BlockHeap::release() {
  for (const Chunk& chunk : chunks_) platform::unmap_pages(chunk.address, chunk.bytes);
  chunks_.release();
  for (Free*& bin : bins_) bin = nullptr;
  filled_ = 0;
  empty_chunk_ = false;
  in_use_ = mapped_ = 0;
}

}  // namespace refrain::clustering::former
