#pragma once
/// What a search needs of each rank, seen in the pass that makes the call tree, so that ranks are read once.

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/minimum_waits.hpp"
#include "offline/findings/facts.hpp"

namespace refrain::report {

class SeenRanks {
 public:
  explicit SeenRanks(const experiment::Experiment& experiment)
      : experiment(experiment), minima(experiment.definitions()), loops(experiment) {}
  /// Has add() called with each rank.
  void look_at(analysis::CallTreeOptions& options);
  void add(const experiment::Rank& rank);

  const experiment::Experiment& experiment;
  analysis::MinimumWaits minima;
  findings::LoopFinder loops;
  bool has_events = false;  ///< any rank has some
};

}  // namespace refrain::report
