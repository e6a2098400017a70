// A source file with the share of the time beside its lines.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>

#include "offline/experiment/clean_text.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/views.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::report {
namespace {

struct OfLine {
  double calls_s = 0, own_s = 0;  ///< of calls on the line; of the function that begins there, without its calls
  std::string function;
};

bool is_file(const std::string& file, const std::string& asked_for) {
  const std::string wanted = std::filesystem::path(asked_for).lexically_normal().string();
  return file == wanted ||
         (file.size() > wanted.size() && file.ends_with(wanted) && file[file.size() - wanted.size() - 1] == '/');
}

/// The source files that call paths name.
std::set<std::string> files_of(const analysis::CallTree& tree) {
  std::set<std::string> files;
  for (const analysis::TreeNode& node : tree.nodes)
    if (!node.file.empty()) files.insert(node.file);
  return files;
}

std::string chosen_file(const Document& d) {
  const std::set<std::string> files = files_of(d.tree);
  std::vector<std::string> found;
  std::ranges::copy_if(files, std::back_inserter(found),
                       [&](const auto& of) { return is_file(of, d.request.subject); });
  // The user may give another path to a file of the same name.
  if (found.empty())
    std::ranges::copy_if(files, std::back_inserter(found), [&](const std::string& of) {
      return symbols::base_name(of) == symbols::base_name(d.request.subject);
    });
  if (found.size() == 1) return found[0];
  const char* what = found.empty() ? "nothing is known of this file; of these it is: " : "it may be ";
  if (found.empty()) found.assign(files.begin(), files.end());
  constexpr std::size_t most = 5;
  const bool are_more = found.size() > most;
  if (are_more) found.resize(most);
  throw UsageError(
      fmt::format("--source {}: {}{}{}", d.request.subject, what, fmt::join(found, ", "), are_more ? ", ..." : ""));
}

/// A recursive function counts once on a line.
std::map<int, OfLine> lines_of(const analysis::CallTree& tree, const std::string& file) {
  const run::Nodes nodes = columns_of(tree);
  const run::Keys by_line = keys_by(nodes, [&](std::uint32_t node) {
    const bool is_there = nodes.file(node) == file && nodes.line(node) > 0;
    return is_there ? std::optional(nodes.line(node)) : std::nullopt;
  });
  std::map<int, OfLine> lines;
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    const analysis::TreeNode& node = tree.nodes[i];
    if (by_line.of_node[i] == run::Keys::none || node.kind != run::PathKind::User) continue;
    OfLine& of = lines[node.line];
    of.own_s += node.exclusive_s;
    of.function = node.name;
    if (by_line.is_outermost[i]) of.calls_s += node.inclusive_s - node.exclusive_s;
  }
  return lines;
}

Table source_table(const Document& d, std::shared_ptr<const std::string> file) {
  return {"source", columns("line, calls_share: calls %, calls_s: calls, own_share: own %, own_s: own, function"),
          [&d, file = std::move(file)](const TakeRow& take) {
            const double wall_s = d.tree.totals.wall_s;
            for (const auto& [line, of] : lines_of(d.tree, *file))
              take({{std::int64_t{line}, of.calls_s / wall_s, of.calls_s, of.own_s / wall_s, of.own_s, of.function}});
          }};
}

/// A line of a source file, cleaned, with tabs expanded.
std::string shown_line(std::string_view line) {
  constexpr std::size_t tab = 8;
  std::string shown;
  for (const char c : experiment::clean_lines(line)) {
    if (c == '\t') shown.append(tab - shown.size() % tab, ' ');
    else if (c != '\n') shown += c;
  }
  return shown;
}

/// The lines of a source file that are near a line with time; without the file, the lines with time, by function.
class Listing {
 public:
  Listing(const Document& d, const std::string& file) : wall_s_(d.tree.totals.wall_s), lines_(lines_of(d.tree, file)) {
    text_.open(file);
    // The sources may have moved since the program was built.
    if (!text_) text_.open(d.request.subject);
  }
  bool has_text() const { return text_.is_open(); }

  void rows(const TakeRow& take) {
    if (!has_text())
      for (const auto& [number, of] : lines_) take_line(number, of.function, take);
    int number = 0;
    for (std::string line; std::getline(text_, line);) {
      ++number;
      if (is_near(number)) take_line(number, shown_line(line), take);
      else if (is_near(number - 1)) take({{Cell(), Cell(), "...", Cell()}});
    }
  }

 private:
  bool is_near(int number) const {
    constexpr int around = 3;
    const auto at = lines_.lower_bound(number - around);
    return at != lines_.end() && at->first <= number + around;
  }
  void take_line(int number, const std::string& text, const TakeRow& take) const {
    const auto of = lines_.find(number);
    const bool is_known = of != lines_.end();
    if (is_known && of->second.own_s > 0)
      take({{Cell(), of->second.own_s / wall_s_, Cell(), of->second.function + ", in itself:"}, {}, Look::Other});
    take({{is_known ? Cell(of->second.calls_s / wall_s_) : Cell(), Cell(), std::int64_t{number}, text}});
  }

  const double wall_s_;
  const std::map<int, OfLine> lines_;
  std::ifstream text_;
};

Table listing_table(const Document& d, const std::string& file) {
  const auto listing = std::make_shared<Listing>(d, file);
  Table table{.name = "listing",
              .columns = columns("calls_share: calls %, own_share: own %, line") +
                         std::vector<Column>{{"text", Kind::Words, Everywhere, " "}},
              .rows = [listing](const TakeRow& take) { listing->rows(take); },
              .before = {{file, Note::Strong, 0, true}},
              .footnotes = {{"calls: what is called on the line, with all that it calls. own: time in the function "
                             "itself, which is known of functions as a whole: it stands above the line where the "
                             "function begins.",
                             Note::Faint}}};
  if (!listing->has_text()) table.after = {{}, {"The file is not here: its lines are not shown.", Note::Faint}};
  return table;
}

}  // namespace

std::vector<Table> source_tables(const Document& d) {
  const std::string file = chosen_file(d);
  if (d.request.format == Format::Text) return {listing_table(d, file)};
  return {source_table(d, std::make_shared<const std::string>(file))};
}

}  // namespace refrain::report
