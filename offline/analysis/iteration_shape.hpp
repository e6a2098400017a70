#pragma once
/// How a value changes over the iterations of a loop: single iterations that stand out, a step to another level, steady
/// growth, or a level that wanders. A step or growth is reported only if chance makes one as large in no more than one
/// of a million series, even if neighbouring values resemble each other as much as in a random walk.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace refrain::analysis {

struct IterationShape {
  double usual = 0;  ///< the median

  /// Iterations that take much more than those around them.
  struct Peaks {
    std::vector<std::size_t> places;  ///< ascending
    double excess = 0;                ///< sum of their excesses over the median around them
    double error = 0;                 ///< standard error of the excess
    double mean = 0;                  ///< mean value of a peak
    std::size_t period = 0;           ///< distance between peaks; 0: they come irregularly
  };
  std::optional<Peaks> peaks;

  /// A change of level from one iteration on, until the next step.
  struct Step {
    std::size_t at = 0;  ///< the first iteration of the other level
    double before = 0, after = 0;
    double error = 0;  ///< standard error of the difference
  };
  std::vector<Step> steps;  ///< at most two, ascending

  /// A higher level for a while, and then the previous one again.
  struct Stretch {
    std::size_t begin = 0, end = 0;
    double level = 0, around = 0;
    double error = 0;  ///< standard error of the difference
  };
  std::optional<Stretch> stretch;

  /// A change from the first to the last iteration, on a straight line or on a curve that only rises or only falls.
  struct Growth {
    double first = 0, last = 0, mean = 0;
    double error = 0;  ///< standard error of the difference of first and last
  };
  std::optional<Growth> growth;  ///< may be negative

  /// The level changes slowly, but in none of the ways above: neighbouring batches are alike.
  struct Wander {
    double low = 0, high = 0;  ///< range of the medians of batches, without their lowest and highest tenth
  };
  std::optional<Wander> wander;
  // At most one of steps, stretch, growth and wander is set: the one that describes the values best.
};

/// A loop with fewer iterations has no shape.
inline constexpr std::size_t least_iterations_of_shape = 20;

/// The distance of nearly all of the places from the previous one, if they cover nearly all of `extent`. A few extra or
/// missing places do not count. 0: the places are irregular, or fewer than four.
std::size_t period_of(std::span<const std::size_t> places, std::size_t extent);

/// The largest probability of a step or growth at least as large in a series that has none.
inline constexpr double most_by_chance = 1e-6;

/// Values that are not known are NaN.
IterationShape shape_of(std::span<const double> values, double by_chance = most_by_chance);

}  // namespace refrain::analysis
