#include "offline/report/json_tables.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "offline/report/numbers.hpp"

namespace refrain::report {
namespace {

void write_cell(JsonWriter& json, const std::string& name, const Cell& cell) {
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, NamedTexts>)
          json.member_object(name, [&] {
            for (const auto& [key, text] : value) json.member(key, text);
          });
        else if constexpr (!std::is_same_v<Value, std::monostate>) json.member(name, value);
      },
      cell);
}

/// Writes the members of a row; neighbours of one group share an object.
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

/// The text of one column while its table is read: in memory while it is short, then in an unnamed temporary file.
class ColumnText {
 public:
  /// `memory`: a buffer to reuse; may be empty.
  ColumnText(Kind kind, std::vector<char> memory)
      : kind_(kind), text_(std::move(memory)), at_(text_.data()), end_(at_ + text_.size()) {}
  /// Takes many values at a time: the processor predicts branches better within one column.
  void add(std::span<const double> values) {
    make_room(values.size() * room);
    char *at = at_, repeated[longest_number];
    double last = std::numeric_limits<double>::quiet_NaN();
    std::size_t size = 0;
    bool is_repeated = false;  // `repeated` has the text of the value
    for (const double value : values) {
      if (!std::exchange(is_first_, false)) *at++ = ',';
      if (value != last) {
        char* const begin = at;
        at = std::isfinite(value) ? write_number(at, value, kind_) : std::copy_n("null", 4, at);
        last = value;
        size = static_cast<std::size_t>(at - begin);
        is_repeated = false;
        continue;
      }
      if (!is_repeated) std::memcpy(repeated, at - 1 - size, longest_number);
      is_repeated = true;
      std::memcpy(at, repeated, longest_number);  // copying all of it is faster than copying `size` bytes
      at += size;
    }
    at_ = at;
  }
  /// Hands over the whole text, piece by piece.
  void give(const Sink& take) {
    if (file_) {
      std::rewind(file_.get());
      std::vector<char> piece(longest);
      for (std::size_t n; (n = std::fread(piece.data(), 1, piece.size(), file_.get())) > 0;) take({piece.data(), n});
      if (std::ferror(file_.get())) throw std::runtime_error("a temporary file cannot be read");
    }
    take({text_.data(), size()});
  }
  std::vector<char> memory() { return std::move(text_); }

 private:
  static constexpr std::size_t longest = 16 << 20,
                               room = longest_number + 1;  ///< bytes of a column in memory; of a number and its comma
  std::size_t size() const { return static_cast<std::size_t>(at_ - text_.data()); }
  void make_room(std::size_t bytes) {
    if (end_ - at_ >= static_cast<std::ptrdiff_t>(bytes)) return;
    std::size_t used = size();
    if (used + bytes > longest && spill(used)) used = 0;
    if (text_.size() < used + bytes) text_.resize(std::max(2 * text_.size(), used + bytes));
    at_ = text_.data() + used;
    end_ = text_.data() + text_.size();
  }
  /// Moves the text to the file. False: there is no file, and memory has to do.
  bool spill(std::size_t used) {
    if (!file_) file_.reset(std::tmpfile());
    if (!file_) return false;
    if (std::fwrite(text_.data(), 1, used, file_.get()) != used)
      throw std::runtime_error("the directory for temporary files is full");
    return true;
  }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Kind kind_;
  bool is_first_ = true;
  std::vector<char> text_;
  char *at_, *end_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// Writes column by column, although the rows come only once.
void write_series(JsonWriter& json, const Table& table) {
  std::vector<ColumnText> texts;
  std::vector<std::vector<char>>& memory = json.buffers();
  memory.resize(std::max(memory.size(), table.columns.size()));
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    texts.emplace_back(table.columns[c].kind, std::move(memory[c]));
  constexpr std::size_t at_once = 256;
  std::vector<double> rows(at_once * texts.size());  // the values of a column are adjacent
  std::size_t count = 0;
  const auto write_rows = [&] {
    for (std::size_t c = 0; c < texts.size(); ++c) texts[c].add({&rows[c * at_once], count});
    count = 0;
  };
  const auto add_row = [&](const auto& value_of) {
    for (std::size_t c = 0; c < texts.size(); ++c) rows[c * at_once + count] = value_of(c);
    if (++count == at_once) write_rows();
  };
  // A damaged file may have any iteration number. Gaps longer than both `few` and the series so far are not filled.
  constexpr std::int64_t few = 20'000'000;
  std::int64_t next = 0;
  const auto skip_to = [&](std::int64_t place) {
    if (place - next > std::max(next, few)) return false;
    for (; next < place; ++next) add_row([](std::size_t) { return std::numeric_limits<double>::quiet_NaN(); });
    return true;
  };
  table.numbers([&](std::int64_t place, std::span<const double> values) {
    if (!skip_to(place)) return;
    add_row([&](std::size_t c) { return values[c]; });
    ++next;
  });
  skip_to(table.places);
  write_rows();
  for (std::size_t c = 0; c < texts.size(); ++c)
    json.member_raw_array(table.columns[c].name, [&](const Sink& take) { texts[c].give(take); });
  for (std::size_t c = 0; c < texts.size(); ++c) memory[c] = texts[c].memory();
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
    json.member("schema", schema_version);
    for (const Table& table : tables) write_json(json, table);
  });
  json.end_document();
}

}  // namespace refrain::report
