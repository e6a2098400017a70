#include "offline/run/run.hpp"

#include <algorithm>
#include <utility>

#include "offline/experiment/rank_pass.hpp"
#include "offline/run/totals.hpp"

namespace refrain::run {

Run::Run(const experiment::Experiment& experiment, Nodes nodes, const std::vector<experiment::ExtraMetric>& asked_for)
    : experiment_(experiment), nodes_(std::move(nodes)) {
  for (const experiment::ExtraMetric& metric : asked_for) metrics_.ask_for(metric);
}

void for_each_leaf(const experiment::Experiment& experiment, const Where& where,
                   const std::function<void(const Leaf&)>& take,
                   const std::function<void(const experiment::Rank&)>& after_rank) {
  const Leaves leaves(experiment.definitions());
  for_each_rank(experiment, where.ranks, experiment::Depth::Run, [&](const experiment::Rank& rank) {
    for (const experiment::Location& location : rank.locations) {
      if (where.threads && !where.threads(rank.rank, location.thread)) continue;
      if (location.run) take(leaves.of(rank, location, *location.run));
      else take(leaves.of(rank, location, totals_of(location.units, rank, location, leaves.definitions().paths)));
    }
    if (after_rank) after_rank(rank);
  });
}

const Leaf* LeafReader::of(std::int32_t rank, std::int32_t thread) {
  leaf_.reset();
  if (!rank_ || rank_->rank != rank) {
    const std::vector<std::int32_t>& all = experiment_.ranks();
    const auto at = std::ranges::lower_bound(all, rank);
    const bool is_there = at != all.end() && *at == rank;
    rank_ = is_there ? experiment_.rank(static_cast<std::size_t>(at - all.begin()), experiment::Depth::Run) : nullptr;
  }
  if (!rank_) return nullptr;
  const auto location = std::ranges::find(rank_->locations, thread, &experiment::Location::thread);
  if (location == rank_->locations.end()) return nullptr;
  if (!location->run) totals_ = totals_of(location->units, *rank_, *location, leaves_.definitions().paths);
  return &leaf_.emplace(leaves_.of(*rank_, *location, location->run ? *location->run : totals_));
}

std::vector<Answer> group(const Run& run, Question question, const Where& where) {
  Grouping grouping(run.nodes(), run.metrics(), std::move(question));
  for_each_leaf(run.experiment(), where, [&](const Leaf& leaf) { grouping.add(leaf); });
  return grouping.finish();
}

void group(const Run& run, Question question, const Where& where, const Grouping::Take& take) {
  Grouping grouping(run.nodes(), run.metrics(), std::move(question), take);
  for_each_leaf(run.experiment(), where, [&](const Leaf& leaf) { grouping.add(leaf); });
  grouping.finish();
}

}  // namespace refrain::run
