#pragma once
/// The rows of a table in the order and number, and the columns, that a request asks for.

#include "offline/report/request.hpp"

namespace refrain::report {

/// By --sort, --limit and --columns. Holds all rows. Rows are not left out as too small then. Throws UsageError for a
/// column that is not there. A name means the column of this name, or of this head, that the request's format shows;
/// where it shows none, that of another format.
Table arranged(Table table, const Request& request);

/// Whether one of them was given.
bool is_arranged(const Request& request);

}  // namespace refrain::report
