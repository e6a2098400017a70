#pragma once
/// With whom call paths communicate, and on which communicators they spend their time, as the events that were kept
/// tell.

#include <cstdint>
#include <vector>

#include "offline/patterns/analysis.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::patterns {

struct Traffic {
  /// How many different ranks of the job the messages of one location go to or come from.
  struct Partners {
    std::uint32_t node;
    std::int64_t fewest, most;  ///< of the locations that have any
  };
  /// Time in calls that have moved, begun or completed something on a communicator. A call on several of them counts
  /// as an equal part of its time for each.
  struct OnCommunicator {
    std::uint32_t node;
    std::int32_t communicator;  ///< index into trace::Communicators::all(); -1: it is not known
    double ns;
    std::int64_t calls;
  };
  std::vector<Partners> partners;             ///< by node
  std::vector<OnCommunicator> communicators;  ///< by node and communicator
};

/// One pass over the events.
Traffic traffic_of(const trace::Trace& trace, const Naming& naming);

}  // namespace refrain::patterns
