// Where the time went, by the executable or library that it was in.
#include <algorithm>
#include <tuple>

#include "offline/analysis/names.hpp"
#include "offline/report/table_page.hpp"

namespace refrain::report {
namespace {

struct OfModule {
  std::string name;
  double seconds = 0, error_s = 0;
  std::int64_t samples = 0;
};

/// A loop or region that the program has marked has no place of its own: it is where its caller is.
std::string module_of(const run::Nodes& nodes, std::uint32_t node) {
  if (nodes.kind(node) == analysis::PathKind::Mpi) return "(MPI)";
  if (nodes.kind(node) == analysis::PathKind::Other) return nodes.name(node);
  while (node != 0 && nodes.is_marked(node) && nodes.module(node).empty()) node = nodes.parent(node);
  return nodes.module(node).empty() ? "(unknown)" : nodes.module(node);
}

Table modules_table(const Document& d) {
  std::vector<Column> columns = {{"share", Kind::Share, Everywhere, "time %"},
                                 {"time_s", Kind::Seconds, Everywhere, "time"},
                                 {"standard_error_s", Kind::Seconds, Everywhere, "+-"},
                                 {"samples", Kind::Count},
                                 {"module"}};
  return {"modules", std::move(columns), [&d](const TakeRow& take) {
            const run::Run run = run_of(*d.experiment, d.tree);
            const run::Keys by_module = keys_by(run.nodes(), [&](std::uint32_t node) {
              return node == 0 ? std::nullopt : std::optional(module_of(run.nodes(), node));
            });
            std::vector<OfModule> order(by_module.size());
            for (std::uint32_t i = 1; i < d.tree.nodes.size(); ++i) {
              OfModule& to = order[by_module.of_node[i]];
              to.name = module_of(run.nodes(), i);
              to.seconds += d.tree.nodes[i].exclusive_s;
              to.samples += d.tree.nodes[i].exclusive[format::MetricId::Samples];
            }
            for (const run::Answer& of : group(run, {.keys = &by_module, .metrics = {run::wall}}, d.where()))
              for (std::size_t m = 0; m < order.size(); ++m)
                order[m].error_s = of.exclusive(m, 0).error().value_or(0) / 1e9;
            std::ranges::sort(order, [](const OfModule& a, const OfModule& b) {
              return std::tie(b.seconds, a.name) < std::tie(a.seconds, b.name);
            });
            for (const OfModule& of : order)
              if (of.seconds > 0)
                take({{of.seconds / d.tree.totals.wall_s, of.seconds, of.error_s > 0 ? Cell(of.error_s) : Cell(),
                       of.samples, of.name}});
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
