#include "offline/report/compared_run.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

#include "offline/report/idle_helpers.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

void find_ranks_and_elapsed(ComparedRun& run) {
  std::map<std::int32_t, const analysis::LocationSummary*> first;  // the first of the chosen threads of each rank
  for (const analysis::LocationSummary& of : run.tree.locations)
    if (const auto [at, is_new] = first.try_emplace(of.rank, &of); !is_new && of.thread < at->second->thread)
      at->second = &of;
  run.ranks = static_cast<double>(std::max<std::size_t>(first.size(), 1));
  for (const auto& [rank, of] : first) run.elapsed_s += of->wall_s / run.ranks;
}

std::string lacks_of(const experiment::Experiment& experiment, const analysis::CallTree& tree) {
  const experiment::ProfileDefinitions& definitions = experiment.definitions();
  const bool has_all_ranks = experiment.ranks().size() >= static_cast<std::size_t>(definitions.ranks_expected);
  if (!definitions.complete || experiment.manifest().state == "incomplete" || !has_all_ranks) return "it is incomplete";
  if (experiment.damages() > 0) return "a part of it is damaged";
  const bool is_cut = std::ranges::any_of(tree.nodes, [](const analysis::TreeNode& of) {
    return of.name == run::truncated_name || of.name == run::arena_full_name;
  });
  return is_cut ? "some of its call paths were cut" : "";
}

}  // namespace

ComparedRun compared_run(const std::shared_ptr<const experiment::Experiment>& experiment, const Request& request,
                         const Progress& progress, analysis::Symbolizer& symbolizer) {
  check_ranks(*experiment, request.ranks);
  ComparedRun run;
  run.name = experiment->directory().string();
  run.about = joined_command(experiment->manifest().command);
  run.source = "experiment";
  run.experiment = experiment;
  run.tree = build_call_tree(*experiment, symbolizer, tree_options(request, progress));
  if (request.some_threads() && run.tree.locations.empty()) refuse_threads(*experiment, request);
  run.lacks = lacks_of(*experiment, run.tree);
  if (auto tree = without_idle_helpers(run.tree)) run.tree = std::move(*tree);
  find_ranks_and_elapsed(run);
  const bool are_all = request.ranks.empty() && !request.some_threads();
  run.ranks_expected = are_all ? std::max<double>(experiment->definitions().ranks_expected, run.ranks) : run.ranks;
  return run;
}

ComparedRun compared_run(ForeignRun of) {
  ComparedRun run;
  run.name = of.path;
  run.about = of.kind();
  run.source = of.source;
  run.has_calls = of.has(format::MetricId::Visits);
  run.lacks = of.is_complete ? "" : "a part of it cannot be read";
  run.tree = std::move(of.tree);
  find_ranks_and_elapsed(run);
  run.ranks_expected = run.ranks;
  return run;
}

std::string ranks_of(const ComparedRun& run) {
  const std::string expected = plural(static_cast<std::int64_t>(run.ranks_expected), "rank", "ranks");
  return run.ranks < run.ranks_expected ? fmt::format("{} of {}", run.ranks, expected) : expected;
}

std::vector<std::string> notes_on(std::span<const ComparedRun* const> runs) {
  const char* const consequence = runs.size() == 2 ? "what it lacks shows as a change"
                                                   : "call paths that it lacks are not known there, and count in the "
                                                     "other runs alone";
  std::vector<std::string> notes;
  const auto add = [&](std::string note) {
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
  };
  std::set<double> ranks;
  for (const ComparedRun* run : runs) {
    ranks.insert(run->ranks_expected);
    const std::string read = run->ranks < run->ranks_expected ? fmt::format(" ({})", ranks_of(*run)) : "";
    if (!run->lacks.empty()) add(fmt::format("{}: {}{}; {}", run->name, run->lacks, read, consequence));
    // The notes of an experiment are about all that one symbolizer has read, so they name no run.
    for (const std::string& note : run->tree.notes)
      add(run->experiment ? note : fmt::format("{}: {}", run->name, note));
  }
  if (ranks.size() > 1)
    add(fmt::format("the runs have different numbers of ranks ({}); each counts by the mean over its ranks",
                    fmt::join(ranks, ", ")));
  return notes;
}

void check_compared_request(const Request& request, bool is_difference) {
  const char* const instead = is_difference ? "the difference of two" : "several runs";
  if (const std::string option = first_view_option(request); !option.empty())
    throw UsageError(fmt::format("{}: of one experiment, not of {}", option, instead));
  constexpr Ask known[] = {Ask::CallpathDepth, Ask::MinShare, Ask::Thread, Ask::Sort, Ask::Limit, Ask::Columns};
  for (const RequestOption& option : request_options()) {
    const bool is_text = option.is_of_tables() && request.format == Format::Text && is_difference;
    if (option.is_given(request) && (std::ranges::find(known, option.ask) == std::end(known) || is_text))
      throw UsageError(
          fmt::format("{}: of one experiment, not of {}{}", option.name, instead, is_text ? " as text" : ""));
  }
  if (!is_difference && request.min_share && request.format != Format::Text)
    throw UsageError("--min-share: only text folds call paths; here all of them are shown");
}

}  // namespace refrain::report
