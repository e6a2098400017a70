#pragma once
/// Blocks of any size on mapped pages: the memory of cluster rows, which change their size as widths and path sets
/// grow.
///
/// Sizes are rounded up to one of four steps per power of two; freed blocks are kept per size and given out again.
/// Thread safety: none, one heap per location. Errors: a null pointer.

#include <cstddef>
#include <cstdint>

#include "platform/pages.hpp"

namespace refrain::clustering {

class BlockHeap {
 public:
  BlockHeap() = default;
  BlockHeap(const BlockHeap&) = delete;
  BlockHeap& operator=(const BlockHeap&) = delete;
  ~BlockHeap() { release(); }

  /// At least `bytes` bytes, aligned to 8, not cleared. Zero bytes: null.
  std::byte* allocate(std::size_t bytes);
  /// `bytes` as it was asked for.
  void free(std::byte* block, std::size_t bytes);
  void release();

  std::size_t bytes_in_use() const { return in_use_; }  ///< after rounding
  std::size_t bytes_mapped() const { return mapped_; }
  static std::size_t rounded(std::size_t bytes);

 private:
  struct Chunk {
    void* address;
    std::size_t bytes;
  };
  struct Free {
    Free* next;
  };
  static constexpr std::size_t smallest = 32, largest_shared = 32768, chunk_bytes = 65536;
  static constexpr std::size_t size_count = 4 * 10 + 1;
  static std::size_t size_index(std::size_t rounded_bytes);

  platform::GrowableArray<Chunk> chunks_;
  Free* free_[size_count] = {};
  std::byte* bump_ = nullptr;
  std::size_t bump_left_ = 0;
  std::size_t in_use_ = 0, mapped_ = 0;
};

}  // namespace refrain::clustering
