#pragma once
/// Values in statements of SQLite.

#include "offline/database/connection.hpp"

struct sqlite3_stmt;

namespace refrain::database {

/// Of the row in progress; bytes that are no text become X'00FF'.
Value value_at(sqlite3_stmt* statement, int column);
/// Returns SQLite's code. The value must stay until the next step.
int bind(sqlite3_stmt* statement, int place, const Value& value);

}  // namespace refrain::database
