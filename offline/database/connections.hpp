#pragma once
/// The kinds of databases. Used by Connection::open() only.

#include "offline/database/connection.hpp"

namespace refrain::database {

/// "TABLE (A, B)", the target of appended rows in SQL.
std::string table_and_columns(const std::string& table, const std::vector<std::string>& columns);

std::unique_ptr<Connection> open_sqlite(const std::string& file, bool may_create);
std::unique_ptr<Connection> open_postgresql(const std::string& where);

}  // namespace refrain::database
