// A source file with the share of the time beside its lines.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <set>

#include "offline/analysis/names.hpp"
#include "offline/report/run_page.hpp"
#include "offline/report/table_page.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

struct OfLine {
  double calls_s = 0, own_s = 0;  ///< of what is called there; of the function that begins there, by itself
  std::string function;
};

bool is_file(const std::string& file, const std::string& asked_for) {
  const std::string wanted = std::filesystem::path(asked_for).lexically_normal().string();
  return file == wanted ||
         (file.size() > wanted.size() && file.ends_with(wanted) && file[file.size() - wanted.size() - 1] == '/');
}

/// The names of files of which anything is known.
std::set<std::string> files_of(const analysis::CallTree& tree) {
  std::set<std::string> files;
  for (const analysis::TreeNode& node : tree.nodes)
    if (!node.file.empty()) files.insert(node.file);
  return files;
}

std::string chosen_file(const Document& d) {
  std::vector<std::string> found;
  const std::set<std::string> files = files_of(d.tree);
  for (const std::string& file : files)
    if (is_file(file, d.options.source)) found.push_back(file);
  // A path from elsewhere to a file of the same name.
  if (found.empty())
    for (const std::string& file : files)
      if (analysis::base_name(file) == analysis::base_name(d.options.source)) found.push_back(file);
  if (found.size() == 1) return found[0];
  std::string list;
  constexpr std::size_t most = 5;
  std::size_t count = 0;
  for (const std::string& file : found.empty() ? std::vector<std::string>(files.begin(), files.end()) : found)
    if (count++ < most) list += (list.empty() ? "" : ", ") + file;
  throw UsageError(fmt::format("--source {}: {}{}{}", d.options.source,
                               found.empty() ? "nothing is known of this file; of these it is: " : "it may be ", list,
                               count > most ? ", ..." : ""));
}

/// A function that calls itself counts once on a line.
std::map<int, OfLine> lines_of(const analysis::CallTree& tree, const std::string& file) {
  const run::Nodes nodes = columns_of(tree);
  const run::Keys by_line = keys_by(nodes, [&](std::uint32_t node) {
    const bool is_there = nodes.file(node) == file && nodes.line(node) > 0;
    return is_there ? std::optional(nodes.line(node)) : std::nullopt;
  });
  std::map<int, OfLine> lines;
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    const analysis::TreeNode& node = tree.nodes[i];
    if (by_line.of_node[i] == run::Keys::none || node.kind != analysis::PathKind::User) continue;
    OfLine& of = lines[node.line];
    of.own_s += node.exclusive_s;
    of.function = node.name;
    if (by_line.is_outermost[i]) of.calls_s += node.inclusive_s - node.exclusive_s;
  }
  return lines;
}

Table source_table(const Document& d) {
  auto file = std::make_shared<const std::string>(chosen_file(d));
  std::vector<Column> columns = {{"line", Kind::Id},
                                 {"calls_share", Kind::Share, Everywhere, "calls %"},
                                 {"calls_s", Kind::Seconds, Everywhere, "calls"},
                                 {"own_share", Kind::Share, Everywhere, "own %"},
                                 {"own_s", Kind::Seconds, Everywhere, "own"},
                                 {"function"}};
  return {"source", std::move(columns), [&d, file](const TakeRow& take) {
            for (const auto& [line, of] : lines_of(d.tree, *file))
              take({{std::int64_t{line}, of.calls_s / d.tree.totals.wall_s, of.calls_s, of.own_s / d.tree.totals.wall_s,
                     of.own_s, of.function}});
          }};
}

class SourcePage : public RunPage {
 public:
  SourcePage(const Document& document, const Terminal& terminal)
      : RunPage(document, terminal), file_(chosen_file(document)), lines_(lines_of(document.tree, file_)) {}

 private:
  void view() override {
    line(paint(style_.strong, cut_to(file_, width())));
    line(paint(style_.faint, right("calls %", 8) + right("own %", 8) + right("line", 7)));
    std::ifstream text(file_);
    // The sources may have moved since the program was built.
    if (!text) text.open(d_.options.source);
    if (!text) {
      for (const auto& [number, of] : lines_) print_line(number, of.function);
      line();
      return wrapped("", "The file is not here: its lines are not shown.", 0, style_.faint);
    }
    int number = 0;
    for (std::string one; std::getline(text, one);) {
      ++number;
      // What is far from any time is left out.
      if (is_near(number)) print_line(number, one);
      else if (is_near(number - 1)) line(paint(style_.faint, right(glyphs_.ellipsis, 23)));
    }
  }
  void more_footnotes() override {
    wrapped("",
            "calls: what is called on the line, with all that it calls. own: time in the function itself, which is "
            "known of functions as a whole: it stands above the line where the function begins.",
            0, style_.faint);
  }

  bool is_near(int number) const {
    constexpr int around = 3;
    const auto at = lines_.lower_bound(number - around);
    return at != lines_.end() && at->first <= number + around;
  }
  void print_line(int number, const std::string& text) {
    const auto of = lines_.find(number);
    const auto share = [&](double seconds) { return seconds > 0 ? percent(seconds, wall()) : std::string(); };
    if (of != lines_.end() && !share(of->second.own_s).empty())
      line(std::string(8, ' ') + right(share(of->second.own_s), 8) +
           paint(style_.faint,
                 cut_to(std::string(9, ' ') + of->second.function + ", in itself:", width() > 16 ? width() - 16 : 1)));
    std::string row = right(of == lines_.end() ? std::string() : share(of->second.calls_s), 8) + std::string(8, ' ');
    row += paint(style_.faint, right(fmt::format("{}", number), 7)) + "  ";
    std::string shown;
    constexpr std::size_t tab = 8;
    for (const char c : text) {
      if (c == '\t') shown.append(tab - shown.size() % tab, ' ');
      else if (static_cast<unsigned char>(c) >= 0x80 && !terminal_.utf8) shown += '?';
      else if (static_cast<unsigned char>(c) >= ' ') shown += c;
    }
    constexpr std::size_t used = 25;
    line(row + cut_to(shown, width() > used ? width() - used : 1));
  }

  const std::string file_;
  const std::map<int, OfLine> lines_;
};

}  // namespace

const View source_view{
    "--source",   [](const Options& options) { return !options.source.empty(); },
    {"--thread"}, [](const Document& d) { return std::vector{source_table(d)}; },
    source_table, [](const Document& d, const Terminal& terminal) { return SourcePage(d, terminal).render(); },
    true};

}  // namespace refrain::report
