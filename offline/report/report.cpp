#include "offline/report/report.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/experiment/rank_pass.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/views.hpp"
#include "offline/symbols/names.hpp"

namespace refrain::report {

analysis::CallTreeOptions tree_options(const Request& request, const Progress& progress) {
  analysis::CallTreeOptions of_tree;
  of_tree.callsites = request.has_callsites();
  of_tree.depth = static_cast<int>(request.callpath_depth.value_or(0));
  of_tree.fold = request.fold;
  of_tree.progress = progress;
  of_tree.where = where_of(request);
  of_tree.function_errors = request.asks(Show::Functions) || request.format == Format::Json;
  return of_tree;
}

run::Where where_of(const Request& request) {
  run::Where where;
  if (!request.ranks.empty()) where.ranks = [&](int rank) { return request.chosen(rank); };
  if (request.some_threads()) where.threads = [&](int rank, int thread) { return request.chosen(rank, thread); };
  return where;
}

void refuse_threads(const experiment::Experiment& experiment, const Request& request) {
  std::int32_t most = 0;
  const auto is_chosen = [&](std::int32_t rank) { return request.chosen(rank); };
  for_each_rank(experiment, is_chosen, experiment::Depth::Run, [&](const experiment::Rank& rank) {
    for (const experiment::Location& location : rank.locations) most = std::max(most, location.thread);
  });
  const std::string option = request.thread ? fmt::format("--thread {}", *request.thread)
                                            : fmt::format("--rank {}.{}", request.threads_of_ranks[0].first,
                                                          request.threads_of_ranks[0].second);
  throw UsageError(fmt::format("{}: no thread of this number is here; the last one is {}", option, most));
}

void check_ranks(const experiment::Experiment& experiment, const std::vector<std::int32_t>& wanted) {
  for (const std::int32_t rank : wanted)
    if (!std::ranges::binary_search(experiment.ranks(), rank))
      throw UsageError(fmt::format("--rank {}: the experiment has no data of that rank (its job had {})", rank,
                                   plural(experiment.definitions().ranks_expected, "rank", "ranks")));
}

namespace {

void check_folds(const experiment::Experiment& experiment, const Request& request) {
  const auto& modules = experiment.definitions().modules;
  for (const std::string& wanted : request.fold.modules) {
    const analysis::ModuleFold fold{{wanted}, false};
    if (std::ranges::none_of(modules, [&](const auto& of) { return fold.folds(symbols::base_name(of.path)); }))
      throw UsageError(
          fmt::format("--fold {}: no call path of the program goes through a module of this name "
                      "(--modules lists them)",
                      wanted));
  }
}

/// Renders one iteration or one cluster, which does not need the tree of the run.
void render_part(const Source& source, const Request& request, const Terminal& terminal, const Sink& out) {
  const experiment::Experiment& experiment = *source.experiment;
  const LoopView view = view_loops(source, request, {});
  require_loops(view, experiment, nullptr);
  const PartTree of = part_of_run(source, request, view);
  Request of_part = request;
  if (of.rank) of_part.ranks = {*of.rank};
  OverviewBuilder overview;
  for_each_rank(experiment, where_of(of_part).ranks, experiment::Depth::Run,
                [&](const experiment::Rank& rank) { overview.add(rank); });
  const Overview about = overview.finish(experiment, of_part, of.tree);
  print_document({source.experiment, of_part, of.tree, about, of.part}, terminal, out);
}

}  // namespace

void check_request(const experiment::Experiment& experiment, const Request& request) {
  check_options(request);
  for (const Show view : request.views)
    if ((row_of(view).needs & AllRanks) && !request.ranks.empty())
      throw UsageError(
          fmt::format("--rank does not go together with {}: what is shown takes all ranks", row_of(view).option));
  check_ranks(experiment, request.ranks);
  check_folds(experiment, request);
}

void render(const Source& source, const Request& request, const Terminal& terminal, const Sink& out) {
  const experiment::Experiment& experiment = *source.experiment;
  check_request(experiment, request);
  if (request.is_of_part()) return render_part(source, request, terminal, out);
  OverviewBuilder overview;
  analysis::CallTreeOptions of_tree = tree_options(request, source.progress);
  of_tree.also = [&](const experiment::Rank& rank) { overview.add(rank); };
  std::optional<SeenRanks> seen;
  // A collective operation is compared with the shortest one of any rank: some ranks alone do not tell it.
  if (request.shows_call_tree() || (request.asks(Show::Clusters) && request.ranks.empty()))
    seen.emplace(experiment).look_at(of_tree);
  const analysis::MinimumWaits* const minima = seen ? &seen->minima : nullptr;
  const analysis::CallTree tree = analysis::build_call_tree(experiment, source.symbolizer, of_tree);
  if (request.some_threads() && tree.locations.empty()) refuse_threads(experiment, request);
  std::optional<UsualProfile> usual;
  if (seen && request.has_usual_names() && request.ranks.empty() && !request.some_threads()) usual.emplace(tree, *seen);
  Found found = source.search ? source.search(usual ? &*usual : nullptr) : Found();
  if (!request.needs_findings()) found.findings.clear();
  if (!request.needs_traffic()) found.traffic.reset();

  // Only a JSON document may have empty lists.
  const bool must_have_rows = request.format != Format::Json, loops = request.needs(Loops);
  LoopView view;
  if (loops) view = view_loops(source, request, tree);
  if (loops && must_have_rows) require_loops(view, experiment, &tree);
  const Overview about = overview.finish(experiment, request, tree);
  if (request.asks(Show::Waits) && must_have_rows && !found.has_events && !minima->any())
    throw UsageError(found.not_searched.empty()
                         ? "--waits: the experiment has neither events nor durations of calls, which tell this"
                         : "--waits: the experiment has no durations of calls, and its events were not searched: " +
                               found.not_searched);
  print_document({source.experiment, request, tree, about, {}, loops ? &view : nullptr, minima, found}, terminal, out);
}

}  // namespace refrain::report
