#pragma once
/// An array that one thread at a time appends to, under the owner's lock, while others read the existing items.
///
/// Items never move: room for all of them is reserved with the first one, as pages that are not committed. Readers see
/// each item complete as it was added. Later changes by the owner may become visible in any order.

#include <atomic>
#include <cstddef>
#include <span>

#include "platform/pages.hpp"

namespace refrain::adapters::mpi {

template <class T, std::size_t most>
class PublishedArray {
 public:
  bool is_full() const { return items_.size() == most; }
  [[nodiscard]] bool reserve_one() { return !is_full() && items_.reserve(most); }
  /// Call it only after reserve_one() has returned true.
  void push_back(const T& item) {
    (void)items_.push_back(item);
    published_.store(items_.size(), std::memory_order_release);
  }
  std::size_t size() const { return items_.size(); }
  T& operator[](std::size_t i) { return items_[i]; }
  T& back() { return items_.back(); }

  /// For readers without the lock.
  std::span<const T> view() const {
    const std::size_t count = published_.load(std::memory_order_acquire);
    return count ? std::span{items_.data(), count} : std::span<const T>{};
  }

 private:
  platform::GrowableArray<T> items_;
  std::atomic<std::size_t> published_{0};
};

}  // namespace refrain::adapters::mpi
