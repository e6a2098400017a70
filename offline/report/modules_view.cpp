// Time by executable and library.
#include <algorithm>
#include <cmath>
#include <map>

#include "offline/report/columns.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

struct OfModule {
  double seconds = 0, error_s = 0;
  std::int64_t samples = 0;
};

/// A region that the program marks has no module of its own: it is in the one of its caller.
std::string module_of(const analysis::CallTree& tree, std::size_t node) {
  while (node != 0 && tree.nodes[node].marked && tree.nodes[node].module.empty())
    node = static_cast<std::size_t>(tree.nodes[node].parent);
  return tree.nodes[node].module.empty() ? "(unknown)" : tree.nodes[node].module;
}

}  // namespace

std::vector<Table> modules_tables(const Document& d) {
  Table table{"modules", columns("share: time %, time_s: time, standard_error_s: +-, samples, module"),
              [&d](const TakeRow& take) {
                std::map<std::string, OfModule> modules;
                for (std::size_t i = 1; i < d.tree.nodes.size(); ++i) {
                  const analysis::TreeNode& of = d.tree.nodes[i];
                  const std::string name = of.kind == analysis::PathKind::Mpi     ? "(MPI)"
                                           : of.kind == analysis::PathKind::Other ? of.name
                                                                                  : module_of(d.tree, i);
                  OfModule& to = modules[name];
                  to.seconds += of.exclusive_s;
                  to.error_s = std::hypot(to.error_s, of.exclusive_error_s);
                  to.samples += of.exclusive[format::MetricId::Samples];
                }
                std::vector<std::pair<std::string, OfModule>> order(modules.begin(), modules.end());
                std::ranges::stable_sort(order, std::greater<>{}, [](const auto& of) { return of.second.seconds; });
                for (const auto& [name, of] : order)
                  if (of.seconds > 0)
                    take({{of.seconds / d.tree.totals.wall_s, of.seconds, of.error_s > 0 ? Cell(of.error_s) : Cell(),
                           of.samples, name}});
              }};
  table.empty = "No time was measured.";
  return {std::move(table)};
}

}  // namespace refrain::report
