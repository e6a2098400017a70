#pragma once
/// Numbers for programs, as short as possible without losing anything.

#include <string>

#include "offline/report/table.hpp"

namespace refrain::report {

/// Writes integers without a point, seconds to 1e-13, so that sums of many stay right, and anything else with all its
/// digits. `value` is finite. Writes at most longest_number characters; returns their end.
inline constexpr std::size_t longest_number = 32;
char* write_number(char* out, double value, Kind kind);
void append_number(std::string& out, double value, Kind kind);

}  // namespace refrain::report
