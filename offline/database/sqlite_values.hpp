#pragma once
/// Values in SQLite statements.

#include "offline/database/connection.hpp"

struct sqlite3_stmt;

namespace refrain::database {

/// A value of the current row; bytes that are not text become X'00FF'.
Value value_at(sqlite3_stmt* statement, int column);
/// Returns SQLite's result code. The value must stay valid until the next step.
int bind(sqlite3_stmt* statement, int place, const Value& value);

}  // namespace refrain::database
