// Where the time went, by the executable or library that it was in.
#include <algorithm>
#include <cmath>
#include <map>

#include "offline/report/table_page.hpp"

namespace refrain::report {
namespace {

struct OfModule {
  double seconds = 0, error_s = 0;
  std::int64_t samples = 0;
};

/// What the program marks has no place of its own: it is where its caller is.
std::string module_of(const analysis::CallTree& tree, std::size_t node) {
  while (node != 0 && tree.nodes[node].marked && tree.nodes[node].module.empty())
    node = static_cast<std::size_t>(tree.nodes[node].parent);
  return tree.nodes[node].module.empty() ? "(unknown)" : tree.nodes[node].module;
}

Table modules_table(const Document& d) {
  std::vector<Column> columns = {{"share", Kind::Share, Everywhere, "time %"},
                                 {"time_s", Kind::Seconds, Everywhere, "time"},
                                 {"standard_error_s", Kind::Seconds, Everywhere, "+-"},
                                 {"samples", Kind::Count},
                                 {"module"}};
  return {"modules", std::move(columns), [&d](const TakeRow& take) {
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
}

}  // namespace

const View modules_view{"--modules",
                        [](const Options& options) { return options.modules; },
                        {"--callsites", "--sort", "--limit", "--columns", "--thread"},
                        [](const Document& d) { return std::vector{modules_table(d)}; },
                        modules_table,
                        [](const Document& d, const Terminal& terminal) {
                          return table_page(d, terminal, modules_table(d), "No time was measured.");
                        },
                        true};

}  // namespace refrain::report
