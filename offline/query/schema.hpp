#pragma once
/// The SQL tables, one row each: the only source of the tables themselves and of `refrain query --schema`. A test
/// compares the list in docs/query.md with them.

#include <span>
#include <string>
#include <string_view>

namespace refrain::query {

struct TableRow {
  const char* name;
  const char* text;      ///< CREATE TABLE, with a comment for each column
  bool is_streamed;      ///< its rows are made while they are read (streamed_table.hpp)
  bool needs_locations;  ///< filling it reads all locations, so that is done when a statement names it
};

/// In the order in which they are shown.
std::span<const TableRow> tables();
const TableRow& table_named(std::string_view name);

/// All of them, as SQL with comments.
std::string schema_text();

}  // namespace refrain::query
