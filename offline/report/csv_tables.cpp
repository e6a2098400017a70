#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/report/flat_table.hpp"
#include "offline/report/numbers.hpp"

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
    return field(fmt::format("{}", fmt::join(names, ";")));
  }
  std::string operator()(const NamedTexts& all) const {
    std::string text;
    for (const auto& [name, value] : all) text += (text.empty() ? "" : ";") + name + "=" + value;
    return field(text);
  }
  std::string operator()(const std::vector<std::int64_t>& numbers) const {
    return fmt::format("{}", fmt::join(numbers, ";"));
  }
};

struct Csv {
  static constexpr unsigned in = InCsv;
  static void add_head(std::string& out, std::span<const Column> columns) {
    for (const Column& column : columns) out += field(column.name) + ",";
    end_line(out);
  }
  static void begin_line(std::string&) {}
  static void add_cell(std::string& out, const Cell& cell, Kind) {
    out += std::visit(Printer{}, cell);
    out += ',';
  }
  static void add_number(std::string& out, double value, Kind kind) {
    if (std::isfinite(value)) append_number(out, value, kind);
    out += ',';
  }
  static void end_line(std::string& out) {
    if (out.ends_with(',')) out.pop_back();
    out += "\r\n";
  }
};

}  // namespace

void write_csv(const Table& table, const Sink& out) { FlatTable<Csv>(out).write(table); }

}  // namespace refrain::report
