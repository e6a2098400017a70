#pragma once
/// Waiting from the durations of calls alone (Mao et al., "Catching Idlers with Ease", EuroMPI 2014): what calls take
/// longer than the shortest one of their kind.
///
/// The shortest call is a little shorter than one without waiting usually is, so the paper's estimate,
///
///     sum over classes s of (time of the calls of s - number of them * shortest call of the function and s),
///
/// is mostly too large. Here the usual call takes the place of the shortest: the mean of those that took little longer
/// than it (Durations::most_of_short), which may be communication alone. The upper bound is that by the shortest call
/// of any process; the lower one counts what calls take longer than may be communication. Where long calls may be so by
/// moving data, too (LongBy::data), that is the estimate, and the lower bound is nothing.

#include <map>

#include "waits/durations.hpp"
#include "waits/kinds.hpp"

namespace refrain::waits {

/// Some calls of one function and class.
struct Calls {
  double number = 0, time_s = 0;
  double short_number = 0, short_time_s = 0;  ///< of these those that are short beside the shortest of their group

  Calls() = default;
  Calls(const Durations& of, double seconds_per_tick);
  Calls& operator+=(const Calls& other);
};

/// What calls of one function and class take when nobody waits.
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

  Estimate& operator+=(const Estimate& other);
  /// For calls that take `time_s` of which `known_s` is known: the rest is taken to have waited in the same part of its
  /// time, and may be any part.
  void extend(double known_s, double time_s);
  /// Were all that lies within the bounds as likely: how far that is from `seconds`.
  double error_s() const;
};

/// So few calls of a kind may all have waited, and say nothing.
inline constexpr double fewest_calls = 10;

/// `own`: the floor that the kind of waiting takes (kinds.hpp); `of_all`: of all processes.
Estimate estimate(const Calls& of, const Floor& own, const Floor& of_all, LongBy long_by);

}  // namespace refrain::waits
