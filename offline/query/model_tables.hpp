#pragma once
/// The rows of the tables that need no values: definitions, estimates, findings, loops and units.

#include <functional>
#include <span>
#include <string>

#include "offline/database/connection.hpp"
#include "offline/query/runs.hpp"

namespace refrain::query {

/// Appends a row to a table; its values are in the order of the columns.
using AddRow = std::function<void(std::span<const database::Value> row)>;

/// Hands over the rows of a table of schema.hpp that is not streamed.
void rows_of(const std::string& table, Runs& runs, const AddRow& add);

}  // namespace refrain::query
