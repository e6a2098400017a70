#pragma once
/// UTF-8 characters. For both halves: no allocation, no exceptions.

#include <cstddef>
#include <string_view>

namespace refrain::config {

/// Length of the well-formed UTF-8 character at the start of `text`, 0 if there is none (RFC 3629).
inline std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second > 0x9f;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && second < 0x90;
    const bool beyond = first == 0xf4 && second > 0x8f;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

/// Whether the character of `length` bytes at the start of `text` is a control character: below U+0020, or U+007F to
/// U+009F.
inline bool is_control(std::string_view text, std::size_t length) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (length == 1) return first < 0x20 || first == 0x7f;
  return length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
}

}  // namespace refrain::config
