#pragma once
/// Why there is waiting: what other processes have done longer than the one that waits (delays; Boehme, Geimer, Wolf,
/// Arnold: Identifying the root causes of wait states in large-scale parallel applications).
///
/// A call waits for what another process does later. From the time at which the two were last in step (the one has
/// waited for the other, or both have been in an operation of all) to the wait, both have spent time on the same
/// things: on segments of computation (between two calls of MPI, named by their call paths) and in calls. By what the
/// other one has spent more on each of them it has made the first one wait: these differences add up to the waiting
/// exactly. They are summed over all waits of a call path before those below zero are dropped, so that chance cancels.
///
/// Where the other process has waited itself in that time, the cause is whatever made it wait. So costs flow from the
/// waits of a call path on one location to those of another, until they arrive at work: by shares of sums, not wait by
/// wait.
///
/// Memory: the last 256 calls of each location, pairs of locations of which one has waited for the other, and the sums.

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "offline/patterns/activity.hpp"
#include "offline/patterns/recent_calls.hpp"
#include "offline/patterns/search.hpp"

namespace refrain::patterns {

/// What has made others wait.
struct Cause {
  Activity activity;
  double ns = 0;         ///< of waiting, of all that it has delayed
  double direct_ns = 0;  ///< of those that have waited for this location
};

struct CausesFound {
  std::vector<Cause> causes;  ///< largest first
  double waiting_ns = 0;      ///< of all calls
  double unknown_ns = 0;      ///< of that: nothing that is known has caused it
};

class Causes {
 public:
  /// Subscribes, also to what Waits publishes.
  explicit Causes(Search& search);
  Causes(const Causes&) = delete;
  Causes& operator=(const Causes&) = delete;

  /// After the pass.
  CausesFound found() const;

 private:
  /// A call that was left.
  struct Past {
    std::int64_t enter_ns, leave_ns, waiting_ns;
    std::uint32_t path;
  };
  struct OfLocation {
    RecentCalls<Past> calls;
    std::int64_t known_since_ns = 0;      ///< at first the begin of the trace
    std::int64_t in_step_ns = INT64_MIN;  ///< the last operation of several processes
    std::uint64_t operation = 0;          ///< which one
  };
  enum class Kind : std::uint8_t { Computation, Call, Wait };
  struct Doing {
    std::uint32_t location;
    Kind kind;
    std::uint32_t before, after;
    auto operator<=>(const Doing&) const = default;
  };
  /// The waiting of one call path on one location.
  struct Group {
    std::uint32_t location, path;
    double waiting_ns = 0;
    std::map<Doing, double> excess_ns;
  };

  void call(const Call& call);
  void collective(const Collective& of);
  void job_wide(const JobWide& of);
  void waited(const Waited& of);
  std::int64_t add_waiting(const Waited& of);
  void compare(Group& group, std::uint32_t charged, const Moment& end, std::int64_t from_ns, double factor) const;
  std::int64_t in_step_since(std::uint32_t a, std::uint32_t b) const;
  void in_step(std::span<const std::uint32_t> locations, std::int64_t ns);
  Group& group_of(std::uint32_t location, std::uint32_t path);

  std::vector<OfLocation> of_location_;
  std::unordered_map<std::uint64_t, std::int64_t> pairs_;      ///< of locations: when the one has waited for the other
  std::unordered_map<std::uint64_t, std::uint32_t> group_at_;  ///< by location and path
  std::vector<Group> groups_;
  std::uint64_t operations_ = 0;
};

}  // namespace refrain::patterns
