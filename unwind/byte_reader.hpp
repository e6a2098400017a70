#pragma once
/// Reads the encodings of .eh_frame from a range of memory. A read past the end yields zeros and clears `ok`; memory
/// outside of the range is never touched. Async-signal-safe.

#include <cstdint>
#include <cstring>

namespace refrain::unwind {

class ByteReader {
 public:
  ByteReader(std::uintptr_t begin, std::uintptr_t end) : at_(begin), end_(end > begin ? end : begin) {}

  bool ok() const { return ok_; }
  bool has_more() const { return ok_ && at_ < end_; }
  std::uintptr_t position() const { return at_; }
  std::uintptr_t end() const { return end_; }

  template <class T>
  T fixed() {
    T value{};
    if (end_ - at_ < sizeof(T)) return fail<T>();
    std::memcpy(&value, reinterpret_cast<const void*>(at_), sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80)) return value;
    }
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      shift += 7;
      if (byte & 0x80) continue;
      if (shift < 64 && (byte & 0x40)) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }
  void skip(std::uint64_t bytes) {
    if (bytes > end_ - at_) {
      fail<char>();
      return;
    }
    at_ += bytes;
  }

 private:
  template <class T>
  T fail() {
    ok_ = false;
    at_ = end_;
    return T{};
  }

  std::uintptr_t at_;
  std::uintptr_t end_;
  bool ok_ = true;
};

}  // namespace refrain::unwind
