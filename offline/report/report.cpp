#include "offline/report/report.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/functions.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/report/overview.hpp"
#include "offline/report/part_of_run.hpp"
#include "offline/report/windows.hpp"

namespace refrain::report {
namespace {

void check_ranks(const experiment::Profile& profile, const std::vector<std::int32_t>& wanted) {
  for (const std::int32_t rank : wanted) {
    const bool known = std::any_of(profile.ranks.begin(), profile.ranks.end(),
                                   [&](const experiment::Rank& r) { return r.rank == rank; });
    if (known) continue;
    throw UsageError("--rank " + std::to_string(rank) + ": the experiment has no data of that rank (its job had " +
                     std::to_string(profile.ranks_expected) + (profile.ranks_expected == 1 ? " rank)" : " ranks)"));
  }
}

/// Text and CSV show one thing: an option that is about another one is refused. JSON has a member for each.
void check_options(const Options& options) {
  const bool loops = options.iterations || options.clusters, part = options.iteration || options.cluster;
  const char* view = options.iterations ? "--iterations"
                     : options.clusters ? "--clusters"
                     : options.windows  ? "--windows"
                                        : nullptr;
  const bool no_tree = view != nullptr && options.format != Format::Json;
  const auto refuse = [](const char* option, const std::string& why) {
    throw UsageError(fmt::format("{}: {}", option, why));
  };
  const std::string not_in_it = no_tree ? fmt::format("of call paths, which {} does not show", view) : "";
  if (options.iterations && options.clusters && options.format == Format::Csv)
    refuse("--format csv", "one table at a time, --iterations or --clusters");
  if (no_tree && options.flat) refuse("--flat", not_in_it);
  if (no_tree && options.callsites) refuse("--callsites", not_in_it);
  if (no_tree && options.callpath_depth > 0 && options.callpath.empty()) refuse("--callpath-depth", not_in_it);
  if (no_tree && options.min_share) refuse("--min-share", not_in_it);
  if (options.flat && options.callsites) refuse("--callsites", "--flat does not keep call sites apart");
  if (options.min_share && options.format != Format::Text)
    refuse("--min-share", "only text folds call paths; here all of them are shown");
  if (!loops && !part && !options.loop.empty())
    refuse("--loop", "goes with --iterations, --clusters, --iteration or --cluster");
  if (!loops && !part && options.thread)
    refuse("--thread", "goes with --iterations, --clusters, --iteration or --cluster");
}

analysis::CallTree tree_of(const experiment::Experiment& experiment, const Options& options,
                           analysis::Symbolizer& symbolizer) {
  analysis::CallTreeOptions tree_options;
  tree_options.callsites = options.callsites;
  tree_options.depth = options.callpath_depth;
  tree_options.progress = options.progress;
  if (!options.ranks.empty())
    tree_options.ranks = [&](int rank) {
      return std::find(options.ranks.begin(), options.ranks.end(), rank) != options.ranks.end();
    };
  return build_call_tree(experiment.profile, symbolizer, tree_options);
}

/// The call tree, or the functions, of a run or a part of it.
std::string whole(const Document& document, const Terminal& terminal) {
  switch (document.options.format) {
    case Format::Json: return json_report(document);
    case Format::Csv: return csv_report(document);
    case Format::Text: break;
  }
  return text_report(document, terminal);
}

/// `run` is the experiment that this is a part of: a rank without this part is not a rank without data.
std::string render_part(const experiment::Experiment& run, const PartOfRun& part, const Terminal& terminal,
                        analysis::Symbolizer& symbolizer) {
  const analysis::CallTree tree = tree_of(part.experiment, part.options, symbolizer);
  std::vector<analysis::FunctionTotals> functions;
  if (part.options.flat) functions = function_totals(tree);
  const Overview overview = overview_of(run, tree);
  return whole({part.experiment, part.options, tree, functions, overview, part.subject, nullptr, part.samples_recorded,
                part.pool_samples, part.reconstructed},
               terminal);
}

}  // namespace

std::string render(const experiment::Experiment& experiment, const Options& options, const Terminal& terminal,
                   analysis::Symbolizer& symbolizer) {
  check_options(options);
  check_ranks(experiment.profile, options.ranks);
  const bool part = options.iteration || options.cluster;
  const bool loops = options.iterations || options.clusters;
  const analysis::CallTree tree = tree_of(experiment, options, symbolizer);
  LoopView view;
  if (part || loops) view = view_loops(experiment, options, tree);
  // Programs that read JSON know an empty list when they see one.
  if (part || (loops && options.format != Format::Json)) require_loops(view);
  if (part) return render_part(experiment, part_of_run(experiment, options, view), terminal, symbolizer);

  std::vector<analysis::FunctionTotals> functions;
  if (options.flat) functions = function_totals(tree);
  const Overview overview = overview_of(experiment, tree);
  const Document document{experiment, options, tree, functions, overview, {}, loops ? &view : nullptr};
  if (options.windows && options.format == Format::Text) return windows_text(document, terminal);
  if (options.windows && options.format == Format::Csv) return windows_csv(document);
  if (loops && options.format == Format::Text) return loops_text(document, terminal);
  if (loops && options.format == Format::Csv) return loops_csv(document);
  return whole(document, terminal);
}

}  // namespace refrain::report
