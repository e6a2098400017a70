#include "offline/report/overview.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace refrain::report {
namespace {

experiment::Cost mean_cost(const std::vector<experiment::Rank>& ranks, experiment::Cost experiment::Rank::*member) {
  experiment::Cost mean;
  bool first = true;
  for (const auto& rank : ranks) {
    const experiment::Cost& cost = rank.*member;
    const double ns = rank.ticks_per_second > 0 ? 1e9 / rank.ticks_per_second : 1;
    mean.median += cost.median * ns / static_cast<double>(ranks.size());
    mean.low = first ? cost.low * ns : std::min(mean.low, cost.low * ns);
    mean.high = std::max(mean.high, cost.high * ns);
    first = false;
  }
  return mean;
}

/// Seconds from the begin of the rank's first thread to the end of its last one.
double end_of(const experiment::Rank& rank) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = std::numeric_limits<std::int64_t>::min();
  for (const experiment::Location& location : rank.locations) {
    begin = std::min(begin, location.begin);
    end = std::max(end, location.end);
  }
  return end > begin && rank.ticks_per_second > 0 ? static_cast<double>(end - begin) / rank.ticks_per_second : 0;
}

/// How many of a class there were at a location; of those that are timed each, these.
double count_of(const experiment::Location& location, std::size_t of) {
  std::int64_t calls = 0, ticks = 0;
  for (const experiment::Unit& unit : location.units) {
    calls += unit.mpi_calls;
    ticks += unit.ticks_user + unit.ticks_mpi + unit.ticks_lost;
  }
  switch (static_cast<format::OwnTime>(of)) {
    case format::OwnTime::Call: return static_cast<double>(calls);
    case format::OwnTime::Tick: return static_cast<double>(ticks);
    default: return static_cast<double>(location.own_times[of].timed);
  }
}

OwnTimeLine own_time_of(const std::vector<experiment::Rank>& ranks, std::size_t of) {
  OwnTimeLine line;
  double count = 0, sum = 0, squares = 0;
  for (const auto& rank : ranks) {
    const double ns = rank.ticks_per_second > 0 ? 1e9 / rank.ticks_per_second : 1;
    for (const auto& location : rank.locations) {
      const format::OwnTimeMean& mean = location.own_times[of];
      const double here = count_of(location, of);
      if (mean.timed == 0 || !(here > 0)) continue;
      line.timed += mean.timed;
      count += here;
      sum += here * mean.mean * ns;
      squares += here * mean.error * ns * here * mean.error * ns;
    }
  }
  if (count > 0) line.mean_ns = sum / count, line.error_ns = std::sqrt(squares) / count;
  return line;
}

void look_at_ends(const experiment::Experiment& experiment, Overview& overview) {
  bool first = true;
  for (const experiment::Rank& rank : experiment.profile.ranks) {
    const double end = end_of(rank);
    overview.first_end_s = first ? end : std::min(overview.first_end_s, end);
    overview.last_end_s = std::max(overview.last_end_s, end);
    first = false;
  }
  overview.rank_0_is_snapshot = experiment.manifest.state == "running";
}

/// From the settings in force.
void look_at_sampling(const experiment::Manifest& manifest, Overview& overview) {
  for (const auto& [name, value] : manifest.configuration) {
    if (name == "REFRAIN_SAMPLING_FREQUENCY" && value == "0") overview.sampling_source = "none";
    if (name == "REFRAIN_SAMPLING_CLOCK" && value == "wall") overview.sampling_source = "wall";
  }
  if (!overview.sampling_source.empty()) return;
  for (const auto& [name, value] : manifest.configuration) {
    if (name != "REFRAIN_SAMPLING_SOURCE") continue;
    const std::size_t colon = value.find(": ");
    overview.sampling_source = value.substr(0, colon);
    if (colon != std::string::npos) overview.sampling_reason = value.substr(colon + 2);
  }
}

}  // namespace

Overview overview_of(const experiment::Experiment& experiment, const analysis::CallTree& tree) {
  const experiment::Profile& profile = experiment.profile;
  Overview overview;
  overview.ranks = std::max(profile.ranks_expected, static_cast<std::int32_t>(profile.ranks.size()));
  std::vector<bool> present(static_cast<std::size_t>(std::max(overview.ranks, 0)), false);
  for (const auto& rank : profile.ranks) {
    if (rank.rank >= 0 && rank.rank < overview.ranks && !rank.locations.empty())
      present[static_cast<std::size_t>(rank.rank)] = true;
    if (std::find(overview.hosts.begin(), overview.hosts.end(), rank.host) == overview.hosts.end())
      overview.hosts.push_back(rank.host);
  }
  for (std::int32_t rank = 0; rank < overview.ranks; ++rank)
    if (!present[static_cast<std::size_t>(rank)]) overview.missing_ranks.push_back(rank);
  const bool complete = profile.complete && experiment.manifest.state != "incomplete" && overview.missing_ranks.empty();
  overview.state = complete ? "complete" : "incomplete";
  if (!complete) look_at_ends(experiment, overview);
  for (std::size_t i = 0; i < tree.totals.losses.size(); ++i)
    if (tree.totals.losses[i] != 0)
      overview.losses.push_back({format::loss_table[i].name, format::loss_table[i].help, tree.totals.losses[i],
                                 format::loss_table[i].is_time});
  overview.not_on_cpu_uncertain = tree.totals.not_on_cpu_at_stake_s > tree.totals.user_s / 10;
  overview.without_mpi = overview.ranks <= 1 && experiment.manifest.mpi_library.empty() && tree.totals.mpi_calls == 0;
  look_at_sampling(experiment.manifest, overview);
  overview.call_cost_ns = mean_cost(profile.ranks, &experiment::Rank::call_cost);
  overview.tick_cost_ns = mean_cost(profile.ranks, &experiment::Rank::tick_cost);
  for (std::size_t of = 0; of < overview.own_times.size(); ++of)
    overview.own_times[of] = own_time_of(profile.ranks, of);
  return overview;
}

}  // namespace refrain::report
