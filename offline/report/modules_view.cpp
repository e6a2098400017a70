// Time by executable and library.
#include <algorithm>
#include <map>
#include <tuple>

#include "offline/report/columns.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

struct OfModule {
  std::string name;
  double seconds = 0, error_s = 0;
  std::int64_t samples = 0;
};

/// A marked loop or region has no module of its own: it belongs to that of its caller.
std::string module_of(const run::Nodes& nodes, std::uint32_t node) {
  if (nodes.kind(node) == run::PathKind::Mpi) return "(MPI)";
  if (nodes.kind(node) == run::PathKind::Other) return nodes.name(node);
  while (node != 0 && nodes.is_marked(node) && nodes.module(node).empty()) node = nodes.parent(node);
  return nodes.module(node).empty() ? "(unknown)" : nodes.module(node);
}

/// Time without a call path, by name, as in the tree: without that of idle helper threads (idle_helpers.hpp).
std::map<std::string, double> seconds_of_others(const analysis::CallTree& tree) {
  std::map<std::string, double> seconds;
  for (const analysis::TreeNode& node : tree.nodes)
    if (node.kind == run::PathKind::Other) seconds[node.name] += node.exclusive_s;
  return seconds;
}

}  // namespace

std::vector<Table> modules_tables(const Document& d) {
  Table table{
      "modules", columns("share: time %, time_s: time, standard_error_s: +-, samples, module"),
      [&d](const TakeRow& take) {
        const run::Run run = run_of(*d.experiment, d.tree);
        const run::Keys by_module = keys_by(run.nodes(), [&](std::uint32_t node) {
          return node == 0 ? std::nullopt : std::optional(module_of(run.nodes(), node));
        });
        const std::size_t samples = run.metrics().of(format::MetricId::Samples);
        const auto others = seconds_of_others(d.tree);
        std::vector<OfModule> order;
        for (const run::Answer& of : group(run, {.keys = &by_module, .metrics = {run::wall, samples}}, d.where()))
          for (std::size_t m = 0; m < by_module.size(); ++m) {
            OfModule& module = order.emplace_back(
                OfModule{module_of(run.nodes(), by_module.first[m]), of.exclusive_s(m, 0),
                         of.exclusive(m, 0).error().value_or(0) / 1e9, run::narrowed(of.exclusive(m, 1).value)});
            if (run.nodes().kind(by_module.first[m]) == run::PathKind::Other) module.seconds = others.at(module.name);
          }
        std::ranges::sort(order, [](const OfModule& a, const OfModule& b) {
          return std::tie(b.seconds, a.name) < std::tie(a.seconds, b.name);
        });
        for (const OfModule& of : order)
          if (of.seconds > 0)
            take({{of.seconds / d.tree.totals.wall_s, of.seconds, of.error_s > 0 ? Cell(of.error_s) : Cell(),
                   of.samples, of.name}});
      }};
  table.empty = "No time was measured.";
  return {std::move(table)};
}

}  // namespace refrain::report
