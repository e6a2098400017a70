#include "offline/report/table_page.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "offline/report/human_cells.hpp"
#include "offline/report/run_page.hpp"

namespace refrain::report {
namespace {

/// Of its places in the columns; throws UsageError.
std::size_t column_of(const Table& table, const char* option, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].name == name || human_head(table.columns[c]) == name) return c;
    if (std::ranges::find(names, table.columns[c].name) == names.end()) names.push_back(table.columns[c].name);
  }
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

class TablePage : public RunPage {
 public:
  TablePage(const Document& document, const Terminal& terminal, Table table, const char* empty, std::string footnote)
      : RunPage(document, terminal), table_(std::move(table)), empty_(empty), footnote_(std::move(footnote)) {}

 private:
  void view() override {
    std::size_t rows = 0;
    table_.rows([&](const Row&) { ++rows; });
    if (rows == 0 && d_.options.limit != 0) return line(empty_);
    print(table_);
  }
  void more_footnotes() override {
    if (!footnote_.empty()) wrapped("", footnote_, 0, style_.faint);
  }

  const Table table_;
  const char* empty_;
  const std::string footnote_;
};

}  // namespace

bool is_arranged(const Options& options) { return !options.sort.empty() || options.limit || !options.columns.empty(); }

Table arranged(Table table, const Options& options) {
  if (!table.rows || !is_arranged(options)) return table;
  auto rows = std::make_shared<std::vector<Row>>();
  table.rows([&](const Row& row) { rows->push_back(row); });
  if (!options.sort.empty()) {
    const bool backwards = options.sort[0] == '-';
    const std::size_t by = column_of(table, "--sort", options.sort.substr(backwards));
    const bool by_words = is_text(table.columns[by].kind);
    // Numbers begin with the largest one, words with A; a minus is the other way round.
    std::ranges::stable_sort(*rows, [&](const Row& a, const Row& b) {
      return by_words != backwards ? Less()(a.cells[by], b.cells[by]) : Less()(b.cells[by], a.cells[by]);
    });
  }
  if (options.limit && static_cast<std::size_t>(*options.limit) < rows->size())
    rows->resize(static_cast<std::size_t>(*options.limit));
  if (!options.columns.empty()) {
    std::vector<std::size_t> wanted;
    for (const std::string& name : options.columns) wanted.push_back(column_of(table, "--columns", name));
    std::vector<Column> columns;
    for (const std::size_t c : wanted) {
      columns.push_back(table.columns[c]);
      columns.back().in = Everywhere;
    }
    table.columns = std::move(columns);
    for (Row& row : *rows) {
      Row of;
      for (const std::size_t c : wanted) of.cells.push_back(row.cells[c]);
      of.tables = std::move(row.tables);
      row = std::move(of);
    }
  }
  table.rows = [rows](const TakeRow& take) { std::ranges::for_each(*rows, take); };
  return table;
}

std::string table_page(const Document& document, const Terminal& terminal, Table table, const char* empty,
                       const std::string& footnote) {
  return TablePage(document, terminal, arranged(std::move(table), document.options), empty, footnote).render();
}

}  // namespace refrain::report
