#pragma once
/// Views that are one table: their rows in the order and number that options ask for.

#include <functional>
#include <string>

#include "offline/report/views.hpp"

namespace refrain::report {

/// By --sort, --limit and --columns. Holds all rows. Throws UsageError for a column that is not there.
Table arranged(Table table, const Options& options);

/// Whether one of them was given.
bool is_arranged(const Options& options);

/// The page of a run with this table. `title`: what the rows are; `empty`: what is said when there are none.
std::string table_page(const Document& document, const Terminal& terminal, Table table, const char* empty,
                       const std::string& footnote = "");

}  // namespace refrain::report
