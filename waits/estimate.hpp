#pragma once
/// Estimates waiting from the durations of calls alone (Mao et al., "Catching Idlers with Ease", EuroMPI 2014), as the
/// time by which calls exceed the shortest call of their kind.
///
/// The shortest call is a little shorter than the usual call without waiting, so the paper's estimate,
///
///     sum over bins b of (time of the calls of b - number of them * shortest call of the function and b),
///
/// is mostly too large. Here the shortest call is replaced by the usual call: the mean of the calls that took little
/// longer than the shortest (Durations::short_limit) and may be communication alone. Where calls may also be long
/// because they move data (LongBy::data), the estimate is the time by which calls exceed that limit.
///
/// Bounds. The upper bound is the estimate by the shortest call of any process, where one of them is known not to have
/// waited (WaitKind::has_one_without_waiting); otherwise it is all the time of the calls, since the shortest call has
/// waited, too, if a partner is late each time. The lower bound is the time by which calls exceed the limit, where that
/// cannot be due to data. A process that loses its processor within a call makes this call longer, and those of the
/// other processes in the same operation; that is no waiting for processes that enter late. So the lower bound is
/// reduced by the part of the time in MPI for which processes had no processor.

#include <limits>
#include <map>

#include "waits/durations.hpp"
#include "waits/kinds.hpp"

namespace refrain::waits {

/// Some calls of one function and bin.
struct Calls {
  double number = 0, time_s = 0;
  double short_number = 0, short_time_s = 0;  ///< the part of short calls, by the shortest call of their group

  Calls() = default;
  Calls(const Durations& durations, double seconds_per_tick);
  Calls& operator+=(const Calls& other);
};

/// The duration of calls of one function and bin when no process waits.
struct Floor {
  double shortest_s = 0, usual_s = 0;
  double number = 0;  ///< number of calls from which it is known
};

/// Computes a floor from groups of calls, added in any order.
class FloorBuilder {
 public:
  void add(const Durations& durations, double seconds_per_tick);
  Floor floor() const;

 private:
  struct Short {
    double number = 0, time_s = 0;
  };
  double shortest_s_ = 0, number_ = 0;
  std::map<int, Short> by_shortest_;  ///< short calls of groups, by the shortest call in eighths of powers of two
};

/// Waiting of some calls, seconds.
struct Estimate {
  double seconds = 0;
  double least_s = 0, most_s = 0;  ///< bounds
  double paper_s = 0;              ///< the paper's estimate
  double most_by_shortest_s = 0;   ///< the upper bound if the shortest call of any process has not waited

  Estimate& operator+=(const Estimate& other);
  /// Extends the estimate to calls that take `time_s`, of which `known_s` is covered: the rest is assumed to have
  /// waited for the same part of its time, and may have waited for any part of it.
  void extend(double known_s, double time_s);
  /// The standard error, for a uniform distribution between the bounds around `seconds`.
  double error_s() const;
};

/// Fewer calls of a kind than this may all have waited, and prove nothing.
inline constexpr double fewest_calls = 10;

/// The longest duration of a call of the bin on a slow network when no process waits.
double slowest_of(CallBin bin);

/// How the durations of calls of one kind are interpreted.
struct Comparison {
  LongBy long_by = LongBy::waiting;
  bool has_one_without_waiting = false;  ///< the shortest call of all processes has not waited
  double off_processor = 0;              ///< part of the calls' time for which a process may have had no processor
  /// No call of the kind takes longer without waiting on any network.
  double slowest_s = std::numeric_limits<double>::infinity();
};

/// The estimate for `calls`. `own`: the floor that this kind of waiting is compared with (kinds.hpp); `of_all`: the
/// floor of all processes.
Estimate estimate(const Calls& calls, const Floor& own, const Floor& of_all, const Comparison& by);

}  // namespace refrain::waits
