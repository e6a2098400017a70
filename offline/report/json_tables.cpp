#include "offline/report/json_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>

#include "offline/report/numbers.hpp"

namespace refrain::report {
namespace {

void write_cell(JsonWriter& json, const std::string& name, const Cell& cell) {
  std::visit(
      [&](const auto& value) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) json.member(name, value);
      },
      cell);
}

/// The members of a row; neighbours of one group are in one object.
void write_members(JsonWriter& json, const Table& table, const Row& row, std::size_t begin, std::size_t end,
                   std::size_t depth) {
  for (std::size_t i = begin; i < end;) {
    const Column& column = table.columns[i];
    std::size_t next = i + 1;
    if (column.group.size() > depth) {
      while (next < end && table.columns[next].group.size() > depth &&
             table.columns[next].group[depth] == column.group[depth])
        ++next;
      const bool any = std::any_of(row.cells.begin() + static_cast<std::ptrdiff_t>(i),
                                   row.cells.begin() + static_cast<std::ptrdiff_t>(next),
                                   [](const Cell& cell) { return !std::holds_alternative<std::monostate>(cell); });
      if (any) json.member_object(column.group[depth], [&] { write_members(json, table, row, i, next, depth + 1); });
    } else if (column.in & InJson) {
      write_cell(json, column.name, row.cells[i]);
    }
    i = next;
  }
}

void write_row(JsonWriter& json, const Table& table, const Row& row) {
  write_members(json, table, row, 0, table.columns.size(), 0);
  for (const Table& inner : row.tables) write_json(json, inner);
}

/// The text of one column while its table is read: in memory while it is short, else in a file without a name.
class ColumnText {
 public:
  std::string& text() { return text_; }
  void spill_if_long() {
    if (text_.size() < longest) return;
    if (!file_) file_.reset(std::tmpfile());
    if (!file_) return;  // memory will have to do
    if (std::fwrite(text_.data(), 1, text_.size(), file_.get()) != text_.size())
      throw std::runtime_error("the directory for temporary files is full");
    text_.clear();
  }
  /// Hands over all of it, piece by piece.
  void give(const Sink& take) {
    if (file_) {
      std::rewind(file_.get());
      std::vector<char> piece(longest);
      for (std::size_t n; (n = std::fread(piece.data(), 1, piece.size(), file_.get())) > 0;) take({piece.data(), n});
      if (std::ferror(file_.get())) throw std::runtime_error("a temporary file cannot be read");
    }
    take(text_);
  }

 private:
  static constexpr std::size_t longest = 256 << 10;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string text_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Column by column, though the rows come once.
void write_series(JsonWriter& json, const Table& table) {
  std::vector<ColumnText> texts(table.columns.size());
  std::int64_t next = 0;
  const auto passed = [&] {
    if (++next % 1024 == 0)
      for (ColumnText& of : texts) of.spill_if_long();
  };
  const auto skip_to = [&](std::int64_t place) {
    for (; next < place; passed())
      for (ColumnText& of : texts) of.text() += next > 0 ? ",null" : "null";
  };
  table.numbers([&](std::int64_t place, std::span<const double> values) {
    skip_to(place);
    for (std::size_t c = 0; c < texts.size(); ++c) {
      std::string& text = texts[c].text();
      if (next > 0) text += ',';
      if (std::isfinite(values[c])) append_number(text, values[c], table.columns[c].kind);
      else text += "null";
    }
    passed();
  });
  // A damaged file may say any number: so many that are missing at the end are none.
  constexpr std::int64_t most_missing = 1'000'000'000;
  if (table.places - next <= most_missing) skip_to(table.places);
  for (std::size_t c = 0; c < texts.size(); ++c)
    json.member_raw_array(table.columns[c].name, [&](const Sink& take) { texts[c].give(take); });
}

}  // namespace

void write_json(JsonWriter& json, const Table& table) {
  const auto in_object = [&] { table.rows([&](const Row& row) { write_row(json, table, row); }); };
  switch (table.shape) {
    case Table::Series: return write_series(json, table);
    case Table::Object:
      if (table.name.empty()) in_object();
      else json.member_object(table.name, in_object);
      return;
    case Table::Rows: break;
  }
  json.member_array(table.name, [&] {
    const int before = table.line_depth ? json.set_line_depth(table.line_depth) : 0;
    table.rows([&](const Row& row) { json.object([&] { write_row(json, table, row); }); });
    if (table.line_depth) json.set_line_depth(before);
  });
}

void write_json(const std::vector<Table>& tables, const Sink& out) {
  // One line per element: readable, and searchable by line.
  JsonWriter json(out, 2);
  json.object([&] {
    for (const Table& table : tables) write_json(json, table);
  });
  json.end_document();
}

}  // namespace refrain::report
