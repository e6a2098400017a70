#include "offline/report/arrangement.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "offline/report/human_cells.hpp"

namespace refrain::report {
namespace {

/// Index of the column that `name` means; throws UsageError.
std::size_t column_of(const Table& table, const char* option, const std::string& name, Format format) {
  std::vector<std::string> names;
  std::optional<std::size_t> found;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    const bool is_meant = column.name == name || human_head(column) == name;
    if (is_meant && (column.in & row_of(format).in)) return c;
    if (is_meant && !found) found = c;
    if (std::ranges::find(names, column.name) == names.end()) names.push_back(column.name);
  }
  if (found) return *found;
  throw UsageError(
      fmt::format("{} {}: there is no such column; the columns are {}", option, name, fmt::join(names, ", ")));
}

struct Less {
  bool operator()(const Cell& a, const Cell& b) const {
    if (a.index() == b.index()) return a < b;
    return number(a) < number(b);
  }
  static double number(const Cell& cell) {
    if (const auto* value = std::get_if<double>(&cell)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*value);
    return -1;
  }
};

}  // namespace

bool is_arranged(const Request& request) { return !request.sort.empty() || request.limit || !request.columns.empty(); }

Table arranged(Table table, const Request& request) {
  if (!table.rows || !is_arranged(request)) return table;
  auto rows = std::make_shared<std::vector<Row>>();
  table.rows([&](const Row& row) {
    rows->push_back(row);
    rows->back().weight.reset();
  });
  if (!request.sort.empty()) {
    const bool backwards = request.sort[0] == '-';
    const std::size_t by = column_of(table, "--sort", request.sort.substr(backwards), request.format);
    const bool by_words = is_text(table.columns[by].kind);
    // By default numbers are sorted from the largest down and words from A on; a minus reverses the order.
    std::ranges::stable_sort(*rows, [&](const Row& a, const Row& b) {
      return by_words != backwards ? Less()(a.cells[by], b.cells[by]) : Less()(b.cells[by], a.cells[by]);
    });
  }
  if (request.limit == 0) table.empty.clear();  // the table may have rows
  if (request.limit && static_cast<std::size_t>(*request.limit) < rows->size())
    rows->resize(static_cast<std::size_t>(*request.limit));
  if (!request.columns.empty()) {
    std::vector<std::size_t> wanted;
    for (const std::string& name : request.columns)
      wanted.push_back(column_of(table, "--columns", name, request.format));
    std::vector<Column> columns;
    for (const std::size_t c : wanted) {
      columns.push_back(table.columns[c]);
      columns.back().in = Everywhere;
    }
    table.columns = std::move(columns);
    for (Row& row : *rows) {
      std::vector<Cell> cells;
      for (const std::size_t c : wanted) cells.push_back(row.cells[c]);
      row.cells = std::move(cells);
    }
  }
  table.rows = [rows](const TakeRow& take) { std::ranges::for_each(*rows, take); };
  return table;
}

}  // namespace refrain::report
