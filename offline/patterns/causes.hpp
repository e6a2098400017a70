#pragma once
/// The causes of waiting: activities on which other processes spent more time than the waiting process (delays; Boehme,
/// Geimer, Wolf, Arnold: Identifying the root causes of wait states in large-scale parallel applications).
///
/// A call waits for something that another process does later. Between the time at which the two were last in step (one
/// waited for the other, or both were in an operation of all) and the wait, both spent time on the same activities: on
/// segments of computation (between two MPI calls, named by their call paths) and in calls. Each activity on which the
/// other process spent more time made the first one wait by the difference; these differences add up to the waiting
/// exactly. They are summed over all waits of a call path before negative sums are dropped, so that random differences
/// cancel.
///
/// If the other process itself waited in that interval, the cause is whatever made it wait. Costs therefore flow from
/// the waits of a call path on one location to those of another until they arrive at work: by shares of sums, not wait
/// by wait.
///
/// Samples show which functions a computation consists of, on the delaying and on the waiting location; the difference
/// caused the wait. Samples are summed over exactly the intervals that were compared: work that is done only now and
/// then shows up there, and hardly in all instances of the computation. Time in these intervals without CPU time was
/// not spent on a CPU. Only if they hold fewer than five samples, the samples of all instances (the same location,
/// between the same call paths) are used. The event of a call says how long the thread did not run in it; what exceeds
/// the call's own waiting is part of the cause.
///
/// Memory: the last 256 calls of each location and its samples since then, at most 65,536 (beyond that, every second
/// sample counts twice); pairs of locations one of which waited for the other; and the sums, with samples by compared
/// activity and call path.

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

/// The composition of a computation, by call paths of its samples.
struct SampledShares {
  /// The shares add up to 1; empty: there are no samples. trace::no_path: the thread was not on a CPU.
  std::vector<std::pair<std::uint32_t, double>> by_path;
  double samples = 0;  ///< effective number, of equal weight; a share p has the variance p (1 - p) / samples
};

/// The part of a computation on one location.
struct SampledPart {
  double ns;  ///< negative: on a location that waited, by how much that shortened its wait
  SampledShares shares;
};

/// An activity that made others wait.
struct Cause {
  Activity activity;
  double ns = 0;                   ///< waiting time of all locations that it delayed
  double direct_ns = 0;            ///< waiting time of locations that waited for this one
  double off_cpu_ns = 0;           ///< of a call: the part of `ns` in which the thread did not run, at least
  std::vector<SampledPart> parts;  ///< of a computation; their times add up to `ns`
};

struct CausesFound {
  std::vector<Cause> causes;  ///< largest first
  double waiting_ns = 0;      ///< waiting time of all calls
  double unknown_ns = 0;      ///< part of `waiting_ns` without a known cause
};

class Causes {
 public:
  /// Subscribes, also to Waited, which Waits publishes.
  explicit Causes(Search& search);
  Causes(const Causes&) = delete;
  Causes& operator=(const Causes&) = delete;

  using IsMeant = std::function<bool(std::uint32_t path)>;
  /// After the pass: causes of the waiting at these call paths; empty: at all call paths.
  CausesFound found(const IsMeant& is_meant = {}) const;

 private:
  /// A call that has ended.
  struct Past {
    std::int64_t enter_ns, leave_ns, waiting_ns;
    std::uint32_t path;
    std::int64_t off_cpu_ns;
    /// The share of the time without waiting in which the thread did not run, if it did not run while it waited.
    double off_cpu_share() const;
  };
  struct OfLocation {
    RecentCalls<Past> calls;
    std::int64_t known_since_ns = 0;      ///< initially the start of the trace
    std::int64_t in_step_ns = INT64_MIN;  ///< last operation that put several processes in step
    std::uint64_t operation = 0;          ///< number of that operation
    std::deque<Sampled> samples;          ///< samples since the oldest call
    double sampled_ns = 0;                ///< CPU time of all samples for which it is known
    double sample_count = 0;              ///< number of these samples
  };
  struct Weight {
    double sum = 0, squares = 0;
    void add(double value) { sum += value, squares += value * value; }
  };
  using Weights = std::map<std::uint32_t, Weight>;  ///< CPU time of samples, by call path
  enum class Kind : std::uint8_t { Computation, Call, Wait };
  /// An interval in which a location did one thing.
  struct Piece {
    Kind kind;
    std::uint32_t before, after;
    std::int64_t begin_ns, behind_ns;
    double off_cpu_share;  ///< of a call
  };
  struct Doing {
    std::uint32_t location;
    Kind kind;
    std::uint32_t before, after;
    auto operator<=>(const Doing&) const = default;
  };
  /// How long a location did something, and the samples of that time.
  struct Did {
    double ns = 0, off_cpu_ns = 0;
    Weights samples;
  };
  /// The same activity on another location and on the location that waited for it.
  struct Both {
    Did other, own;
    double excess_ns() const { return other.ns - own.ns; }
    /// The share of a positive excess in which the other location did not run.
    double off_cpu_share() const { return std::clamp((other.off_cpu_ns - own.off_cpu_ns) / excess_ns(), 0.0, 1.0); }
  };
  /// The sum of parts of what a location did.
  struct PartSum {
    double ns = 0;
    Weights samples;
    double variance = 0;  ///< of the samples' sum if the thread were on a CPU all the time
    void add(const Did& did, double factor, double period_ns);
  };
  /// The waiting of one call path on one location.
  struct Group {
    std::uint32_t location, path;
    double waiting_ns = 0;
    std::map<Doing, Both> done;  ///< by activity of the delaying location
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

  std::vector<OfLocation> of_location_;
  std::unordered_map<std::uint64_t, std::int64_t> pairs_;      ///< by pair of locations: when one waited for the other
  std::unordered_map<std::uint64_t, std::uint32_t> group_at_;  ///< by location and path
  std::vector<Group> groups_;
  std::map<Activity, Weights> samples_;  ///< by computation
  std::vector<Piece> own_, others_;      ///< of the current wait
  std::uint64_t operations_ = 0;
};

}  // namespace refrain::patterns
