#pragma once
/// How a value changes over the iterations of a loop: single iterations that stand out, a step to another level, a
/// steady growth, or a level that wanders. A step or growth is more than chance makes, once in a million series, of
/// values that scatter, and neighbours may resemble each other as much as in a random walk.

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
    double excess = 0;                ///< what they have more than the median around them, together
    double error = 0;                 ///< standard error of the excess
    double mean = 0;                  ///< of one
    std::size_t period = 0;           ///< they come every so many iterations; 0: irregularly
  };
  std::optional<Peaks> peaks;

  /// Another level from an iteration on, until the next step.
  struct Step {
    std::size_t at = 0;  ///< the first iteration of the other level
    double before = 0, after = 0;
    double error = 0;  ///< standard error of the difference
  };
  std::vector<Step> steps;  ///< at most two, ascending

  /// A higher level for a while, and then the one of before again.
  struct Stretch {
    std::size_t begin = 0, end = 0;
    double level = 0, around = 0;
    double error = 0;  ///< standard error of the difference
  };
  std::optional<Stretch> stretch;

  /// From the first to the last iteration, on a straight line or on a curve that only rises, or only falls.
  struct Growth {
    double first = 0, last = 0, mean = 0;
    double error = 0;  ///< standard error of the difference of first and last
  };
  std::optional<Growth> growth;  ///< may be negative

  /// The level changes slowly, but in no way that has one of the names above: neighbouring batches are alike.
  struct Wander {
    double low = 0, high = 0;  ///< medians of batches: of all but the lowest and highest tenth of them
  };
  std::optional<Wander> wander;
  // Of steps, stretch, growth and wander there is the one that describes the values best, or none.
};

/// Of fewer iterations nothing is said.
inline constexpr std::size_t least_iterations_of_shape = 20;

/// The distance that nearly all of the places have from the one before, when they come like this over nearly all of
/// `extent`; a few that come by chance, or are hidden, do not count. 0: they come irregularly, or are fewer than four.
std::size_t period_of(std::span<const std::size_t> places, std::size_t extent);

/// The probability of a step or growth at least as large in a series that has none.
inline constexpr double most_by_chance = 1e-6;

/// Values that are not known are NaN.
IterationShape shape_of(std::span<const double> values, double by_chance = most_by_chance);

}  // namespace refrain::analysis
