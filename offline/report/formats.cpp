#include <algorithm>

#include "offline/report/table.hpp"

namespace refrain::report {

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const FormatRow& row : format_table) names.emplace_back(row.name);
  return names;
}

Format format_of(const std::string& name) {
  const auto* const row = std::ranges::find(format_table, name, &FormatRow::name);
  return row == std::end(format_table) ? Format::Text : row->format;
}

}  // namespace refrain::report
