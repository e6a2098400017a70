#pragma once
/// Cells of tables as people read them.

#include <string>

#include "offline/report/table.hpp"

namespace refrain::report {

/// The text of a cell; empty for a count of 0.
std::string human_cell(const Cell& cell, Kind kind);
inline const std::string& human_head(const Column& column) { return column.head.empty() ? column.name : column.head; }

}  // namespace refrain::report
