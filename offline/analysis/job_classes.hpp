#pragma once
/// Classes of iterations of a whole job, in addition to the clusters of each rank: iterations in which the job as a
/// whole did about the same, by their wall time, time in MPI and time in user code, by the slowest rank, and by which
/// places took the time.
///
/// One pass assigns each iteration to the nearest of at most 64 centres, or makes a new one (leader clustering); then
/// the two nearest centres are merged until all differ by more than they scatter, and at most `most` are left. Classes
/// that result from means over places are divided in the same way by differences between places. The result depends
/// only on the values and their order.

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace refrain::analysis {

/// Projections of what means over places hide. Each one is a sum over places of their wall time, time in MPI and user
/// time, with signs that are drawn once for each place, kind of time and projection. The squared distance between the
/// projections of two iterations, divided by their number, estimates the one between their vectors over places
/// (Achlioptas, "Database-friendly random projections", 2003): a few projections stand for any number of places.
inline constexpr std::size_t projections = 8;
using Projected = std::array<float, projections>;

class PlaceSigns {
 public:
  explicit PlaceSigns(std::uint64_t place);
  /// Adds the place's seconds of one iteration.
  void add(double wall, double mpi, double user, Projected& to) const {
    const auto w = static_cast<float>(wall), m = static_cast<float>(mpi), u = static_cast<float>(user);
    for (std::size_t i = 0; i < projections; ++i) to[i] += wall_[i] * w + mpi_[i] * m + user_[i] * u;
  }
  /// Adds the signs of another place: a time that is equal at all places is projected to the sum of their signs.
  PlaceSigns& operator+=(const PlaceSigns& other);
  /// The signs of no place yet.
  PlaceSigns() = default;

 private:
  Projected wall_{}, mpi_{}, user_{};
};

/// Times of the job in an iteration, or means over consecutive iterations, in seconds.
struct JobIteration {
  double wall = 0, mpi = 0, user = 0;  ///< means over threads
  double slowest = 0;                  ///< wall time of the slowest thread
  Projected differences{};             ///< between threads, see set_differences(); NaN: some are not known
};

/// Completes the sums after PlaceSigns::add() of all places: subtracts the projections of the means, and divides by the
/// root of the number of places times the number of projections. `all`: the sum of the signs of the places.
void set_differences(JobIteration& of, const PlaceSigns& all, std::size_t places);

struct JobClasses {
  std::vector<std::uint32_t> of;  ///< by iteration: number of its class, from 0 on; the class with most iterations is 0
  std::uint32_t count = 0;
};

/// An iteration whose wall time is not a number gets the class of its predecessor.
JobClasses job_classes(std::span<const JobIteration> iterations, std::uint32_t most = 16);

/// First and last iterations of the runs that hold nine tenths of a class, ascending; empty: more than `most` runs do.
std::vector<std::pair<std::int64_t, std::int64_t>> runs_of_class(std::span<const std::uint32_t> of,
                                                                 std::uint32_t wanted, std::size_t most = 4);

}  // namespace refrain::analysis
