#pragma once
/// Columns by their names: the kind of a column follows from its name, so one name means one thing in all tables.

#include <string_view>
#include <vector>

#include "offline/report/table.hpp"

namespace refrain::report {

/// The kind comes from the table of names in columns.cpp, or else from the name itself for times (_s), shares (_share)
/// and bytes. Any other name is a count.
Kind kind_of_name(std::string_view name);

/// `names`: separated by commas, as in "share: time %, time_s: time, calls". The head for people follows a colon if it
/// differs from the name.
std::vector<Column> columns(std::string_view names, unsigned in = Everywhere);

inline std::vector<Column> operator+(std::vector<Column> columns, const std::vector<Column>& more) {
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

/// A table of one row, an object in JSON.
inline Table object_of(std::string name, std::vector<Column> columns, Row row) {
  Table table{std::move(name), std::move(columns), [row = std::move(row)](const TakeRow& take) { take(row); }};
  table.shape = Table::Object;
  return table;
}

/// A row for each element of `all`, which must outlive the rows.
template <class Range, class ToRow>
std::function<void(const TakeRow&)> rows_of(const Range& all, ToRow to_row) {
  return [&all, to_row = std::move(to_row)](const TakeRow& take) {
    for (const auto& of : all) take(to_row(of));
  };
}

}  // namespace refrain::report
