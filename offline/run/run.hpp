#pragma once
/// A run: the call paths and metrics of an experiment, and group(), which adds up their values over locations.

#include <functional>
#include <vector>

#include "offline/experiment/experiment.hpp"
#include "offline/run/group.hpp"

namespace refrain::run {

/// A selection of locations.
struct Where {
  std::function<bool(std::int32_t rank)> ranks = {};                         ///< empty: all
  std::function<bool(std::int32_t rank, std::int32_t thread)> threads = {};  ///< of these ranks; empty: all
};

class Run {
 public:
  /// `asked_for`: the metrics that REFRAIN_METRICS names on any rank. The experiment must outlive the run.
  Run(const experiment::Experiment& experiment, Nodes nodes, const std::vector<experiment::ExtraMetric>& asked_for);
  /// Reads the metrics that tools have saved; they come after the others.
  void add_found() { metrics_.add(experiment_.saved_metrics()); }

  const experiment::Experiment& experiment() const { return experiment_; }
  const Nodes& nodes() const { return nodes_; }
  const Metrics& metrics() const { return metrics_; }

 private:
  const experiment::Experiment& experiment_;
  Nodes nodes_;
  Metrics metrics_;
};

/// Calls `take` with the whole-run leaf of each selected location, rank by rank, with one rank in memory at a time.
/// Calls `after_rank` with each rank, read to `depth`, after its locations.
void for_each_leaf(const experiment::Experiment& experiment, const Where& where,
                   const std::function<void(const Leaf&)>& take,
                   const std::function<void(const experiment::Rank&)>& after_rank = {},
                   experiment::Depth depth = experiment::Depth::Run);

/// Calls `take` with the whole-run leaf of each selected location of one rank.
void for_each_leaf(const experiment::Rank& rank, const Leaves& leaves, const std::function<void(const Leaf&)>& take,
                   const Where& where = {});

/// Returns one answer per place, in the order of their first locations.
std::vector<Answer> group(const Run& run, Question question, const Where& where = {});
/// Passes each answer to `take` as soon as it is complete.
void group(const Run& run, Question question, const Where& where, const Grouping::Take& take);

}  // namespace refrain::run
