// Numbers of long series as text.
#include "offline/report/numbers.hpp"

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

namespace refrain::report {
namespace {

std::string seconds_text(double value) {
  std::string text;
  append_number(text, value, Kind::Seconds);
  return text;
}

/// Thirteen digits behind the point as the library rounds them, without zeros at the end.
std::string by_the_library(double value) {
  std::string text = fmt::format("{:.13f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

TEST(Numbers, seconds_have_up_to_thirteen_digits_without_zeros_at_the_end) {
  EXPECT_EQ(seconds_text(0), "0");
  EXPECT_EQ(seconds_text(12), "12");
  EXPECT_EQ(seconds_text(0.5), "0.5");
  EXPECT_EQ(seconds_text(-1.25), "-1.25");
  EXPECT_EQ(seconds_text(0.00001), "0.00001");
  EXPECT_EQ(seconds_text(1e-13), "0.0000000000001");
  EXPECT_EQ(seconds_text(1234.0625), "1234.0625");
  EXPECT_EQ(seconds_text(0.00000001), "0.00000001");
  EXPECT_EQ(seconds_text(99999.9999), "99999.9999");
  EXPECT_EQ(seconds_text(0.1234567891234), "0.1234567891234");
}

TEST(Numbers, every_field_of_digits_is_right) {
  for (std::int64_t n = 0; n < 10'000; ++n) {
    // The digits of n stand at different places of the thirteen.
    const double of[] = {static_cast<double>(n) * 1e-13, static_cast<double>(n) * 1e-9, static_cast<double>(n) * 1e-5,
                         static_cast<double>(n) * 1e-4};
    for (const double value : of) EXPECT_EQ(seconds_text(value), by_the_library(value));
  }
}

TEST(Numbers, seconds_of_all_sizes_read_back) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300'000; ++i) {
    const double value = std::ldexp(static_cast<double>(random() >> 11), -53 - static_cast<int>(random() % 40) + 19);
    const std::string text = seconds_text(value);
    ASSERT_NEAR(std::strtod(text.c_str(), nullptr), value, 0.6e-13 + value * 1e-15) << text;
    ASSERT_TRUE(text.find('.') == text.npos || text.back() != '0') << text;
    ASSERT_LE(text.size(), longest_number);
  }
}

}  // namespace
}  // namespace refrain::report
