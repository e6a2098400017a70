#include "offline/explorer/advice.hpp"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

namespace refrain::explorer {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// Cells of "| a | b | c |", without blanks around them.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  if (!line.starts_with('|')) return cells;
  line.remove_prefix(1);
  for (std::size_t end; (end = line.find('|')) != line.npos; line.remove_prefix(end + 1)) {
    std::string_view cell = line.substr(0, end);
    while (cell.starts_with(' ')) cell.remove_prefix(1);
    while (cell.ends_with(' ')) cell.remove_suffix(1);
    cells.emplace_back(cell);
  }
  return cells;
}

std::string without_marks(std::string text) {
  std::erase(text, '`');
  std::erase(text, '*');
  return text;
}

}  // namespace

std::map<std::string, Advice> advice_of(std::string_view patterns) {
  std::map<std::string, Advice> all;
  std::vector<std::string> of_section;
  bool is_advice = false;
  for (const std::string_view line : lines_of(patterns)) {
    if (line.starts_with("## ")) of_section.clear();
    if (line.empty() || line.starts_with('#')) is_advice = false;
    const std::vector<std::string> cells = cells_of(line);
    constexpr std::size_t columns = 3;  // name, parent, description
    if (cells.size() == columns && cells[0].size() > 2 && cells[0].starts_with('`') && cells[0].ends_with('`')) {
      const std::string name = cells[0].substr(1, cells[0].size() - 2);
      all[name].help = without_marks(cells[2]);
      of_section.push_back(name);
    }
    constexpr std::string_view begin = "What to do: ";
    is_advice |= line.starts_with(begin);
    if (!is_advice) continue;
    const std::string text = without_marks(std::string(line.starts_with(begin) ? line.substr(begin.size()) : line));
    for (const std::string& name : of_section) {
      std::string& advice = all[name].advice;
      if (advice.empty() && !text.empty())
        advice = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0]))) + text.substr(1);
      else advice += (advice.empty() ? "" : " ") + text;
    }
  }
  return all;
}

std::string title_of(const std::string& metric) {
  constexpr std::pair<std::string_view, const char*> titles[] = {
      {"wall", "Time"},        {"user", "User code"},   {"not_on_cpu", "Off the CPU"},
      {"refrain", "Refrain"},  {"mpi_io", "MPI files"}, {"waited_for_core", "Waited for a core"},
      {"visits", "MPI calls"}, {"cpu", "CPU time"},     {"off_cpu_mpi", "Off the CPU in MPI"}};
  for (const auto& [name, title] : titles)
    if (metric == name) return title;
  std::string text = metric;
  if (text.starts_with("mpi")) text.replace(0, 3, "MPI");
  if (text.starts_with("PAPI_") || text.find("::") != text.npos) return text;
  std::ranges::replace(text, '_', ' ');
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace refrain::explorer
