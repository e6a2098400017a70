#include "offline/analysis/human_units.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace refrain::analysis {
namespace {

/// Three significant digits.
std::string three_digits(double value) {
  const double size = std::abs(value);
  return size < 9.995   ? fmt::format("{:.2f}", value)
         : size < 99.95 ? fmt::format("{:.1f}", value)
                        : fmt::format("{:.0f}", value);
}

/// At most three significant digits, and none after the first digit of the error.
std::string digits_by_error(double value, double error) {
  const double size = std::abs(value);
  int digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  for (double step = std::pow(10.0, 1 - digits); digits > 0 && step <= error; step *= 10) --digits;
  return fmt::format("{:.{}f}", value, digits);
}

/// "3:05:12".
std::string in_hours(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

std::string human_time(double seconds) {
  const double size = std::abs(seconds);
  if (size == 0) return "0 s";
  if (size < 0.9995e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (size < 0.9995e-3) return three_digits(seconds * 1e6) + " us";
  if (size < 0.9995) return three_digits(seconds * 1e3) + " ms";
  if (size < 999.5) return three_digits(seconds) + " s";
  if (size < 6000) return fmt::format("{:.0f} s", seconds);
  return in_hours(seconds) + " h";
}

HumanTimes human_times(const std::vector<double>& seconds) {
  const std::string largest = human_time(seconds.empty() ? 0 : std::ranges::max(seconds));
  const std::size_t space = largest.rfind(' '), point = std::min(largest.find('.'), space);
  HumanTimes times{{}, largest.substr(space + 1)};
  const std::size_t digits = point == space ? 0 : space - point - 1;
  const double in_unit = times.unit == "ns" ? 1e9 : times.unit == "us" ? 1e6 : times.unit == "ms" ? 1e3 : 1;
  const double least = std::pow(10.0, -static_cast<double>(digits));
  for (const double of : seconds)
    times.numbers.push_back(of == 0                      ? "0"
                            : times.unit == "h"          ? in_hours(of)
                            : of * in_unit < 0.5 * least ? fmt::format("<{:.{}f}", least, digits)
                                                         : fmt::format("{:.{}f}", of * in_unit, digits));
  return times;
}

std::string human_time(double seconds, double error) {
  if (!(error > 0)) return human_time(seconds);
  const double size = std::abs(seconds);
  if (size < 0.9995e-6 || size >= 999.5) return human_time(seconds);
  if (size < 0.9995e-3) return digits_by_error(seconds * 1e6, error * 1e6) + " us";
  if (size < 0.9995) return digits_by_error(seconds * 1e3, error * 1e3) + " ms";
  return digits_by_error(seconds, error) + " s";
}

std::string human_bytes(std::int64_t bytes) {
  if (bytes > -1024 && bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  for (const char* unit : {"KiB", "MiB", "GiB", "TiB", "PiB"}) {
    value /= 1024;
    if (std::abs(value) < 999.5) return three_digits(value) + " " + unit;
  }
  return three_digits(value / 1024) + " EiB";
}

std::string human_count(std::int64_t count) {
  struct Unit {
    double size;
    const char* name;
  };
  constexpr Unit units[] = {{1e15, " P"}, {1e12, " T"}, {1e9, " G"}, {1e6, " M"}};
  constexpr double least_digits = 100;
  const auto value = static_cast<double>(count);
  for (const Unit& unit : units)
    if (std::abs(value) >= least_digits * unit.size) return three_digits(value / unit.size) + unit.name;
  std::string digits = fmt::format("{}", count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string percent(double part, double whole) {
  if (part == 0 || whole == 0) return "";
  const double value = 100 * part / whole;
  return value >= 0.0995 ? fmt::format("{:.1f}", value) : value >= 0.005 ? fmt::format("{:.2f}", value) : "<0.01";
}

std::string percent(double part, double whole, double error) {
  if (part == 0 || whole == 0 || !(error > 0)) return percent(part, whole);
  const double value = 100 * part / whole, points = 100 * error / whole;
  return value >= 0.0995 && points >= 0.95   ? fmt::format("{:.0f}", value)
         : value < 0.0995 && points >= 0.095 ? fmt::format("{:.1f}", value)
                                             : percent(part, whole);
}

std::string error_in_percent(double error, double whole) {
  if (!(error > 0) || whole == 0) return "";
  const double points = 100 * error / whole;
  return points >= 9.95 ? fmt::format("{:.0f}", points) : points >= 0.0995 ? fmt::format("{:.1f}", points) : "<0.1";
}

std::string rank_list(const std::vector<std::int32_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", ranks[i]);
    if (last > i) text += fmt::format("{}{}", last > i + 1 ? "-" : ", ", ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace refrain::analysis
