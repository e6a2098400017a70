#pragma once
/// Holds the data of a record while it is made. Data never move, so they can be pointed to at once.
///
/// Memory: own pages, freed together. Used by one thread at a time. Errors: failed().

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "platform/pages.hpp"

namespace refrain::record {

class Copies {
 public:
  Copies() = default;
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  ~Copies() {
    for (const Chunk& chunk : chunks_) platform::unmap_pages(chunk.begin, chunk.size);
  }

  /// Room for `count` items, filled with zero bytes. Null: no memory, or `count` is 0.
  template <class T>
  T* room(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    return count == 0 ? nullptr : reinterpret_cast<T*>(take(count * sizeof(T), alignof(T)));
  }
  /// A copy of `items`. Empty: no memory, or there is nothing to copy.
  template <class T>
  std::span<const T> of(std::span<const T> items) {
    T* const to = room<T>(items.size());
    if (!to) return {};
    std::memcpy(static_cast<void*>(to), items.data(), items.size_bytes());
    return {to, items.size()};
  }
  /// Whether memory ran out for any of them.
  bool failed() const { return failed_; }

 private:
  struct Chunk {
    std::byte* begin;
    std::size_t size;
  };
  static constexpr std::size_t usual_chunk = std::size_t{256} << 10;

  std::byte* take(std::size_t bytes, std::size_t alignment) {
    std::size_t gap = -reinterpret_cast<std::uintptr_t>(next_) & (alignment - 1);
    if (gap + bytes > left_) {
      const std::size_t size = std::max(bytes, usual_chunk);
      auto* const begin = static_cast<std::byte*>(platform::map_pages(size));
      if (!begin || !chunks_.push_back({begin, size})) {
        if (begin) platform::unmap_pages(begin, size);
        failed_ = true;
        return nullptr;
      }
      next_ = begin;
      left_ = size;
      gap = 0;
    }
    next_ += gap;
    left_ -= gap + bytes;
    return std::exchange(next_, next_ + bytes);
  }

  platform::GrowableArray<Chunk> chunks_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
  bool failed_ = false;
};

}  // namespace refrain::record
