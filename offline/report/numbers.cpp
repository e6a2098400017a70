#include "offline/report/numbers.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

namespace refrain::report {
namespace {

char* write_integer(char* out, std::int64_t value) {
  if (value >= 0 && value < 10) return *out = static_cast<char>('0' + value), out + 1;
  return std::to_chars(out, out + longest_number, value).ptr;
}

constexpr auto two_digits = [] {
  std::array<char, 200> digits{};
  for (std::size_t i = 0; i < 100; ++i) {
    digits[2 * i] = static_cast<char>('0' + i / 10);
    digits[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return digits;
}();

/// With zeros in front.
template <int digits>
void write_digits(char* out, std::uint32_t value) {
  for (int at = digits - 2; at >= 0; at -= 2, value /= 100) std::memcpy(out + at, &two_digits[2 * (value % 100)], 2);
  if constexpr (digits % 2 == 1) *out = static_cast<char>('0' + value);
}

char* write_shortest(char* out, double value) {
  return fmt::format_to_n(out, static_cast<std::size_t>(longest_number), "{}", value).out;
}

/// Integers as such.
char* write_any(char* out, double value) {
  constexpr double largest_integer = 0x1p53;
  if (std::abs(value) < largest_integer) {
    const auto whole = static_cast<std::int64_t>(value);
    if (value == static_cast<double>(whole)) return write_integer(out, whole);
  }
  return write_shortest(out, value);
}

/// Whole seconds and up to thirteen digits behind the point, without zeros at the end.
char* write_seconds(char* out, double value) {
  constexpr double most = 9e5, steps = 1e13;
  if (std::abs(value) >= most) return write_any(out, value);
  const auto units = static_cast<std::int64_t>(value * steps + (value < 0 ? -0.5 : 0.5));
  if (units < 0) *out++ = '-';
  const auto size = static_cast<std::uint64_t>(units < 0 ? -units : units);
  const std::uint64_t whole = size / 10'000'000'000'000, rest = size % 10'000'000'000'000;
  out = write_integer(out, static_cast<std::int64_t>(whole));
  if (rest == 0) return out;
  *out = '.';
  write_digits<5>(out + 1, static_cast<std::uint32_t>(rest / 100'000'000));
  write_digits<8>(out + 6, static_cast<std::uint32_t>(rest % 100'000'000));
  // All of the last eight at once: how many there are is not to be guessed.
  std::uint64_t last;
  std::memcpy(&last, out + 6, sizeof last);
  if (const std::uint64_t other = last ^ 0x3030303030303030u; other != 0) return out + 14 - std::countl_zero(other) / 8;
  out += 6;
  while (out[-1] == '0') --out;
  return out;
}

}  // namespace

char* write_number(char* out, double value, Kind kind) {
  if (value == 0) return *out = '0', out + 1;  // most columns are
  return kind == Kind::Seconds ? write_seconds(out, value) : write_any(out, value);
}

void append_number(std::string& out, double value, Kind kind) {
  char text[longest_number];
  out.append(text, static_cast<std::size_t>(write_number(text, value, kind) - text));
}

}  // namespace refrain::report
