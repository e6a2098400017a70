#include "report/overview.hpp"

#include <algorithm>
#include <limits>

namespace refrain::report {
namespace {

archive::Cost mean_cost(const std::vector<archive::Rank>& ranks, archive::Cost archive::Rank::*member) {
  archive::Cost mean;
  bool first = true;
  for (const auto& rank : ranks) {
    const archive::Cost& cost = rank.*member;
    const double ns = rank.ticks_per_second > 0 ? 1e9 / rank.ticks_per_second : 1;
    mean.median += cost.median * ns / static_cast<double>(ranks.size());
    mean.low = first ? cost.low * ns : std::min(mean.low, cost.low * ns);
    mean.high = std::max(mean.high, cost.high * ns);
    first = false;
  }
  return mean;
}

/// Seconds from the begin of the rank's first thread to the end of its last one.
double end_of(const archive::Rank& rank) {
  std::int64_t begin = std::numeric_limits<std::int64_t>::max(), end = std::numeric_limits<std::int64_t>::min();
  for (const archive::Location& location : rank.locations) {
    begin = std::min(begin, location.begin);
    end = std::max(end, location.end);
  }
  return end > begin && rank.ticks_per_second > 0 ? static_cast<double>(end - begin) / rank.ticks_per_second : 0;
}

void look_at_ends(const archive::Experiment& experiment, Overview& overview) {
  bool first = true;
  for (const archive::Rank& rank : experiment.profile.ranks) {
    const double end = end_of(rank);
    overview.first_end_s = first ? end : std::min(overview.first_end_s, end);
    overview.last_end_s = std::max(overview.last_end_s, end);
    first = false;
  }
  overview.rank_0_is_snapshot = experiment.manifest.state == "running";
}

}  // namespace

Overview overview_of(const archive::Experiment& experiment, const analysis::CallTree& tree) {
  const archive::Profile& profile = experiment.profile;
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
      overview.losses.push_back(
          {measurement::loss_table[i].name, measurement::loss_table[i].help, tree.totals.losses[i]});
  overview.call_cost_ns = mean_cost(profile.ranks, &archive::Rank::call_cost);
  overview.tick_cost_ns = mean_cost(profile.ranks, &archive::Rank::tick_cost);
  return overview;
}

}  // namespace refrain::report
