#pragma once
/// Tables in any format, by themselves.

#include "offline/report/json_tables.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

/// JSON: a document of all of them; text: one after the other, those whose columns have widths line by line as their
/// rows come; formats of one table: the first one.
void print_tables(const std::vector<Table>& tables, Format format, const Terminal& terminal, const Sink& out);

/// A graph and a map.
std::string chart_text(const MakeChart& make, const Terminal& terminal);

}  // namespace refrain::report
