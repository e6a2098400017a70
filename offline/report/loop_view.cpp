#include "offline/report/loop_view.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "offline/analysis/iterations.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<std::string> names_of(const std::vector<analysis::IterationMetric>& metrics) {
  std::vector<std::string> names;
  for (const auto& metric : metrics) names.push_back(metric.name);
  return names;
}

analysis::IterationMetric choose_metric(const std::vector<analysis::IterationMetric>& metrics,
                                        const std::string& wanted, const char* of) {
  const auto at = std::find_if(metrics.begin(), metrics.end(), [&](const auto& m) { return m.name == wanted; });
  if (at == metrics.end())
    throw UsageError(fmt::format("--metric {}: {} has {}", wanted, of, joined(names_of(metrics))));
  return *at;
}

}  // namespace

LoopView view_loops(const experiment::Experiment& experiment, const Options& options, const analysis::CallTree& tree) {
  LoopView view;
  std::vector<std::string> names;
  bool any_thread = false;
  for (const auto& rank : experiment.profile.ranks) {
    const bool chosen = options.ranks.empty() ||
                        std::find(options.ranks.begin(), options.ranks.end(), rank.rank) != options.ranks.end();
    for (const auto& location : rank.locations)
      for (std::size_t l = 0; l < location.loops.size(); ++l) {
        const experiment::Loop& loop = location.loops[l];
        if (std::find(names.begin(), names.end(), loop.name) == names.end()) names.push_back(loop.name);
        if (!chosen || (!options.loop.empty() && loop.name != options.loop)) continue;
        any_thread = true;
        if (options.thread && location.thread != *options.thread) continue;
        auto at = std::find_if(view.groups.begin(), view.groups.end(),
                               [&](const LoopGroup& group) { return group.name == loop.name; });
        if (at == view.groups.end()) at = view.groups.insert(at, LoopGroup{loop.name, 0, {}});
        at->iterations = std::max(at->iterations, loop.iterations);
        at->locations.push_back(
            {&rank, &location,
             std::make_unique<const analysis::IterationProfiles>(experiment.profile, rank, location, l)});
      }
  }
  if (any_thread && view.groups.empty())
    throw UsageError(fmt::format("--thread {}: no thread of this number has iterations here", *options.thread));
  if (!options.loop.empty() && view.groups.empty() && !names.empty()) {
    const bool known = std::find(names.begin(), names.end(), options.loop) != names.end();
    throw UsageError(known ? fmt::format("--loop {}: not on these ranks", options.loop)
                           : fmt::format("--loop {}: the marked loops are {}", options.loop, joined(names)));
  }
  if (view.groups.empty() && !names.empty()) throw UsageError("--rank: no loop is marked on these ranks");
  if (view.groups.empty()) return view;
  if (options.callpath.empty()) {
    for (const LoopGroup& group : view.groups)
      for (const auto& loop : group.locations)
        view.metric = choose_metric(analysis::iteration_metrics(loop.profiles->loop()), options.metric, "an iteration");
    return view;
  }
  view.metric =
      choose_metric(analysis::callpath_metrics(experiment.profile), options.metric, "a call path of an iteration");
  view.callpath = analysis::match_callpath(tree, options.callpath);
  view.callpath_name = options.callpath;
  if (view.callpath->nodes.empty()) {
    const auto similar = analysis::similar_functions(tree, options.callpath, 5);
    throw UsageError(fmt::format("--callpath {}: no such call path{}", options.callpath,
                                 similar.empty() ? "" : "; near it: " + joined(similar)));
  }
  return view;
}

void require_loops(const LoopView& view) {
  if (view.groups.empty())
    throw UsageError("no loop is marked in this experiment: see REFRAIN_LOOP_BEGIN in refrain/refrain.h");
}

bool was_absent(const LoopOfLocation& loop, std::int32_t cluster, std::span<const std::int64_t> row) {
  if (cluster >= 0) return false;
  const int wall = analysis::overall_index(loop.profiles->loop(), "wall");
  return wall >= 0 && row[static_cast<std::size_t>(wall)] == 0;
}

analysis::IterationValue shown_value(const LoopView& view, const LoopOfLocation& loop) {
  return view.callpath ? value_of_callpaths(*loop.profiles, view.callpath->selection, view.metric.name)
                       : value_of_metric(*loop.profiles, view.metric.name);
}

analysis::IterationValue shown_error(const LoopView& view, const LoopOfLocation& loop) {
  return view.callpath ? error_of_callpaths(*loop.profiles, view.callpath->selection, view.metric.name) : nullptr;
}

std::string name_of(const experiment::Location& location) {
  return location.thread == 0 ? fmt::format("rank {}", location.rank)
                              : fmt::format("rank {} thread {}", location.rank, location.thread);
}

std::string human_value(analysis::Quantity quantity, double value) {
  switch (quantity) {
    case analysis::Quantity::Seconds: return human_time(value);
    case analysis::Quantity::Bytes: return human_bytes(std::llround(value));
    case analysis::Quantity::Count: break;
  }
  return std::abs(value) < 100 && value != std::round(value) ? fmt::format("{:.1f}", value)
                                                             : human_count(std::llround(value));
}

}  // namespace refrain::report
