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
                   const std::function<void(const experiment::Rank&)>& after_rank, experiment::Depth depth) {
  const Leaves leaves(experiment.definitions());
  for_each_rank(experiment, where.ranks, depth, [&](const experiment::Rank& rank) {
    for_each_leaf(rank, leaves, take, where);
    if (after_rank) after_rank(rank);
  });
}

void for_each_leaf(const experiment::Rank& rank, const Leaves& leaves, const std::function<void(const Leaf&)>& take,
                   const Where& where) {
  for (const experiment::Location& location : rank.locations) {
    if (where.threads && !where.threads(rank.rank, location.thread)) continue;
    if (location.run) take(leaves.of(rank, location, *location.run));
    else take(leaves.of(rank, location, totals_of(location.units, rank, location, leaves.definitions().paths)));
  }
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
