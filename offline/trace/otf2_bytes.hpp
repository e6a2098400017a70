#pragma once
/// The encoding of OTF2's files, as written by libotf2 3 and all before it: numbers are preceded by their size, and so
/// are records, so that a reader can skip what it does not know.
///
/// Archives are read without libotf2, because it trusts their contents: with a damaged count it reads beyond its
/// memory, it keeps a whole chunk (1 MiB, up to 16) and a descriptor open for each location, and a damaged number may
/// keep it busy for ever.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace refrain::trace {

/// The first byte of a record that is neither an event nor a definition.
enum Otf2Marker : std::uint8_t {
  otf2_end_of_chunk = 0,
  otf2_end_of_buffer = 1,
  otf2_end_of_file = 2,
  otf2_chunk_header = 3,
  otf2_timestamp = 5,
  otf2_attributes = 6,
};
inline constexpr std::uint8_t otf2_little_endian = 0x42, otf2_big_endian = 0x23;

/// Bytes that are read one number after the other. Beyond the end every number is 0, and is_good() is false.
class Otf2Bytes {
 public:
  Otf2Bytes() = default;
  /// `is_foreign`: of the other endianness.
  Otf2Bytes(const std::byte* begin, const std::byte* end, bool is_foreign)
      : at_(begin), end_(end), is_foreign_(is_foreign) {}
  Otf2Bytes(std::span<const std::byte> bytes, bool is_foreign)
      : Otf2Bytes(bytes.data(), bytes.data() + bytes.size(), is_foreign) {}

  /// Bytes that could not be read.
  static Otf2Bytes bad() {
    Otf2Bytes none;
    none.is_good_ = false;
    return none;
  }

  bool is_good() const { return is_good_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  const std::byte* at() const { return at_; }
  bool is_foreign() const { return is_foreign_; }

  std::uint8_t u8() { return has(1) ? std::to_integer<std::uint8_t>(*at_++) : std::uint8_t{0}; }
  std::uint64_t full64() {
    std::uint64_t value = 0;
    if (!has(8)) return 0;
    std::memcpy(&value, at_, 8);
    at_ += 8;
    return is_foreign_ ? swapped(value) : value;
  }
  double full_double() { return std::bit_cast<double>(full64()); }
  std::uint32_t u32() {
    const std::uint64_t value = u64();
    return value == ~std::uint64_t{0} ? ~std::uint32_t{0} : static_cast<std::uint32_t>(value);
  }
  /// A byte with the size, followed by so many bytes; size 255: all bits are set.
  std::uint64_t u64() {
    const std::uint8_t size = u8();
    if (size == 0) return 0;
    if (size == 0xff) return ~std::uint64_t{0};
    if (size > 8 || !has(size)) {
      is_good_ = false;
      return 0;
    }
    std::uint64_t value = 0;
    if (!is_foreign_) {
      std::memcpy(&value, at_, size);
    } else {
      for (std::uint8_t i = 0; i < size; ++i) value = value << 8 | std::to_integer<std::uint64_t>(at_[i]);
    }
    at_ += size;
    return value;
  }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  std::string text() {
    const void* end = at_ == end_ ? nullptr : std::memchr(at_, 0, left());
    if (!end) {
      is_good_ = false;
      return {};
    }
    std::string value(reinterpret_cast<const char*>(at_));
    at_ += value.size() + 1;
    return value;
  }
  /// The next `size` bytes on their own.
  Otf2Bytes part(std::uint64_t size) {
    if (!has(size)) return bad();
    const std::byte* begin = at_;
    at_ += size;
    return {begin, at_, is_foreign_};
  }

 private:
  bool has(std::uint64_t size) {
    if (size <= left()) [[likely]]
      return true;
    is_good_ = false;
    at_ = end_;
    return false;
  }
  static std::uint64_t swapped(std::uint64_t value) { return __builtin_bswap64(value); }

  const std::byte *at_ = nullptr, *end_ = nullptr;
  bool is_foreign_ = false, is_good_ = true;
};

/// Whether files with that mark need their bytes swapped; `is_known`: whether it is a mark of endianness.
inline bool is_foreign_endianness(std::uint8_t mark, bool& is_known) {
  is_known = mark == otf2_little_endian || mark == otf2_big_endian;
  return (mark == otf2_little_endian) != (std::endian::native == std::endian::little);
}

}  // namespace refrain::trace
