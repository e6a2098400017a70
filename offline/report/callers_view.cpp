// The callers of a function: its time and calls by the call path that leads to it.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/analysis/callpath_match.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

bool is_called(const std::string& name, const std::string& wanted) {
  return name == wanted || analysis::short_name(name) == wanted || analysis::qualified_name(name) == wanted;
}

/// The outermost calls of the function: its time already includes that of its recursive calls.
std::vector<std::uint32_t> calls_of(const analysis::CallTree& tree, const std::string& wanted) {
  const run::Keys called = keys_by(columns_of(tree), [&](std::uint32_t node) {
    return node != 0 && is_called(tree.nodes[node].name, wanted) ? std::optional(0) : std::nullopt;
  });
  std::vector<std::uint32_t> calls;
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i)
    if (called.is_outermost[i]) calls.push_back(i);
  if (calls.empty()) {
    const auto near = analysis::similar_functions(tree, wanted, 5);
    throw UsageError(fmt::format("--callers {}: no function of this name has any time{}{}", wanted,
                                 near.empty() ? "" : "; near it: ", fmt::join(near, ", ")));
  }
  return calls;
}

}  // namespace

std::vector<Table> callers_tables(const Document& d) {
  const auto seconds_of = [&d](std::uint32_t node) { return d.tree.nodes[node].inclusive_s; };
  std::vector<std::uint32_t> calls = calls_of(d.tree, d.request.subject);
  std::ranges::stable_sort(calls, std::greater<>{}, seconds_of);
  Table table{"callers",
              columns("share: time %, time_s: time, standard_error_s: +-, of_function: of it %, mpi_calls: MPI calls") +
                  columns("path", ForPrograms) + columns("callers: called in", ForPeople),
              [&d, calls, seconds_of](const TakeRow& take) {
                double all_s = 0;
                for (const std::uint32_t call : calls) all_s += seconds_of(call);
                analysis::ReadableNames readable;
                for (const analysis::TreeNode& of : d.tree.nodes) readable.add(of.name);
                for (const std::uint32_t call : calls) {
                  const analysis::TreeNode& of = d.tree.nodes[call];
                  const std::vector<std::string> names = path_to(d.tree, call);
                  // The nearest caller comes first because it says most.
                  std::string text;
                  for (std::size_t n = names.size() - 1; n-- > 0;)
                    text += (text.empty() ? "" : " <- ") + readable.of(names[n]);
                  if (text.empty()) text = "(nothing: the program begins there)";
                  take({{of.inclusive_s / d.tree.totals.wall_s, of.inclusive_s,
                         of.standard_error_s > 0 ? Cell(of.standard_error_s) : Cell(),
                         all_s > 0 ? of.inclusive_s / all_s : 0, of.inclusive[format::MetricId::Visits], names, text}});
                }
              }};
  table.empty = "Nobody has called it.";
  table.footnotes = {{fmt::format("Time of {} with what it calls, by caller.", d.request.subject), Note::Faint}};
  return {std::move(table)};
}

}  // namespace refrain::report
