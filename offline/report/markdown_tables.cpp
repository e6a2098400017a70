// A table as Markdown, for notes and issues: the columns for people. Rows of nested tables follow the cells of the
// enclosing rows.
#include <cmath>

#include "offline/report/flat_table.hpp"
#include "offline/report/human_cells.hpp"

namespace refrain::report {
namespace {

std::string field(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2) text.insert(at, 1, '\\');
  return text + " | ";
}

struct Markdown {
  static constexpr unsigned in = InMarkdown;
  static void add_head(std::string& out, std::span<const Column> columns) {
    std::string rule;
    begin_line(out);
    for (const Column& column : columns) {
      out += field(human_head(column));
      rule += is_text(column.kind) ? "--- | " : "---: | ";
    }
    end_line(out);
    begin_line(out);
    out += rule;
    end_line(out);
  }
  static void begin_line(std::string& out) { out += "| "; }
  static void add_cell(std::string& out, const Cell& cell, Kind kind) { out += field(human_cell(cell, kind)); }
  static void add_number(std::string& out, double value, Kind kind) {
    if (!std::isfinite(value)) return add_cell(out, {}, kind);
    const bool whole = kind == Kind::Count || kind == Kind::Bytes;
    add_cell(out, whole ? Cell(std::int64_t{std::llround(value)}) : Cell(value), kind);
  }
  static void end_line(std::string& out) {
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
};

}  // namespace

void write_markdown(const Table& table, const Sink& out) { FlatTable<Markdown>(out).write(table); }

}  // namespace refrain::report
