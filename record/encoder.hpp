#pragma once
/// Writes integers and texts in the encodings of format/bytes.hpp. An Encoder remembers that memory ran out and is
/// asked once at the end, so functions that write to one need not report it.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "format/bytes.hpp"
#include "platform/pages.hpp"

namespace refrain::record {

/// Appends to an array of mapped pages.
class Encoder {
 public:
  explicit Encoder(platform::Bytes& out) : out_(out) {}

  void raw(const void* data, std::size_t size) {
    if (!out_.append(static_cast<const std::byte*>(data), size)) fail();
  }
  template <class T>
  void fixed(T value) {
    std::byte bytes[sizeof(T)];
    format::store_little_endian(bytes, value);
    raw(bytes, sizeof bytes);
  }
  void varint(std::uint64_t value) {
    std::byte bytes[format::longest_varint];
    raw(bytes, format::put_varint(bytes, value));
  }
  void signed_varint(std::int64_t value) { varint(format::zigzag(value)); }
  void real(double value) { fixed(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) {
    varint(value.size());
    raw(value.data(), value.size());
  }
  /// Marks the output as failed, because memory ran out.
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }

 private:
  platform::Bytes& out_;
  bool failed_ = false;
};

}  // namespace refrain::record
