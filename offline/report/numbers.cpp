#include "offline/report/numbers.hpp"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <iterator>

namespace refrain::report {
namespace {

void append_integer(std::string& out, std::int64_t value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}

/// Whole seconds and up to thirteen digits behind the point, without zeros at the end.
void append_seconds(std::string& out, double value) {
  constexpr double most = 9e5, steps = 1e13;
  if (std::abs(value) >= most) {
    fmt::format_to(std::back_inserter(out), "{}", value);
    return;
  }
  const auto units = static_cast<std::int64_t>(value * steps + (value < 0 ? -0.5 : 0.5));
  if (units < 0) out += '-';
  const auto size = static_cast<std::uint64_t>(units < 0 ? -units : units);
  const std::uint64_t whole = size / 10'000'000'000'000, rest = size % 10'000'000'000'000;
  append_integer(out, static_cast<std::int64_t>(whole));
  if (rest == 0) return;
  char digits[] = ".0000000000000";
  constexpr std::size_t most_digits = sizeof(digits) - 1;
  const fmt::format_int text(rest);
  std::memcpy(digits + most_digits - text.size(), text.data(), text.size());
  std::size_t length = most_digits;
  while (digits[length - 1] == '0') --length;
  out.append(digits, length);
}

}  // namespace

void append_number(std::string& out, double value, Kind kind) {
  constexpr double largest_integer = 0x1p53;
  if (value == std::trunc(value) && std::abs(value) < largest_integer)
    append_integer(out, static_cast<std::int64_t>(value));
  else if (kind == Kind::Seconds) append_seconds(out, value);
  else fmt::format_to(std::back_inserter(out), "{}", value);
}

}  // namespace refrain::report
