#pragma once
/// Blocks of any size on mapped pages: the memory of cluster rows, which change their size as widths and path sets
/// grow.
///
/// Good fit with boundary tags: free neighbours become one block, so that memory stays flat however often rows change
/// their size. Large blocks have pages of their own. Thread safety: none, one heap per clusterer. Errors: a null
/// pointer.

#include <cstddef>
#include <cstdint>

#include "platform/pages.hpp"

namespace refrain::clustering::former {

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

  std::size_t bytes_in_use() const { return in_use_; }  ///< after rounding, with what a block costs beside
  std::size_t bytes_mapped() const { return mapped_; }
  static std::size_t rounded(std::size_t bytes);

 private:
  struct Chunk {
    void* address;
    std::size_t bytes;
  };
  /// Before every block. A size of 0 ends the chunk.
  struct Tag {
    std::uint32_t size;         ///< with the tag, a multiple of 16; lowest bit: in use
    std::uint32_t size_before;  ///< of the block that lies before, 0: none
  };
  struct Free {
    Free *next, *previous;
  };
  static constexpr std::size_t smallest = 32, largest_shared = 16384, chunk_bytes = 65536;
  static constexpr std::size_t bin_count = 64;

  static std::size_t bin_below(std::size_t size);
  static Tag* tag_of(void* block) { return reinterpret_cast<Tag*>(static_cast<std::byte*>(block) - sizeof(Tag)); }
  static Free* links_of(Tag* tag) { return reinterpret_cast<Free*>(tag + 1); }
  static Tag* after(Tag* tag, std::size_t size) {
    return reinterpret_cast<Tag*>(reinterpret_cast<std::byte*>(tag) + size);
  }
  void insert(Tag* tag, std::size_t size);
  void remove(Tag* tag);
  bool add_chunk();
  bool give_back(std::byte* address);

  platform::GrowableArray<Chunk> chunks_;
  Free* bins_[bin_count] = {};
  std::uint64_t filled_ = 0;  ///< bins that are not empty
  bool empty_chunk_ = false;  ///< a chunk has no block
  std::size_t in_use_ = 0, mapped_ = 0;
};

}  // namespace refrain::clustering::former
