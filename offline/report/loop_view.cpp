#include "offline/report/loop_view.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/analysis/iteration_suggestion.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "offline/run/iterations.hpp"
#include "offline/run/totals.hpp"

namespace refrain::report {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

std::vector<std::string> names_of(const std::vector<run::Metric>& metrics) {
  std::vector<std::string> names;
  for (const auto& metric : metrics) names.push_back(metric.name);
  return names;
}

/// Chooses the requested metric: it must be in each of the lists, or have a source.
void choose_metric(LoopView& view, const std::vector<std::vector<run::Metric>>& lists, const Source& source,
                   const Request& request, const char* of) {
  const std::string wanted = request.metric.empty() ? "wall" : request.metric;
  for (const auto& metrics : lists) {
    const auto at = std::ranges::find(metrics, wanted, &run::Metric::name);
    if (at != metrics.end()) {
      view.metric = *at;
      continue;
    }
    if (source.other_metric) view.source = source.other_metric(wanted);
    if (!view.source)
      throw UsageError(fmt::format("--metric {}: {} has {}{}", wanted, of, joined(names_of(metrics)),
                                   source.other_metric ? "; wait, and patterns of waiting, such as late_sender" : ""));
    view.metric = run::metric_of(wanted, "ticks");
    return;
  }
}

const run::PathSelection* selection_of(const LoopView& view) {
  return view.callpath && !view.callpath->selection.everything ? &view.callpath->selection : nullptr;
}

/// Adds one, and keeps as many as a location has.
void add_slow(std::vector<SlowIteration>& slowest, std::int64_t iteration, double wall_s) {
  const bool is_full = slowest.size() >= format::max_slowest;
  if (is_full && wall_s <= slowest.back().wall_s) return;
  if (const auto known = std::ranges::find(slowest, iteration, &SlowIteration::iteration); known != slowest.end()) {
    if (wall_s <= known->wall_s) return;
    slowest.erase(known);
  } else if (is_full) {
    slowest.pop_back();
  }
  const auto is_before = [&](const SlowIteration& of) {
    return of.wall_s > wall_s || (of.wall_s == wall_s && of.iteration < iteration);
  };
  slowest.insert(std::ranges::partition_point(slowest, is_before), SlowIteration{iteration, wall_s});
}

}  // namespace

LoopView view_loops(const Source& source, const Request& request, const analysis::CallTree& tree) {
  const experiment::Experiment& experiment = *source.experiment;
  LoopView view;
  std::vector<std::string> names;
  std::vector<std::vector<run::Metric>> metrics;  // of each loop
  std::vector<experiment::ExtraMetric> asked_for;
  bool any_thread = false;
  // If no chosen rank has the requested loop, the other ranks are searched for its name.
  for (const bool others : {false, true}) {
    if (others && (request.loop.empty() || !view.groups.empty() || any_thread)) break;
    const auto take = [&](const LoopPlace& of, const experiment::Loop& loop, const experiment::Rank& rank) {
      for (const auto& metric : rank.extra_metrics)
        if (std::ranges::find(asked_for, metric.name, &experiment::ExtraMetric::name) == asked_for.end())
          asked_for.push_back(metric);
      if (std::ranges::find(names, loop.name) == names.end()) names.push_back(loop.name);
      if (others || (!request.loop.empty() && loop.name != request.loop)) return;
      any_thread = true;
      if (!request.chosen(of.rank, of.thread)) return;
      auto at = std::ranges::find(view.groups, loop.name, &LoopGroup::name);
      if (at == view.groups.end()) at = view.groups.insert(at, LoopGroup{loop.name, 0, {}});
      at->iterations = std::max(at->iterations, loop.iterations);
      at->threads = at->threads || of.thread != 0;
      at->locations.push_back(of);
      if (loop.thinning.level > 0) {
        at->thinned_from = at->kept_every > 1 ? std::min(at->thinned_from, loop.thinning.from) : loop.thinning.from;
        at->kept_every = std::max(at->kept_every, std::int64_t{1} << loop.thinning.level);
      }
      for (const experiment::SlowIteration& slow : loop.slowest)
        add_slow(at->slowest, slow.number, run::seconds_of(rank, static_cast<double>(slow.wall)));
      metrics.push_back(run::iteration_metrics(loop));
    };
    run::for_each_loop(experiment, take, [&](std::int32_t rank) { return request.chosen(rank) != others; });
  }
  if (any_thread && view.groups.empty())
    throw UsageError(request.thread
                         ? fmt::format("--thread {}: no thread of this number has iterations here", *request.thread)
                         : std::string("--rank: none of these threads has iterations"));
  if (!request.loop.empty() && view.groups.empty() && !names.empty()) {
    const bool known = std::ranges::find(names, request.loop) != names.end();
    throw UsageError(known ? fmt::format("--loop {}: not on these ranks", request.loop)
                           : fmt::format("--loop {}: the marked loops are {}", request.loop, joined(names)));
  }
  if (view.groups.empty()) return view;
  view.metrics = metrics.front();
  if (request.callpath.empty()) {
    choose_metric(view, metrics, source, request, "an iteration");
    return view;
  }
  choose_metric(view, {run::callpath_metrics(asked_for)}, source, request, "a call path of an iteration");
  view.callpath = match_or_refuse(experiment, tree, request.callpath);
  view.callpath_name = request.callpath;
  return view;
}

analysis::CallPathMatch match_or_refuse(const experiment::Experiment& experiment, const analysis::CallTree& tree,
                                        const std::string& wanted) {
  auto match = analysis::match_callpath(tree, wanted, root_name(experiment));
  if (!match.nodes.empty()) return match;
  const auto similar = analysis::similar_functions(tree, wanted, 5);
  throw UsageError(fmt::format("--callpath {}: no such call path{}", wanted,
                               similar.empty() ? "" : "; near it: " + joined(similar)));
}

std::vector<SlowIteration> slowest_of(const Document& d, const LoopGroup& group) {
  std::vector<SlowIteration> slowest = group.slowest;
  if (!slowest.empty()) return slowest;
  for (const LoopPlace& of : group.locations) {
    const auto open = d.loops->open(*d.experiment, of);
    const auto wall = open ? run::value_of_metric(*open->profiles, "wall") : nullptr;
    if (!wall) continue;
    run::for_each_iteration(open->loop(), [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
      if (!open->was_absent(cluster, row)) add_slow(slowest, i, wall(i, cluster, row));
    });
  }
  return slowest;
}

std::shared_ptr<const OpenLoop> LoopView::open(const experiment::Experiment& experiment, const LoopPlace& of) const {
  auto open = run::open_loop(experiment, of);
  if (open) last_ = open->rank;
  return open;
}

void require_loops(const LoopView& view, const experiment::Experiment& experiment, const analysis::CallTree* tree) {
  if (!view.groups.empty()) return;
  std::string text =
      "no loop is marked in this experiment: mark it in the program (REFRAIN_LOOP_BEGIN in refrain/refrain.h), or name "
      "a "
      "call of MPI that begins an iteration";
  const auto suggestion = tree ? analysis::suggest_iterations(experiment, *tree) : std::nullopt;
  throw UsageError(suggestion ? fmt::format("{}: {} in {} occurs {} times on every rank: REFRAIN_ITERATION_AT={}", text,
                                            suggestion->function, suggestion->caller, human_count(suggestion->calls),
                                            suggestion->setting())
                              : text + " (REFRAIN_ITERATION_AT)");
}

run::IterationValue shown_value(const LoopView& view, const OpenLoop& loop) {
  if (view.source) return view.source->of(*loop.profiles, loop.location->thread, selection_of(view));
  return view.callpath ? value_of_callpaths(*loop.profiles, view.callpath->selection, view.metric.name)
                       : value_of_metric(*loop.profiles, view.metric.name);
}

run::IterationValue shown_error(const LoopView& view, const OpenLoop& loop) {
  if (view.source || !view.callpath) return nullptr;
  return error_of_callpaths(*loop.profiles, view.callpath->selection, view.metric.name);
}

run::IterationValue shown_precision(const LoopView& view, const OpenLoop& loop) {
  if (!view.callpath) return nullptr;
  if (view.source) return [known = view.source->known()](auto...) { return static_cast<double>(known); };
  return known_of_callpaths(*loop.profiles, view.callpath->selection, view.metric.name);
}

std::string name_of(const LoopPlace& of) {
  return of.thread == 0 ? fmt::format("rank {}", of.rank) : fmt::format("rank {} thread {}", of.rank, of.thread);
}

std::string count_of(std::int64_t count, const LoopGroup& group) {
  return plural(count, group.threads ? "thread" : "rank", group.threads ? "threads" : "ranks");
}

std::string about(const LoopGroup& group) {
  const std::string loop = fmt::format("loop {}: {}", group.name, plural(group.iterations, "iteration", "iterations"));
  if (group.locations.size() == 1) return loop;  // the heading names the location, and there are no ranks without MPI
  return loop + " on " + count_of(static_cast<std::int64_t>(group.locations.size()), group);
}

std::string human_value(std::string_view unit, double value) {
  if (unit == "s") return human_time(value);
  if (unit == "B") return human_bytes(std::llround(value));
  return std::abs(value) < 100 && value != std::round(value) ? fmt::format("{:.1f}", value)
                                                             : human_count(std::llround(value));
}

}  // namespace refrain::report
