#pragma once
/// The tables of SQLite that hold what is known without reading values: they are filled before, or when a statement
/// names them.

#include <functional>
#include <span>
#include <string>

#include "offline/database/connection.hpp"
#include "offline/query/runs.hpp"

namespace refrain::query {

/// Appends a row to a table; its values in the order of the columns.
using AddRow = std::function<void(std::span<const database::Value> row)>;

/// Hands over the rows of a table of schema.hpp that is not streamed.
void rows_of(const std::string& table, Runs& runs, const AddRow& add);

}  // namespace refrain::query
