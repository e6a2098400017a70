#pragma once
/// Waiting from the durations of calls alone (Mao et al., "Catching Idlers with Ease", EuroMPI 2014): what calls take
/// longer than the shortest one of their kind.
///
/// The shortest call is a little shorter than one without waiting usually is, so the paper's estimate,
///
///     sum over bins b of (time of the calls of b - number of them * shortest call of the function and b),
///
/// is mostly too large. Here the usual call takes the place of the shortest: the mean of those that took little longer
/// than it (Durations::short_limit), which may be communication alone. Where long calls may be so by moving data, too
/// (LongBy::data), what calls take longer than may be communication is the estimate.
///
/// Bounds. The upper one is that by the shortest call of any process where one of them is known not to have waited
/// (WaitKind::has_one_without_waiting), and else all time of the calls: where a partner is late each time, the shortest
/// call has waited, too. The lower one counts what calls take longer than may be communication, where that is known not
/// to be data. A process that loses its processor within a call makes that call longer, and those of the others in the
/// same operation, which is no waiting for the processes that enter late: so the lower bound is less by the part of the
/// time in MPI for which processes had no processor.

#include <limits>
#include <map>

#include "waits/durations.hpp"
#include "waits/kinds.hpp"

namespace refrain::waits {

/// Some calls of one function and bin.
struct Calls {
  double number = 0, time_s = 0;
  double short_number = 0, short_time_s = 0;  ///< of these those that are short beside the shortest of their group

  Calls() = default;
  Calls(const Durations& of, double seconds_per_tick);
  Calls& operator+=(const Calls& other);
};

/// What calls of one function and bin take when nobody waits.
struct Floor {
  double shortest_s = 0, usual_s = 0;
  double number = 0;  ///< of calls that tell it
};

/// Finds it from groups of calls, in whatever order.
class FloorBuilder {
 public:
  void add(const Durations& of, double seconds_per_tick);
  Floor floor() const;

 private:
  struct Short {
    double number = 0, time_s = 0;
  };
  double shortest_s_ = 0, number_ = 0;
  std::map<int, Short> by_shortest_;  ///< of groups, by eighths of powers of two of their shortest
};

/// Waiting of some calls, seconds.
struct Estimate {
  double seconds = 0;
  double least_s = 0, most_s = 0;  ///< bounds
  double paper_s = 0;              ///< as the paper has it, by the shortest call of the kind that it takes
  double most_by_shortest_s = 0;   ///< the upper bound, had the shortest call of any process not waited

  Estimate& operator+=(const Estimate& other);
  /// For calls that take `time_s` of which `known_s` is known: the rest is taken to have waited in the same part of its
  /// time, and may be any part.
  void extend(double known_s, double time_s);
  /// Were all that lies within the bounds as likely: how far that is from `seconds`.
  double error_s() const;
};

/// So few calls of a kind may all have waited, and say nothing.
inline constexpr double fewest_calls = 10;

/// What a call of the bin takes on a slow network, at most, when nobody waits.
double slowest_of(CallBin bin);

/// How calls of one kind are compared.
struct Comparison {
  LongBy long_by = LongBy::waiting;
  bool has_one_without_waiting = false;  ///< the shortest call of all has not waited
  double off_processor = 0;              ///< part of the calls' time for which a process may have had no processor
  /// Without waiting no call of the kind takes longer on any network.
  double slowest_s = std::numeric_limits<double>::infinity();
};

/// `own`: the floor that the kind of waiting takes (kinds.hpp); `of_all`: of all processes.
Estimate estimate(const Calls& of, const Floor& own, const Floor& of_all, const Comparison& by);

}  // namespace refrain::waits
