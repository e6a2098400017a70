#include "report/report.hpp"

#include <algorithm>

#include "analysis/call_tree.hpp"
#include "analysis/functions.hpp"
#include "report/overview.hpp"

namespace refrain::report {
namespace {

void check_ranks(const archive::Profile& profile, const std::vector<std::int32_t>& wanted) {
  for (const std::int32_t rank : wanted) {
    const bool known =
        std::any_of(profile.ranks.begin(), profile.ranks.end(), [&](const archive::Rank& r) { return r.rank == rank; });
    if (known) continue;
    throw UsageError("--rank " + std::to_string(rank) + ": the experiment has no data of that rank (its job had " +
                     std::to_string(profile.ranks_expected) + (profile.ranks_expected == 1 ? " rank)" : " ranks)"));
  }
}

}  // namespace

std::string render(const archive::Experiment& experiment, const Options& options, const Terminal& terminal,
                   analysis::Symbolizer& symbolizer) {
  check_ranks(experiment.profile, options.ranks);
  analysis::CallTreeOptions tree_options;
  tree_options.callsites = options.callsites;
  tree_options.depth = options.callpath_depth;
  tree_options.progress = options.progress;
  if (!options.ranks.empty())
    tree_options.ranks = [&](int rank) {
      return std::find(options.ranks.begin(), options.ranks.end(), rank) != options.ranks.end();
    };
  const analysis::CallTree tree = build_call_tree(experiment.profile, symbolizer, tree_options);
  std::vector<analysis::FunctionTotals> functions;
  if (options.flat) functions = function_totals(tree);
  const Overview overview = overview_of(experiment, tree);
  const Document document{experiment, options, tree, functions, overview};
  switch (options.format) {
    case Format::Json: return json_report(document);
    case Format::Csv: return csv_report(document);
    case Format::Text: break;
  }
  return text_report(document, terminal);
}

}  // namespace refrain::report
