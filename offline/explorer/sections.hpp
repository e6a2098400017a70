#pragma once
/// The sections of a run, as bytes (docs/explorer-format.md).

#include <string>

#include "offline/explorer/run.hpp"

namespace refrain::explorer {

/// Number of the format; page/src/model/head.ts has the same.
inline constexpr int format = 1;

std::string head_section(const Run& run);
std::string sums_section(const Run& run);
/// Empty when no values are known by place.
std::string cells_section(const Run& run);
/// The curves of all loops; empty when there are none.
std::string series_section(const Run& run);
std::string maps_section(const Run& run);

}  // namespace refrain::explorer
