#pragma once
/// The kinds of databases. For Connection::open() alone.

#include "offline/database/connection.hpp"

namespace refrain::database {

std::unique_ptr<Connection> open_sqlite(const std::string& file, bool may_create);
std::unique_ptr<Connection> open_postgresql(const std::string& where);

}  // namespace refrain::database
