#include "offline/report/seen_ranks.hpp"

namespace refrain::report {

void SeenRanks::add(const experiment::Rank& rank) {
  minima.add(rank);
  loops.add(rank);
  has_events |= rank.events.has_value();
}

void SeenRanks::look_at(analysis::CallTreeOptions& options) {
  options.depth_of_ranks = experiment::Depth::Loops;
  options.also = [this, also = options.also](const experiment::Rank& rank) {
    add(rank);
    if (also) also(rank);
  };
}

}  // namespace refrain::report
