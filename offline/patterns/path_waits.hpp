#pragma once
/// What a search tells of call paths of an experiment: plain figures, which are shown and kept.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "offline/run/quantities.hpp"

namespace refrain::patterns {

/// How long call paths have waited for other processes, as events tell.
struct PathWaits {
  struct Of {
    std::int64_t path = 0;  ///< of the definitions
    double seconds = 0;
    double seen_s = 0;   ///< time in MPI that what was kept stands for
    double known_s = 0;  ///< of that, time of calls of which the events tell whether they have waited
    /// From messages that were sampled one by one; nothing: the call path has none.
    struct Matched {
      double seconds = 0;
      run::Replicates replicates = {};
      std::uint64_t messages = 0;     ///< in the sample
      bool is_late_receiver = false;  ///< of senders; else late senders
    };
    std::optional<Matched> matched = std::nullopt;
    std::string kind = {};                        ///< the pattern that most of it is; empty: of none
    std::map<std::int32_t, double> by_rank = {};  ///< of `seconds`; of other ranks nothing
    /// Of an estimate from a sample of iterations, by the first rank of a block; of other blocks `seconds` are exact.
    std::map<std::int32_t, run::Replicates> replicates = {};
  };
  std::vector<Of> paths;  ///< of the others there are no events
  bool is_sampled = false;
  double confidence = 1;            ///< as of the pattern of all waiting
  std::int32_t ranks_in_block = 1;  ///< of replicates
};

/// With whom call paths exchange messages, and their time by communicator, in the events that were kept.
struct Traffic {
  /// How many different ranks of the job the messages of one location go to or come from.
  struct Partners {
    std::int64_t path = 0;              ///< of the definitions
    std::int64_t fewest = 0, most = 0;  ///< of the locations that have any
  };
  /// Time in calls that have moved, begun or completed something on a communicator. A call on several of them counts
  /// as an equal part of its time for each.
  struct OnCommunicator {
    std::int64_t path = 0;
    std::int32_t communicator = -1;  ///< index into trace::Communicators::all() of all ranks; -1: it is not known
    double seconds = 0;              ///< of the calls that were kept
    std::int64_t calls = 0;
  };
  std::vector<Partners> partners;             ///< by call path
  std::vector<OnCommunicator> communicators;  ///< by call path and communicator
};

}  // namespace refrain::patterns
