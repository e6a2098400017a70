#pragma once
/// Writes Protocol Buffers messages field by field (protobuf.dev, "Encoding"); only what two formats need.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace refrain::exports {

class ProtoMessage {
 public:
  /// Valid until the message changes.
  std::string_view bytes() const { return {bytes_.data(), size_}; }
  void clear() { size_ = 0; }

  /// A field of type int64, uint64, int32, uint32 or enum. A value of 0 is written, too.
  void integer(std::uint32_t field, std::int64_t value) {
    char* const begin = room(2 * longest_varint);
    end(put(put(begin, tag(field, Wire::Varint)), static_cast<std::uint64_t>(value)));
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    char* at = put(room(longest_varint + sizeof value), tag(field, Wire::Fixed64));
    for (unsigned byte = 0; byte < sizeof value; ++byte) *at++ = static_cast<char>(value >> (8 * byte));
    end(at);
  }
  /// A field of type string, which must be UTF-8, or bytes.
  void text(std::uint32_t field, std::string_view value) {
    head(field, value.size());
    append(value);
  }
  void message(std::uint32_t field, const ProtoMessage& value) { text(field, value.bytes()); }
  /// Tag and length of a message of `bytes` bytes, which follow elsewhere.
  void head(std::uint32_t field, std::size_t bytes) {
    char* const begin = room(2 * longest_varint);
    end(put(put(begin, tag(field, Wire::Length)), bytes));
  }
  /// Appends the fields of another message.
  void fields(const ProtoMessage& of) { append(of.bytes()); }
  /// A packed repeated field of integers.
  template <class Integer>
  void packed(std::uint32_t field, std::span<const Integer> values) {
    ProtoMessage inside;
    for (const Integer value : values) inside.end(put(inside.room(longest_varint), static_cast<std::uint64_t>(value)));
    message(field, inside);
  }

 private:
  static constexpr std::size_t longest_varint = 10;  ///< 64 bits, 7 in each byte
  enum class Wire : std::uint8_t { Varint = 0, Fixed64 = 1, Length = 2 };
  static std::uint64_t tag(std::uint32_t field, Wire wire) {
    return (std::uint64_t{field} << 3) | static_cast<std::uint64_t>(wire);
  }
  /// Makes room for `bytes` more bytes, and returns its beginning.
  char* room(std::size_t bytes) {
    if (bytes_.size() - size_ < bytes) [[unlikely]]
      bytes_.resize(2 * size_ + bytes);
    return bytes_.data() + size_;
  }
  /// Ends the message at `at`, within the room that room() has made.
  void end(const char* at) { size_ = static_cast<std::size_t>(at - bytes_.data()); }
  void append(std::string_view value) {
    char* const begin = room(value.size());
    end(begin + value.copy(begin, value.size()));
  }
  static char* put(char* at, std::uint64_t varint) {
    constexpr std::uint64_t more = 0x80;
    for (; varint >= more; varint >>= 7) *at++ = static_cast<char>((varint & (more - 1)) | more);
    *at++ = static_cast<char>(varint);
    return at;
  }

  std::string bytes_;  ///< the message, then spare room
  std::size_t size_ = 0;
};

}  // namespace refrain::exports
