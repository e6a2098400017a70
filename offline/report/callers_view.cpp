// The callers of a function: its time and calls by the call path that leads to it.
#include <algorithm>
#include <fmt/format.h>

#include "offline/analysis/callpath_match.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

bool is_called(const std::string& name, const std::string& wanted) {
  return name == wanted || analysis::short_name(name) == wanted || analysis::qualified_name(name) == wanted;
}

/// The outermost calls: the time of a function includes that of its calls of itself.
std::vector<std::uint32_t> calls_of(const analysis::CallTree& tree, const std::string& wanted) {
  std::vector<bool> inside(tree.nodes.size());
  std::vector<std::uint32_t> calls;
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    inside[i] = inside[static_cast<std::size_t>(tree.nodes[i].parent)];
    if (inside[i] || !is_called(tree.nodes[i].name, wanted)) continue;
    calls.push_back(i);
    inside[i] = true;
  }
  if (calls.empty()) {
    const auto similar = analysis::similar_functions(tree, wanted, 5);
    std::string near;
    for (const std::string& name : similar) near += (near.empty() ? "; near it: " : ", ") + name;
    throw UsageError(fmt::format("--callers {}: no function of this name has any time{}", wanted, near));
  }
  return calls;
}

}  // namespace

std::vector<Table> callers_tables(const Document& d) {
  std::vector<Column> all = columns("share: time %, time_s: time, standard_error_s: +-, of_function: of it %, "
                                    "mpi_calls: MPI calls") +
                            columns("path", ForPrograms) + columns("callers: called in", ForPeople);
  auto calls = std::make_shared<const std::vector<std::uint32_t>>(calls_of(d.tree, d.request.subject));
  Table table{"callers", std::move(all), [&d, calls](const TakeRow& take) {
            struct Path {
              std::vector<std::string> names;
              double seconds, error_s;
              std::int64_t mpi_calls;
            };
            std::vector<Path> paths;
            double all_s = 0;
            analysis::ReadableNames readable;
            for (const analysis::TreeNode& of : d.tree.nodes) readable.add(of.name);
            for (const std::uint32_t i : *calls) {
              const analysis::TreeNode& of = d.tree.nodes[i];
              paths.push_back(
                  {path_to(d.tree, i), of.inclusive_s, of.standard_error_s, of.inclusive[format::MetricId::Visits]});
              all_s += of.inclusive_s;
            }
            std::ranges::stable_sort(paths, std::greater<>{}, &Path::seconds);
            for (const Path& of : paths) {
              // The nearest caller says most.
              std::string text;
              for (std::size_t n = of.names.size() - 1; n-- > 0;)
                text += (text.empty() ? "" : " <- ") + readable.of(of.names[n]);
              if (text.empty()) text = "(nothing: the program begins there)";
              take({{of.seconds / d.tree.totals.wall_s, of.seconds, of.error_s > 0 ? Cell(of.error_s) : Cell(),
                     all_s > 0 ? of.seconds / all_s : 0, of.mpi_calls, of.names, text}});
            }
          }};
  table.empty = "Nobody has called it.";
  table.footnotes = {{fmt::format("Time of {} with what it calls, by caller.", d.request.subject), Note::Faint}};
  return {std::move(table)};
}

}  // namespace refrain::report
