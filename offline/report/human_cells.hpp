#pragma once
/// Cells of tables as people read them.

#include <string>

#include "offline/report/table.hpp"

namespace refrain::report {

/// Zeros of what is counted are left out.
std::string human_cell(const Cell& cell, Kind kind);
inline const std::string& human_head(const Column& column) { return column.head.empty() ? column.name : column.head; }

}  // namespace refrain::report
