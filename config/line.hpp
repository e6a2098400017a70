#pragma once
/// Text of bounded length in the caller's memory. No allocation, no locale; what does not fit is left out.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace refrain::config {

/// Appends to a zero-terminated buffer. Not thread-safe.
class Line {
 public:
  /// `size` counts the terminating zero and is at least 1.
  Line(char* buffer, std::size_t size) : buffer_(buffer), capacity_(size - 1) { buffer_[0] = '\0'; }

  Line& operator<<(std::string_view text) {
    for (char c : text) put(c);
    return *this;
  }

  Line& operator<<(char c) {
    put(c);
    return *this;
  }

  Line& operator<<(std::int64_t number) {
    char digits[20];
    std::size_t count = 0;
    std::uint64_t rest = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    do digits[count++] = static_cast<char>('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (number < 0) put('-');
    while (count > 0) put(digits[--count]);
    return *this;
  }

  /// Appends foreign text. Control characters become '?', so that it stays one line; beyond `longest` bytes the rest
  /// becomes "...", but no UTF-8 character is split.
  Line& foreign(std::string_view text, std::size_t longest) {
    bool cut = text.size() > longest;
    if (cut) {
      while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
      text = text.substr(0, longest);
    }
    for (char c : text) put(static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c);
    return cut ? *this << "..." : *this;
  }

 private:
  void put(char c) {
    if (length_ == capacity_) return;
    buffer_[length_++] = c;
    buffer_[length_] = '\0';
  }

  char* buffer_;
  std::size_t capacity_;
  std::size_t length_ = 0;
};

}  // namespace refrain::config
