#pragma once
/// Numbers as people read them. Fixed style, whatever the locale.

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::analysis {

std::string human_time(double seconds);  ///< "1.23 s", "45.6 ms", "7.89 us", "12 ns", "3:05:12 h" from 100 minutes on
/// Several times in the unit and with the digits that human_time() gives the largest; "<0.01" for smaller ones.
struct HumanTimes {
  std::vector<std::string> numbers;
  std::string unit;
};
HumanTimes human_times(const std::vector<double>& seconds);
std::string human_bytes(std::int64_t bytes);     ///< "12.3 MiB", "512 B"
std::string human_count(std::int64_t count);     ///< "1,234,567"; from 10^8 on "123 M"
std::string percent(double part, double whole);  ///< "12.3", "0.01" below 0.1, "" for nothing
/// As above, without digits that the standard error makes meaningless.
std::string human_time(double seconds, double error);
std::string percent(double part, double whole, double error);
std::string error_in_percent(double error, double whole);       ///< "0.3"; "" for none
std::string rank_list(const std::vector<std::int32_t>& ranks);  ///< ascending: "0, 3-7, 9"

}  // namespace refrain::analysis
