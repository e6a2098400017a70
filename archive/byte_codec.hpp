#pragma once
/// Integers and texts as bytes, for both halves: little endian where the width is fixed, LEB128 where it is not
/// (signed values zigzag-coded). No exceptions: an Encoder that has no memory and a ByteCursor that has run over the
/// end or met a malformed number remember it, and are asked once at the end.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "platform/pages.hpp"

namespace refrain::archive {

template <class T>
void store_little_endian(std::byte* at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    at[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i);
}

template <class T>
T load_little_endian(const std::byte* at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<std::uint64_t>(at[i]) << 8 * i;
  return static_cast<T>(value);
}

/// Appends to an array of mapped pages.
class Encoder {
 public:
  explicit Encoder(platform::Bytes& out) : out_(out) {}

  void raw(const void* data, std::size_t size) {
    if (!out_.append(static_cast<const std::byte*>(data), size)) failed_ = true;
  }
  template <class T>
  void fixed(T value) {
    std::byte bytes[sizeof(T)];
    store_little_endian(bytes, value);
    raw(bytes, sizeof bytes);
  }
  void varint(std::uint64_t value) {
    std::byte bytes[10];
    std::size_t n = 0;
    while (value >= 0x80) {
      bytes[n++] = static_cast<std::byte>(value | 0x80);
      value >>= 7;
    }
    bytes[n++] = static_cast<std::byte>(value);
    raw(bytes, n);
  }
  void signed_varint(std::int64_t value) {
    varint(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void real(double value) { fixed(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    varint(value.size());
    raw(value.data(), value.size());
  }
  bool failed() const { return failed_; }

 private:
  platform::Bytes& out_;
  bool failed_ = false;
};

/// Reads what an Encoder wrote. After a failure every read gives zero.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> raw(std::size_t size) {
    if (failed_ || size > remaining()) return fail(), std::span<const std::byte>{};
    position_ += size;
    return {bytes_.data() + position_ - size, size};
  }
  template <class T>
  T fixed() {
    const auto bytes = raw(sizeof(T));
    return bytes.empty() ? T{} : load_little_endian<T>(bytes.data());
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !failed_ && position_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<std::uint64_t>(bytes_[position_]);
      if (shift == 63 && byte > 1) break;
      ++position_;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return fail(), 0;
  }
  std::int64_t signed_varint() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
  }
  double real() { return std::bit_cast<double>(fixed<std::uint64_t>()); }
  std::string_view text() {
    const auto bytes = raw(varint());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// A number of items that follow, each of at least `item_size` bytes: more than can follow is a failure, so that
  /// nobody reserves memory for a corrupt count.
  std::size_t count(std::size_t item_size) {
    const std::uint64_t items = varint();
    if (items > remaining() / item_size) return fail(), 0;
    return items;
  }
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }
  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  bool failed_ = false;
};

}  // namespace refrain::archive
