#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/report/numbers.hpp"
#include "offline/report/table.hpp"

namespace refrain::report {
namespace {

std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

struct Printer {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "1" : "0"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return field(value); }
  std::string operator()(const std::vector<std::string>& names) const {
    std::string path;
    for (const auto& name : names) path += (path.empty() ? "" : ";") + name;
    return field(path);
  }
  std::string operator()(const std::vector<std::int64_t>& numbers) const {
    return fmt::format("{}", fmt::join(numbers, ";"));
  }
};

class Csv {
 public:
  explicit Csv(const Sink& out) : out_(out) {}

  /// `before`: the fields of the rows around, and the names of their columns.
  void table(const Table& table, const std::vector<std::string>& before, const std::vector<std::string>& heads) {
    std::vector<std::string> all = heads;
    for (const Column& column : table.columns)
      if (column.in & InCsv) all.push_back(column.name);
    if (table.numbers) {
      head(all);
      const std::string begin = before.empty() ? "" : fmt::format("{},", fmt::join(before, ","));
      table.numbers([&](std::int64_t place, std::span<const double> values) {
        text_ += begin;
        fmt::format_to(std::back_inserter(text_), "{}", place);
        for (std::size_t c = 0; c < values.size(); ++c) {
          text_ += ',';
          if (std::isfinite(values[c])) append_number(text_, values[c], table.columns[c].kind);
        }
        end_line();
      });
      return;
    }
    bool leaf = true;
    table.rows([&](const Row& row) {
      std::vector<std::string> fields = before;
      for (std::size_t c = 0; c < row.cells.size(); ++c)
        if (table.columns[c].in & InCsv) fields.push_back(std::visit(Printer{}, row.cells[c]));
      if (!row.tables.empty()) {
        leaf = false;
        const Table& inner = row.tables.back();
        auto inner_heads = all;
        if (inner.numbers) inner_heads.push_back(inner.name);
        return this->table(inner, fields, inner_heads);
      }
      head(all);
      fmt::format_to(std::back_inserter(text_), "{}", fmt::join(fields, ","));
      end_line();
    });
    if (leaf) head(all);
  }

  void finish() {
    if (!text_.empty()) out_(text_);
    text_.clear();
  }

 private:
  void head(const std::vector<std::string>& names) {
    if (std::exchange(has_head_, true)) return;
    std::vector<std::string> fields;
    for (const std::string& name : names) fields.push_back(field(name));
    fmt::format_to(std::back_inserter(text_), "{}", fmt::join(fields, ","));
    end_line();
  }
  void end_line() {
    constexpr std::size_t piece = 64 << 10;
    text_ += "\r\n";
    if (text_.size() >= piece) finish();
  }

  const Sink& out_;
  std::string text_;
  bool has_head_ = false;
};

}  // namespace

void write_csv(const Table& table, const Sink& out) {
  Csv csv(out);
  csv.table(table, {}, {});
  csv.finish();
}

}  // namespace refrain::report
