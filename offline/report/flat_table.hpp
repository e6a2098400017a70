#pragma once
/// The common part of the formats of one table: a table whose rows have tables is flattened, with the cells of a row in
/// front of each row of its last table.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "offline/report/table.hpp"

namespace refrain::report {

/// Writes a table line by line. A `Format` provides:
///   static constexpr unsigned in;                                     the columns that it shows (enum In)
///   static void add_head(std::string& out, std::span<const Column>);  whole lines
///   static void begin_line(std::string& out);
///   static void add_cell(std::string& out, const Cell&, Kind);        followed by the separator
///   static void add_number(std::string& out, double, Kind);           the same; not finite: an empty cell
///   static void end_line(std::string& out);
template <class Format>
class FlatTable {
 public:
  explicit FlatTable(const Sink& out) : out_(out) {}

  void write(const Table& table) {
    write(table, {}, {});
    flush();
  }

 private:
  /// `before`: the cells of the enclosing rows; `columns`: their columns.
  void write(const Table& table, const std::string& before, std::vector<Column> columns) {
    if (table.numbers) columns.push_back({table.name, Kind::Id});
    for (const Column& column : table.columns)
      if (is_shown(column)) columns.push_back(column);
    const auto begin = [&] {
      head(columns);
      Format::begin_line(text_);
      text_ += before;
    };
    if (table.numbers) {
      head(columns);
      table.numbers([&](std::int64_t place, std::span<const double> values) {
        begin();
        Format::add_cell(text_, std::to_string(place), Kind::Id);
        for (std::size_t c = 0; c < values.size(); ++c)
          if (is_shown(table.columns[c])) add_number(table.columns[c], values[c]);
        end();
      });
      return;
    }
    bool has_tables = false;
    table.rows([&](const Row& row) {
      std::string cells;
      for (std::size_t c = 0; c < row.cells.size(); ++c)
        if (is_shown(table.columns[c])) Format::add_cell(cells, row.cells[c], table.columns[c].kind);
      if (!row.tables.empty()) {
        has_tables = true;
        return write(row.tables.back(), before + cells, columns);
      }
      begin();
      text_ += cells;
      end();
    });
    if (!has_tables) head(columns);
  }

  void add_number(const Column& column, double value) {
    if (column.words.empty()) return Format::add_number(text_, value, column.kind);
    const bool known = value >= 0 && value < static_cast<double>(column.words.size());
    Format::add_cell(text_, known ? Cell(column.words[static_cast<std::size_t>(value)]) : Cell(), column.kind);
  }
  static bool is_shown(const Column& column) { return column.in & Format::in; }

  void head(const std::vector<Column>& columns) {
    if (!std::exchange(has_head_, true)) Format::add_head(text_, columns);
  }
  void end() {
    constexpr std::size_t piece = 64 << 10;
    Format::end_line(text_);
    if (text_.size() >= piece) flush();
  }
  void flush() {
    if (!text_.empty()) out_(text_);
    text_.clear();
  }

  const Sink& out_;
  std::string text_;
  bool has_head_ = false;
};

}  // namespace refrain::report
