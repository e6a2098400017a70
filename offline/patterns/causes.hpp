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
/// Samples tell which functions a computation consists of, there and on those that have waited; the difference is what
/// has made them wait. They are summed over the very times that were compared: what is done only now and then shows
/// there, and hardly in all instances of the computation. CPU time that is missing in these times was not on a CPU.
/// Only where they hold fewer than five samples, those of all instances (the same location, between the same call
/// paths) are taken. Calls say for how long their thread did not run: what of that is more than the call has waited is
/// compared, too.
///
/// Memory: the last 256 calls of each location and its samples since, 65,536 at most (of more, each second one counts
/// twice); pairs of locations of which one has waited for the other; and the sums, of samples by what was compared and
/// call path.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "offline/patterns/activity.hpp"
#include "offline/patterns/recent_calls.hpp"
#include "offline/patterns/search.hpp"

namespace refrain::patterns {

/// Of a computation, by call paths of samples.
struct SampledShares {
  /// They add up to 1; empty: there are no samples. trace::no_path: the thread was not on a CPU.
  std::vector<std::pair<std::uint32_t, double>> by_path;
  double samples = 0;  ///< as many of equal weight are as good; a share p has the variance p (1 - p) / samples
};

/// So much of a computation on one location.
struct SampledPart {
  double ns;  ///< below 0: of one that has waited, by which it has waited less
  SampledShares shares;
};

/// What has made others wait.
struct Cause {
  Activity activity;
  double ns = 0;                   ///< of waiting, of all that it has delayed
  double direct_ns = 0;            ///< of those that have waited for this location
  std::optional<double> off_cpu_ns = {};  ///< of a call: the part of `ns` in which its thread did not run, at least
  std::vector<SampledPart> parts;  ///< of a computation; their times add up to `ns`
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

  using IsMeant = std::function<bool(std::uint32_t path)>;
  /// After the pass. Of waiting at these call paths; empty: at all.
  CausesFound found(const IsMeant& is_meant = {}) const;

 private:
  /// A call that was left.
  struct Past {
    std::int64_t enter_ns, leave_ns, waiting_ns;
    std::uint32_t path;
    std::int64_t off_ns;
  };
  struct OfLocation {
    RecentCalls<Past> calls;
    std::int64_t known_since_ns = 0;      ///< at first the begin of the trace
    std::int64_t in_step_ns = INT64_MIN;  ///< the last operation of several processes
    std::uint64_t operation = 0;          ///< which one
    std::deque<Sampled> samples;          ///< since the oldest call
    double sampled_ns = 0;                ///< CPU time that all samples stand for, as far as it is known
    double sample_count = 0;              ///< of these samples
  };
  struct Weight {
    double sum = 0, squares = 0;
    void add(double value) { sum += value, squares += value * value; }
  };
  using Weights = std::map<std::uint32_t, Weight>;  ///< CPU time of samples, by call path
  enum class Kind : std::uint8_t { Computation, Call, Wait };
  /// What a location has done for a while.
  struct Piece {
    Kind kind;
    std::uint32_t before, after;
    std::int64_t begin_ns, behind_ns;
    double off_ns = 0;  ///< of a call, without its waiting: the thread did not run, at least
  };
  struct Doing {
    std::uint32_t location;
    Kind kind;
    std::uint32_t before, after;
    auto operator<=>(const Doing&) const = default;
  };
  /// How long a location has done something, and the samples of that time.
  struct Did {
    double ns = 0, off_ns = 0;
    Weights samples;
  };
  /// Another location, and the one that has waited for it.
  struct Both {
    Did other, own;
    double excess_ns() const { return other.ns - own.ns; }
    /// Of that the other one did not run.
    double off_cpu_ns() const { return std::clamp(other.off_ns - own.off_ns, 0.0, std::max(excess_ns(), 0.0)); }
  };
  /// Parts of what a location has done, added up.
  struct PartSum {
    double ns = 0;
    Weights samples;
    double variance = 0;  ///< of the samples' sum, were the thread on a CPU all the time
    void add(const Did& did, double factor, double period_ns);
  };
  /// The waiting of one call path on one location.
  struct Group {
    std::uint32_t location, path;
    double waiting_ns = 0;
    std::map<Doing, Both> done;  ///< by what others have done
  };

  void call(const Call& call);
  void collective(const Collective& of);
  void job_wide(const JobWide& of);
  void waited(const Waited& of);
  void sampled(const Sampled& of);
  void add_samples(const Call& call, const OfLocation& of);
  static void thin_out(std::deque<Sampled>& samples);
  double period_ns(std::uint32_t location) const;
  static SampledShares shares_of(const Weights& weights);
  SampledShares shares_of(const Activity& computation, const PartSum& sum) const;
  std::int64_t add_waiting(const Waited& of);
  void read_pieces(const Moment& end, std::int64_t from_ns, std::vector<Piece>& pieces) const;
  static void meet_at_the_wait(std::vector<Piece>& own, const std::vector<Piece>& others);
  void add(Group& group, std::uint32_t other, Did Both::*whose, std::uint32_t location, std::span<const Piece> pieces,
           double factor) const;
  std::int64_t in_step_since(std::uint32_t a, std::uint32_t b) const;
  void in_step(std::span<const std::uint32_t> locations, std::int64_t ns);
  Group& group_of(std::uint32_t location, std::uint32_t path);

  const trace::Trace& trace_;
  std::vector<OfLocation> of_location_;
  std::unordered_map<std::uint64_t, std::int64_t> pairs_;      ///< of locations: when the one has waited for the other
  std::unordered_map<std::uint64_t, std::uint32_t> group_at_;  ///< by location and path
  std::vector<Group> groups_;
  std::map<Activity, Weights> samples_;  ///< of computations
  std::vector<Piece> own_, others_;      ///< of the wait that is looked at
  std::uint64_t operations_ = 0;
};

}  // namespace refrain::patterns
