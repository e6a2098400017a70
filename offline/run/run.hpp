#pragma once
/// A run: the call paths and metrics of an experiment, and group(), which adds up what its locations have of them.

#include <functional>
#include <vector>

#include "offline/experiment/experiment.hpp"
#include "offline/run/group.hpp"

namespace refrain::run {

/// A part of the locations.
struct Where {
  std::function<bool(std::int32_t rank)> ranks = {};                         ///< empty: all
  std::function<bool(std::int32_t rank, std::int32_t thread)> threads = {};  ///< of these ranks; empty: all
};

class Run {
 public:
  /// `asked_for`: the metrics of REFRAIN_METRICS of any rank. The experiment must outlive it.
  Run(const experiment::Experiment& experiment, Nodes nodes, const std::vector<experiment::ExtraMetric>& asked_for);
  /// Reads what tools have found; these metrics come behind the others.
  void add_found() { metrics_.add(experiment_.saved_metrics()); }

  const experiment::Experiment& experiment() const { return experiment_; }
  const Nodes& nodes() const { return nodes_; }
  const Metrics& metrics() const { return metrics_; }

 private:
  const experiment::Experiment& experiment_;
  Nodes nodes_;
  Metrics metrics_;
};

/// Calls `take` with what each of these locations did in the whole run, rank by rank, of which one is in memory at a
/// time, and `after_rank` with each rank, read to `depth`, when its locations are done.
void for_each_leaf(const experiment::Experiment& experiment, const Where& where,
                   const std::function<void(const Leaf&)>& take,
                   const std::function<void(const experiment::Rank&)>& after_rank = {},
                   experiment::Depth depth = experiment::Depth::Run);

/// The same of one rank.
void for_each_leaf(const experiment::Rank& rank, const Leaves& leaves, const std::function<void(const Leaf&)>& take,
                   const Where& where = {});

/// The answers by place, in the order of their first locations.
std::vector<Answer> group(const Run& run, Question question, const Where& where = {});
/// The same, each handed over when it is known.
void group(const Run& run, Question question, const Where& where, const Grouping::Take& take);

}  // namespace refrain::run
