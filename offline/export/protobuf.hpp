#pragma once
/// Messages of Protocol Buffers, written field by field (protobuf.dev, "Encoding"): as much as two formats need.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace refrain::exports {

class ProtoMessage {
 public:
  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

  /// Of types int64, uint64, int32, uint32, enum. Fields of value 0 are written, too.
  void integer(std::uint32_t field, std::int64_t value) {
    tag(field, Wire::Varint);
    varint(static_cast<std::uint64_t>(value));
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    tag(field, Wire::Fixed64);
    for (unsigned byte = 0; byte < sizeof value; ++byte) bytes_ += static_cast<char>(value >> (8 * byte));
  }
  /// Of types string, which must be UTF-8, and bytes.
  void text(std::uint32_t field, std::string_view value) {
    tag(field, Wire::Length);
    varint(value.size());
    bytes_ += value;
  }
  void message(std::uint32_t field, const ProtoMessage& value) { text(field, value.bytes_); }
  /// A repeated field of integers.
  template <class Integer>
  void packed(std::uint32_t field, std::span<const Integer> values) {
    ProtoMessage inside;
    for (const Integer value : values) inside.varint(static_cast<std::uint64_t>(value));
    message(field, inside);
  }

 private:
  enum class Wire : std::uint8_t { Varint = 0, Fixed64 = 1, Length = 2 };
  void tag(std::uint32_t field, Wire wire) { varint((std::uint64_t{field} << 3) | static_cast<std::uint64_t>(wire)); }
  void varint(std::uint64_t value) {
    constexpr std::uint64_t more = 0x80;
    for (; value >= more; value >>= 7) bytes_ += static_cast<char>((value & (more - 1)) | more);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace refrain::exports
