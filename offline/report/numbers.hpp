#pragma once
/// Numbers for programs, as short as they can be without losing anything.

#include <string>

#include "offline/report/table.hpp"

namespace refrain::report {

/// Integers as such; seconds to 1e-13, so that sums of many stay right; anything else with all its digits. `value` is
/// finite.
void append_number(std::string& out, double value, Kind kind);

}  // namespace refrain::report
