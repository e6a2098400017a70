#pragma once
/// Columns by their names: the kind of a column follows from its name, so one name means one thing in all tables.

#include <string_view>
#include <vector>

#include "offline/report/table.hpp"

namespace refrain::report {

/// By the end of a name for times (_s), shares and bytes, else by the table of names in columns.cpp; a name that is not
/// there is a count.
Kind kind_of_name(std::string_view name);

/// `names`: with commas between them, as in "share: time %, time_s: time, calls". Behind a colon stands the head for
/// people, where it is another one.
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
