#pragma once
/// Memory of the runtime half: anonymous pages straight from the kernel, so that the program's malloc is never entered.
///
/// Thread safety: the functions are re-entrant; a GrowableArray belongs to one thread at a time.
/// Errors: a null pointer or `false`; nothing here throws or aborts.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace refrain::platform {

/// Maps `bytes` of zero-filled pages, reserved but not committed. Null: the kernel refuses. They are small pages: a
/// huge page would be zeroed and become resident at the first byte that is touched.
void* map_pages(std::size_t bytes);
/// Reserves address space that cannot be touched before it is opened (OpenedPart). Null: the kernel refuses.
void* reserve_pages(std::size_t bytes);
void unmap_pages(void* address, std::size_t bytes);
/// Grows a mapping, which may move. Null: the kernel refuses, and the old mapping stays.
void* remap_pages(void* address, std::size_t old_bytes, std::size_t new_bytes);

/// A part of reserved pages that is opened from its begin on as it is needed. Pages that are only mapped become
/// resident all at once if the program locks its memory (mlockall); pages that are not open never do. Belongs to one
/// thread at a time.
class OpenedPart {
 public:
  OpenedPart() = default;
  /// Nothing is open yet. The last page of a part may be the first one of the next.
  OpenedPart(void* begin, void* end) : opened_(static_cast<std::byte*>(begin)), end_(static_cast<std::byte*>(end)) {}

  /// Makes everything below `end` usable; what was never touched is zero. False: the kernel refuses, and what was
  /// usable before stays so. Async-signal-safe.
  [[nodiscard]] bool reach(const void* end) { return end <= opened_ || open(static_cast<const std::byte*>(end)); }

 private:
  bool open(const std::byte* end);

  std::byte* opened_ = nullptr;
  std::byte* end_ = nullptr;
};

/// Makes an object on pages of its own, value-initialised. Null: no memory.
template <class T>
T* make_on_pages() {
  void* memory = map_pages(sizeof(T));
  return memory ? new (memory) T{} : nullptr;
}
template <class T>
void unmake_on_pages(T* object) {
  if (!object) return;
  object->~T();
  unmap_pages(object, sizeof(T));
}

/// A vector of trivially copyable items on mapped pages. Not for handlers: growing calls the kernel.
template <class T>
class GrowableArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowableArray() = default;
  GrowableArray(const GrowableArray&) = delete;
  GrowableArray& operator=(const GrowableArray&) = delete;
  GrowableArray(GrowableArray&& other) noexcept { swap(other); }
  GrowableArray& operator=(GrowableArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowableArray() { release(); }

  [[nodiscard]] bool reserve(std::size_t count) {
    if (count <= capacity_) return true;
    std::size_t wanted = capacity_ ? capacity_ * 2 * sizeof(T) : 4096;
    if (wanted < count * sizeof(T)) wanted = count * sizeof(T);
    wanted = (wanted + 4095) & ~std::size_t{4095};
    void* grown = data_ ? remap_pages(data_, mapped_, wanted) : map_pages(wanted);
    if (!grown) return false;
    data_ = static_cast<T*>(grown);
    mapped_ = wanted;
    capacity_ = wanted / sizeof(T);
    return true;
  }
  [[nodiscard]] bool push_back(const T& item) {
    if (size_ == capacity_) {
      const T copy = item;  // `item` may lie inside this array
      if (!reserve(size_ + 1)) return false;
      data_[size_++] = copy;
      return true;
    }
    data_[size_++] = item;
    return true;
  }
  [[nodiscard]] bool append(const T* items, std::size_t count) {
    if (!reserve(size_ + count)) return false;
    if (count) std::memcpy(static_cast<void*>(data_ + size_), items, count * sizeof(T));
    size_ += count;
    return true;
  }
  /// New items are zero bytes.
  [[nodiscard]] bool resize(std::size_t count) {
    if (!reserve(count)) return false;
    if (count > size_) std::memset(static_cast<void*>(data_ + size_), 0, (count - size_) * sizeof(T));
    size_ = count;
    return true;
  }
  void clear() { size_ = 0; }
  void release() {
    if (data_) unmap_pages(data_, mapped_);
    data_ = nullptr;
    size_ = capacity_ = mapped_ = 0;
  }
  void swap(GrowableArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(mapped_, other.mapped_);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& back() { return data_[size_ - 1]; }
  std::span<const T> view() const { return {data_, size_}; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t mapped_ = 0;
};

using Bytes = GrowableArray<std::byte>;

/// A static object that stays usable to the very end of the process, because exit() does not destroy it. For types
/// whose empty state is all zero bytes, like GrowableArray.
template <class T>
class NeverDestroyed {
 public:
  T& get() { return *reinterpret_cast<T*>(storage_); }

 private:
  alignas(T) std::byte storage_[sizeof(T)]{};
};

}  // namespace refrain::platform
