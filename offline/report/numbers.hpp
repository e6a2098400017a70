#pragma once
/// Numbers for programs, as short as they can be without losing anything.

#include <string>

#include "offline/report/table.hpp"

namespace refrain::report {

/// Integers as such; seconds to 1e-13, so that sums of many stay right; anything else with all its digits. `value` is
/// finite.
/// Writes no more than longest_number characters; returns their end.
inline constexpr std::size_t longest_number = 32;
char* write_number(char* out, double value, Kind kind);
void append_number(std::string& out, double value, Kind kind);

}  // namespace refrain::report
