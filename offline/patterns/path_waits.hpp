#pragma once
/// What a search says about call paths of an experiment: plain figures to be shown and stored.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "offline/run/quantities.hpp"

namespace refrain::patterns {

/// How long call paths waited for other processes, according to events.
struct PathWaits {
  struct Of {
    std::int64_t path = 0;  ///< call path of the definitions
    double seconds = 0;
    double seen_s = 0;   ///< time in MPI that the kept events stand for
    double known_s = 0;  ///< part of that in calls for which the events show whether they waited
    /// From messages that were sampled one by one; nullopt: the call path has none.
    struct Matched {
      double seconds = 0;
      run::Replicates replicates = {};
      std::uint64_t messages = 0;     ///< in the sample
      bool is_late_receiver = false;  ///< senders waited for late receivers; else receivers for late senders
    };
    std::optional<Matched> matched = std::nullopt;
    std::string kind = {};                        ///< the pattern with most of it; empty: none
    std::map<std::int32_t, double> by_rank = {};  ///< `seconds` by rank; 0 for other ranks
    /// For an estimate from a sample of iterations, by the first rank of a block; `seconds` of other blocks are exact.
    std::map<std::int32_t, run::Replicates> replicates = {};
  };
  std::vector<Of> paths;  ///< other call paths have no events
  bool is_sampled = false;
  double confidence = 1;            ///< that of the pattern of all waiting
  std::int32_t ranks_in_block = 1;  ///< size of a block of replicates
};

/// The communication partners of call paths, and their time by communicator, in the events that were kept.
struct Traffic {
  /// The number of different ranks of the job that one location exchanges messages with.
  struct Partners {
    std::int64_t path = 0;              ///< of the definitions
    std::int64_t fewest = 0, most = 0;  ///< over the locations that have any
  };
  /// Time in calls that moved, began or completed something on a communicator. A call on several of them counts as an
  /// equal part of its time for each.
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
