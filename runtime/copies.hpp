#pragma once
/// Copies of what other threads go on changing, for a record that is written when they do.
///
/// Memory: pages of its own, given back together. Belongs to one thread at a time. Errors: failed().

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "platform/pages.hpp"

namespace refrain::runtime {

class Copies {
 public:
  Copies() = default;
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  ~Copies() {
    for (const Chunk& chunk : chunks_) platform::unmap_pages(chunk.begin, chunk.size);
  }

  /// A copy that stays where it is. Empty: no memory, or there is nothing to copy.
  template <class T>
  std::span<const T> of(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= alignment);
    if (items.empty()) return {};
    std::byte* const to = take(items.size_bytes());
    if (!to) return {};
    std::memcpy(static_cast<void*>(to), items.data(), items.size_bytes());
    return {reinterpret_cast<const T*>(to), items.size()};
  }
  /// Whether there was no memory for one of them.
  bool failed() const { return failed_; }

 private:
  struct Chunk {
    std::byte* begin;
    std::size_t size;
  };
  static constexpr std::size_t alignment = 16, usual_chunk = std::size_t{256} << 10;

  std::byte* take(std::size_t bytes) {
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (bytes > left_) {
      const std::size_t size = std::max(bytes, usual_chunk);
      auto* const begin = static_cast<std::byte*>(platform::map_pages(size));
      if (!begin || !chunks_.push_back({begin, size})) {
        if (begin) platform::unmap_pages(begin, size);
        failed_ = true;
        return nullptr;
      }
      next_ = begin;
      left_ = size;
    }
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }

  platform::GrowableArray<Chunk> chunks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  bool failed_ = false;
};

}  // namespace refrain::runtime
