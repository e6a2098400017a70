#pragma once
/// Parses REFRAIN_TRACE: off, sampled, all, or numbers of iterations, as in 0-9,100,500-510. `refrain run` makes such a
/// list of exemplars:EXPERIMENT (tools/exemplars.hpp).

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/number.hpp"
#include "config/text.hpp"

namespace refrain::config {

enum class TraceMode : std::uint8_t { Off, All, List, Sampled };

struct TraceSelection {
  static constexpr std::size_t max_ranges = 64;
  static constexpr std::size_t longest = 1023;  ///< of the text, in characters
  struct Range {
    std::int64_t first, last;
  };
  TraceMode mode = TraceMode::Off;
  Range range[max_ranges] = {};
  std::size_t ranges = 0;
  bool good = false;

  constexpr bool has(std::int64_t iteration) const {
    for (std::size_t i = 0; i < ranges; ++i)
      if (range[i].first <= iteration && iteration <= range[i].last) return true;
    return mode == TraceMode::All;
  }
};

/// Parses "5" or "2-5"; the first number must not be larger than the last.
constexpr bool parse_range(std::string_view text, TraceSelection::Range& range) {
  const auto dash = text.find('-');
  const ParsedNumber first = parse_number(dash == std::string_view::npos ? text : first_of(text, dash), false);
  const ParsedNumber last = dash == std::string_view::npos ? first : parse_number(without_first(text, dash + 1), false);
  range = {first.value, last.value};
  return first.fault == NumberFault::None && last.fault == NumberFault::None && 0 <= range.first &&
         range.first <= range.last;
}

constexpr TraceSelection parse_trace(std::string_view text) {
  TraceSelection out;
  out.mode = text == "all"                   ? TraceMode::All
             : text == "sampled"             ? TraceMode::Sampled
             : text.empty() || text == "off" ? TraceMode::Off
                                             : TraceMode::List;
  for (bool last = out.mode != TraceMode::List; !last;) {
    const auto comma = text.find(',');
    last = comma == std::string_view::npos;
    const std::string_view one = last ? text : first_of(text, comma);
    if (!last) text = without_first(text, comma + 1);
    if (out.ranges == TraceSelection::max_ranges || !parse_range(one, out.range[out.ranges])) return out;
    ++out.ranges;
  }
  out.good = true;
  return out;
}

constexpr bool is_trace(std::string_view text) { return parse_trace(text).good; }

}  // namespace refrain::config
