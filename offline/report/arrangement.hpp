#pragma once
/// Arranges a table as a request asks: the order and number of its rows, and its columns.

#include "offline/report/request.hpp"

namespace refrain::report {

/// Applies --sort, --limit and --columns. If any of them is given, all rows are held, and none is left out as too
/// small. Throws UsageError for an unknown column. A name means the column with this name or head that the request's
/// format shows, or else one that another format shows.
Table arranged(Table table, const Request& request);

/// Whether any of these options is given.
bool is_arranged(const Request& request);

}  // namespace refrain::report
