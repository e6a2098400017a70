#pragma once
/// Parses numbers of options: strictly decimal; sizes may have a suffix K, M or G (powers of 1024).

#include <cstdint>
#include <limits>
#include <string_view>

namespace refrain::config {

enum class NumberFault : std::uint8_t { None, NotANumber, TooLarge };

struct ParsedNumber {
  std::int64_t value;
  NumberFault fault;
};

/// The whole text must be the number: no blanks, no sign but '-', nothing behind it. TooLarge: beyond 64 bits in either
/// direction.
[[nodiscard]] constexpr ParsedNumber parse_number(std::string_view text, bool suffix_allowed) {
  bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  std::int64_t unit = 1;
  if (suffix_allowed && !text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K': unit = std::int64_t{1} << 10; break;
      case 'm':
      case 'M': unit = std::int64_t{1} << 20; break;
      case 'g':
      case 'G': unit = std::int64_t{1} << 30; break;
      default: break;
    }
    if (unit != 1) text.remove_suffix(1);
  }
  if (text.empty()) return {0, NumberFault::NotANumber};
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  std::int64_t value = 0;
  bool too_large = false;
  for (char c : text) {
    if (c < '0' || c > '9') return {0, NumberFault::NotANumber};
    std::int64_t digit = c - '0';
    if (value > (largest - digit) / 10) too_large = true;
    if (!too_large) value = value * 10 + digit;
  }
  if (too_large || value > largest / unit) return {0, NumberFault::TooLarge};
  return {negative ? -value * unit : value * unit, NumberFault::None};
}

}  // namespace refrain::config
