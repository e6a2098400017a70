#include "offline/report/human_cells.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

struct CellText {
  Kind kind;
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "yes" : ""; }
  std::string operator()(std::int64_t value) const {
    if (value == 0 && kind != Kind::Id) return "";
    return kind == Kind::Bytes ? human_bytes(value) : human_count(value);
  }
  std::string operator()(double value) const {
    if (kind == Kind::Share) return percent(value, 1);
    if (kind == Kind::Moment) return fmt::format("{:.9f}", value);
    return kind == Kind::Seconds ? human_time(value) : fmt::format("{:.3g}", value);
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::string>& names) const {
    return fmt::format("{}", fmt::join(names, kind == Kind::Sentence ? "" : kind == Kind::Items ? ", " : "/"));
  }
  std::string operator()(const NamedTexts& all) const {
    std::string text;
    for (const auto& [name, value] : all) text += (text.empty() ? "" : ", ") + value;
    return text;
  }
  std::string operator()(const std::vector<std::int64_t>& numbers) const {
    return fmt::format("{}", fmt::join(numbers, ", "));
  }
};

}  // namespace

std::string human_cell(const Cell& cell, Kind kind) { return std::visit(CellText{kind}, cell); }

}  // namespace refrain::report
