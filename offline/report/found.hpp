#pragma once
/// The results of a search of profile and events, as values that a report is given.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "offline/findings/finding.hpp"

namespace refrain::report {

/// How long call paths have waited for other processes, according to events.
struct PathWaits {
  struct Of {
    std::int64_t path;        ///< of the definitions; the first one of a node of the call tree stands for all of it
    double seconds, error_s;  ///< error: of an estimate from a sample of iterations
    double seen_s;            ///< time in MPI that the kept events stand for
    double known_s;           ///< of that, time of calls of which the events tell whether they have waited
    /// From messages that were sampled one by one; nothing: there are none of this call path.
    struct Matched {
      double seconds, error_s;
      std::uint64_t messages;         ///< in the sample
      bool is_late_receiver = false;  ///< of senders; else late senders
    };
    std::optional<Matched> matched;
    std::string kind;                        ///< the pattern that most of it is; empty: of none
    std::map<std::int32_t, double> by_rank;  ///< of `seconds`, where it was asked for; of other ranks nothing
  };
  std::vector<Of> paths;  ///< of the others there are no events
  bool is_sampled = false;
  double confidence = 1;  ///< as of the pattern of all waiting
};

/// The peers with which call paths exchange messages, and their time by communicator, in the events that were kept.
struct EventTraffic {
  struct Partners {
    std::int64_t path;          ///< as in PathWaits
    std::int64_t fewest, most;  ///< ranks that messages of one thread go to or come from
  };
  struct OnCommunicator {
    std::int64_t path;
    std::int32_t communicator;  ///< index into trace::Communicators::all() of all ranks; -1: it is not known
    double seconds;             ///< of the calls that were kept
    std::int64_t calls;
  };
  std::vector<Partners> partners;
  std::vector<OnCommunicator> communicators;
};

struct Found {
  std::vector<findings::Finding> findings;         ///< largest first
  std::optional<std::string> events_not_searched;  ///< there are too many events; what to type instead
  std::optional<PathWaits> waits;                  ///< of the request's call sites and depth; nothing: not known
  std::optional<EventTraffic> traffic;             ///< likewise
};

/// Nothing was searched.
inline const Found& nothing_found() {
  static const Found nothing;
  return nothing;
}

}  // namespace refrain::report
