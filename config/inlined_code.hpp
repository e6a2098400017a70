#pragma once
/// How `refrain exec` tells the runtime where functions were inlined, since the runtime cannot read debug information:
/// "MODULE:BEGIN-END,BEGIN-END;MODULE:...", with addresses of the module's file in hexadecimal. MODULE is a build-id in
/// hexadecimal, or a path if the module has none.

#include <cstdint>
#include <string_view>

#include "config/text.hpp"

namespace refrain::config {

inline constexpr const char* inlined_code_variable = "REFRAIN_INTERNAL_INLINED";
/// Longer texts are cut, because the kernel limits the environment of a process.
inline constexpr std::size_t longest_inlined_code = 64 * 1024;

constexpr bool parse_hexadecimal(std::string_view text, std::uint64_t& value) {
  value = 0;
  for (const char c : text) {
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return false;
    value = value << 4 | static_cast<std::uint64_t>(digit);
  }
  return !text.empty() && text.size() <= 16;
}

/// Calls `visit(begin, end)` for each range of the module. Skips what is not well-formed.
template <class Visit>
constexpr void for_each_inlined(std::string_view text, std::string_view module, Visit visit) {
  while (!text.empty()) {
    std::string_view ranges = take_until(text, ';');
    if (take_until(ranges, ':') != module) continue;
    while (!ranges.empty()) {
      std::string_view range = take_until(ranges, ',');
      std::uint64_t begin = 0, end = 0;
      if (parse_hexadecimal(take_until(range, '-'), begin) && parse_hexadecimal(range, end) && begin < end)
        visit(begin, end);
    }
  }
}

}  // namespace refrain::config
