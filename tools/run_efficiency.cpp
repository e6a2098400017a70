#include "tools/run_efficiency.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <string>
#include <vector>

#include "offline/report/rank_times.hpp"
#include "offline/report/report.hpp"
#include "offline/run/loops.hpp"
#include "tools/complaints.hpp"

namespace refrain::tools {
namespace {

/// The loops that are nodes of the call tree: other loops have no time of their own.
std::set<std::string> loops_of(const experiment::Experiment& experiment, const analysis::CallTree& tree) {
  std::set<std::string> loops;
  run::for_each_loop(experiment, [&](const run::LoopPlace&, const experiment::Loop& loop, const experiment::Rank&) {
    const auto is_loop = [&](const analysis::TreeNode& node) { return node.marked && node.name == loop.name; };
    if (!loops.contains(loop.name) && std::ranges::any_of(tree.nodes, is_loop)) loops.insert(loop.name);
  });
  return loops;
}

}  // namespace

std::vector<RunEfficiency> run_efficiencies(const char* command, const std::string& name,
                                            std::vector<std::string> regions, bool with_loops) {
  const auto experiment = experiment::Experiment::open(name);
  const report::ReadProfile profile(*experiment);
  const analysis::MinimumWaits& minima = profile.seen.minima;
  const analysis::CallTree& tree = profile.tree;
  if (with_loops) {
    const std::set<std::string> loops = loops_of(*experiment, tree);
    regions.insert(regions.end(), loops.begin(), loops.end());
  }
  const report::UsualProfile usual = profile.usual();
  const report::Found found = report::found_in(*experiment, {}, &usual);
  const auto* const in_events = found.waits(true);
  std::vector<report::NodeWait> waits;
  if (in_events || minima.any()) waits = report::waits_of(tree, in_events, minima.any() ? &minima : nullptr);
  const report::EfficiencyInput input{*experiment, tree, waits, &minima};
  const auto read = std::ranges::count(tree.locations, 0, &analysis::LocationSummary::thread);
  const double all_over_read = read == 0 ? 1 : experiment->definitions().ranks_expected / static_cast<double>(read);
  std::vector<RunEfficiency> all;
  for (const std::string& region : regions) {
    const report::PartTimes times =
        region.empty() ? report::times_of_run(input) : report::times_of_region(input, region);
    RunEfficiency& run = all.emplace_back(
        RunEfficiency{region, experiment->definitions().ranks_expected, report::root_name(*experiment),
                      analysis::efficiency_of(times.ranks), 0, 0, times.why_no_waits, times.instructions, times.cycles,
                      all_over_read, experiment->manifest().started_s(), times.is_sampled});
    for (const analysis::RankTimes& of : times.ranks) {
      run.useful_s += of.useful.value;
      run.mpi_s += of.mpi_s;
    }
  }
  if (experiment->damages() > 0) tell_damage(command, *experiment->damage_log());
  for (RunEfficiency& run : all) run.is_damaged = experiment->damages() > 0;
  return all;
}

std::optional<EfficiencyBound> parse_efficiency_bound(const std::string& text) {
  const std::size_t at = text.find_first_of("<>");
  if (at == text.npos || at + 1 >= text.size() || text[at + 1] != '=') return std::nullopt;
  const auto factors = analysis::efficiency_factors();
  const auto factor = std::ranges::find_if(
      factors, [&](const analysis::EfficiencyFactor& of) { return text.compare(0, at, of.name) == 0; });
  EfficiencyBound bound;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + at + 2, end, bound.value);
  if (factor == factors.end() || read.ec != std::errc() || read.ptr != end || !(bound.value >= 0 && bound.value <= 1))
    return std::nullopt;
  bound.factor = &*factor;
  bound.is_least = text[at] == '>';
  return bound;
}

std::string wrong_as_efficiency_bound(const std::string& text) {
  if (parse_efficiency_bound(text)) return {};
  std::vector<std::string> names;
  for (const analysis::EfficiencyFactor& of : analysis::efficiency_factors()) names.emplace_back(of.name);
  return fmt::format("{}: a factor, >= or <=, and a number from 0 to 1, as in parallel>=0.8; factors are {}", text,
                     fmt::join(names, ", "));
}

}  // namespace refrain::tools
