#pragma once
/// Encodes integers and texts as bytes, for both halves: little endian where the width is fixed, LEB128 where it is not
/// (signed values zigzag-coded). No exceptions: a ByteCursor remembers that it has run over the end or met a malformed
/// number, and is asked once at the end. The writer's side is record/encoder.hpp.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace refrain::format {

template <class T>
void store_little_endian(std::byte* at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    at[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> 8 * i);
}

template <class T>
T load_little_endian(const std::byte* at) {
  if constexpr (std::endian::native == std::endian::little) {  // not every compiler turns the loop into one load
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<std::uint64_t>(at[i]) << 8 * i;
  return static_cast<T>(value);
}

/// Arithmetic modulo 2^64, so that any two numbers have a sum and a difference. Files may contain any numbers.
inline std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

/// Maps small numbers of either sign to small unsigned numbers.
inline std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::int64_t unzigzag(std::uint64_t value) { return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1))); }

inline constexpr std::size_t longest_varint = 10;

/// Writes at most `longest_varint` bytes. Returns how many.
inline std::size_t put_varint(std::byte* out, std::uint64_t value) {
  std::size_t n = 0;
  for (; value >= 0x80; value >>= 7) out[n++] = static_cast<std::byte>(value | 0x80);
  out[n++] = static_cast<std::byte>(value);
  return n;
}

/// Joins the groups of seven bits in eight bytes into one number: first pairs of groups, then fours and eights.
inline std::uint64_t joined_groups(std::uint64_t bytes) {
  bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x7f007f007f007f00) >> 1;
  bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x3fff00003fff0000) >> 2;
  return (bytes & 0x0fffffff) | (bytes & 0x0fffffff00000000) >> 4;
}

/// Moves `at` past the varint there. False: there is none, or it has more than 64 bits; `at` has moved nevertheless.
inline bool take_varint(std::span<const std::byte> in, std::size_t& at, std::uint64_t& out) {
  if (in.size() >= sizeof out && at <= in.size() - sizeof out) {  // nearly all end within eight bytes
    const auto bytes = load_little_endian<std::uint64_t>(in.data() + at);
    if (const std::uint64_t ends = ~bytes & 0x8080808080808080; ends != 0) {
      at += static_cast<std::size_t>(std::countr_zero(ends)) / 8 + 1;
      out = joined_groups(bytes & (ends ^ (ends - 1)));
      return true;
    }
  }
  out = 0;
  for (unsigned shift = 0; shift < 64 && at < in.size(); shift += 7) {
    const auto byte = static_cast<std::uint64_t>(in[at++]);
    if (shift == 63 && byte > 1) return false;
    out |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

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
    constexpr std::byte longer{0x80};
    if (!failed_ && position_ < bytes_.size() && bytes_[position_] < longer)  // most take one byte
      return static_cast<std::uint64_t>(bytes_[position_++]);
    std::uint64_t value = 0;
    if (!failed_ && take_varint(bytes_, position_, value)) return value;
    return fail(), 0;
  }
  std::int64_t signed_varint() { return unzigzag(varint()); }
  double real() { return std::bit_cast<double>(fixed<std::uint64_t>()); }
  std::string_view text() {
    const auto bytes = raw(varint());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Reads the number of items that follow, of at least `item_size` bytes each. A number that is too large for the
  /// remaining bytes is a failure, so that nobody reserves memory for a corrupt count.
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

}  // namespace refrain::format
