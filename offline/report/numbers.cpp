#include "offline/report/numbers.hpp"

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

/// Eight digits with leading zeros, the first in the lowest byte. All fields are divided at once.
constexpr std::uint64_t eight_digits(std::uint32_t value) {
  constexpr std::uint64_t two_fields = 0x0000007f0000007f, four_fields = 0x000f000f000f000f;
  const std::uint64_t fours = value / 10'000 | std::uint64_t{value % 10'000} << 32;
  const std::uint64_t hundreds = (fours * 10'486 >> 20) & two_fields;  // / 100, exact below 10,000
  const std::uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
  const std::uint64_t tens = (twos * 103 >> 10) & four_fields;  // / 10, exact below 100
  return (tens | (twos - 10 * tens) << 8) | 0x3030303030303030;
}

char* write_shortest(char* out, double value) {
  return fmt::format_to_n(out, static_cast<std::size_t>(longest_number), "{}", value).out;
}

/// Integers without a point, other values with all their digits.
char* write_any(char* out, double value) {
  constexpr double largest_integer = 0x1p53;
  if (std::abs(value) < largest_integer) {
    const auto whole = static_cast<std::int64_t>(value);
    if (value == static_cast<double>(whole)) return write_integer(out, whole);
  }
  return write_shortest(out, value);
}

/// Up to thirteen digits behind the point, without trailing zeros; from 9e5 s on, like write_any().
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
  static_assert(std::endian::native == std::endian::little);
  const std::uint64_t first = eight_digits(static_cast<std::uint32_t>(rest / 100'000'000) * 1000),  // five digits
      last = eight_digits(static_cast<std::uint32_t>(rest % 100'000'000));
  std::memcpy(out + 1, &first, sizeof first);
  std::memcpy(out + 6, &last, sizeof last);
  // The number of digits at the end is unpredictable: counting zeros avoids a loop over them.
  if (const std::uint64_t other = last ^ 0x3030303030303030u; other != 0) return out + 14 - std::countl_zero(other) / 8;
  out += 6;
  while (out[-1] == '0') --out;
  return out;
}

}  // namespace

char* write_number(char* out, double value, Kind kind) {
  if (value == 0) return *out = '0', out + 1;  // as in most columns
  return kind == Kind::Seconds ? write_seconds(out, value) : write_any(out, value);
}

void append_number(std::string& out, double value, Kind kind) {
  char text[longest_number];
  out.append(text, static_cast<std::size_t>(write_number(text, value, kind) - text));
}

}  // namespace refrain::report
