// A table as Markdown, for notes and issues: the columns for people, with rows of tables behind the cells of the rows
// around them.
#include <cmath>

#include "offline/report/human_cells.hpp"
#include "offline/report/table.hpp"

namespace refrain::report {
namespace {

std::string field(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, 1, '\\');
  return text + " | ";
}

class Markdown {
 public:
  explicit Markdown(const Sink& out) : out_(out) {}

  void table(const Table& table, const std::string& before, const std::vector<Column>& around) {
    std::vector<Column> columns = around;
    if (table.numbers) columns.push_back({table.name, Kind::Id});
    for (const Column& column : table.columns)
      if (is_shown(column)) columns.push_back(column);
    if (table.numbers) {
      head(columns);
      table.numbers([&](std::int64_t place, std::span<const double> values) {
        std::string line = before + field(std::to_string(place));
        for (std::size_t c = 0; c < values.size(); ++c)
          if (is_shown(table.columns[c])) line += field(number(values[c], table.columns[c].kind));
        end(line);
      });
      return;
    }
    bool leaf = true;
    table.rows([&](const Row& row) {
      std::string line = before;
      for (std::size_t c = 0; c < row.cells.size(); ++c)
        if (is_shown(table.columns[c])) line += field(human_cell(row.cells[c], table.columns[c].kind));
      leaf = leaf && row.tables.empty();
      if (!row.tables.empty()) return this->table(row.tables.back(), line, columns);
      head(columns);
      end(line);
    });
    if (leaf) head(columns);
  }

 private:
  static bool is_shown(const Column& column) { return column.in & InText; }
  static std::string number(double value, Kind kind) {
    if (!std::isfinite(value)) return "";
    const bool whole = kind == Kind::Count || kind == Kind::Bytes;
    return whole ? human_cell(std::llround(value), kind) : human_cell(value, kind);
  }

  void head(const std::vector<Column>& columns) {
    if (std::exchange(has_head_, true)) return;
    std::string names, rule;
    for (const Column& column : columns) {
      names += field(human_head(column));
      rule += column.kind == Kind::Text || column.kind == Kind::Path ? "--- | " : "---: | ";
    }
    end(names);
    end(rule);
  }
  void end(std::string line) {
    while (line.ends_with(' ')) line.pop_back();
    out_("| " + line + "\n");
  }

  const Sink& out_;
  bool has_head_ = false;
};

}  // namespace

void write_markdown(const Table& table, const Sink& out) { Markdown(out).table(table, "", {}); }

}  // namespace refrain::report
