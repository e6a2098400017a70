#include "report/overview.hpp"

#include <algorithm>

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

}  // namespace

Overview overview_of(const archive::Experiment& experiment, const analysis::CallTree& tree) {
  const archive::Profile& profile = experiment.profile;
  Overview overview;
  overview.ranks = std::max(profile.ranks_expected, static_cast<std::int32_t>(profile.ranks.size()));
  std::vector<bool> present(static_cast<std::size_t>(std::max(overview.ranks, 0)), false);
  for (const auto& rank : profile.ranks) {
    if (rank.rank >= 0 && rank.rank < overview.ranks) present[static_cast<std::size_t>(rank.rank)] = true;
    if (std::find(overview.hosts.begin(), overview.hosts.end(), rank.host) == overview.hosts.end())
      overview.hosts.push_back(rank.host);
  }
  for (std::int32_t rank = 0; rank < overview.ranks; ++rank)
    if (!present[static_cast<std::size_t>(rank)]) overview.missing_ranks.push_back(rank);
  const bool complete = profile.complete && experiment.manifest.state != "incomplete" && overview.missing_ranks.empty();
  overview.state = complete ? "complete" : "incomplete";
  for (std::size_t i = 0; i < tree.totals.losses.size(); ++i)
    if (tree.totals.losses[i] != 0)
      overview.losses.push_back(
          {measurement::loss_table[i].name, measurement::loss_table[i].help, tree.totals.losses[i]});
  overview.call_cost_ns = mean_cost(profile.ranks, &archive::Rank::call_cost);
  overview.tick_cost_ns = mean_cost(profile.ranks, &archive::Rank::tick_cost);
  return overview;
}

}  // namespace refrain::report
