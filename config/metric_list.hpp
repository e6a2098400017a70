#pragma once
/// Parses REFRAIN_METRICS: names, separated by commas.

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "config/text.hpp"

namespace refrain::config {

inline constexpr std::size_t max_metrics = 12;
inline constexpr std::size_t longest_metric_name = 127;

struct MetricList {
  std::string_view name[max_metrics];
  std::size_t count = 0;
  bool good = false;  ///< every name is valid and occurs once, and there are not too many
};

/// Printable characters without blanks.
constexpr bool is_metric_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_metric_name &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

constexpr MetricList parse_metric_list(std::string_view text) {
  MetricList list;
  for (bool last = false; !last;) {
    const auto comma = text.find(',');
    last = comma == std::string_view::npos;
    const std::string_view name = last ? text : first_of(text, comma);
    if (!last) text = without_first(text, comma + 1);
    const std::string_view* begin = list.name;
    const std::string_view* end = begin + list.count;
    if (list.count == max_metrics || !is_metric_name(name) || std::find(begin, end, name) != end) return list;
    list.name[list.count++] = name;
  }
  list.good = true;
  return list;
}

constexpr bool is_metric_list(std::string_view text) { return parse_metric_list(text).good; }

}  // namespace refrain::config
