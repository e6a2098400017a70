#pragma once
/// Prints tables in any format, without a page around them.

#include "offline/report/json_tables.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

/// JSON: one document of all tables. Text: one table after the other; a table whose columns have widths is printed line
/// by line as its rows come. Formats of one table: the first table.
void print_tables(const std::vector<Table>& tables, Format format, const Terminal& terminal, const Sink& out);

/// The text of a chart: a graph and a map.
std::string chart_text(const MakeChart& make, const Terminal& terminal);

}  // namespace refrain::report
