#pragma once
/// What a search needs of each rank, collected in the pass that builds the call tree, so that ranks are read only once.

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/minimum_waits.hpp"
#include "offline/findings/facts.hpp"

namespace refrain::report {

class SeenRanks {
 public:
  explicit SeenRanks(const experiment::Experiment& experiment)
      : experiment(experiment), minima(experiment.definitions()), loops(experiment) {}
  /// Makes the pass with these options call add() with each rank.
  void look_at(analysis::CallTreeOptions& options);
  void add(const experiment::Rank& rank);

  const experiment::Experiment& experiment;
  analysis::MinimumWaits minima;
  findings::LoopFinder loops;
  bool has_events = false;  ///< any rank has some
};

}  // namespace refrain::report
