#pragma once
/// Classes of iterations of a whole job, beside the clusters that each rank has of its own: iterations in which the job
/// as a whole did about the same, by the time of its iterations, in MPI and in user code, and by the slowest rank.
///
/// One pass puts each iteration to the nearest of at most 64 centres, or makes a new one (leader clustering); then the
/// two nearest centres become one until they differ by more than they scatter, and at most `most` are left. The result
/// depends on the values and their order alone.

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace refrain::analysis {

/// What the job did in an iteration, or in some that follow each other: seconds of one iteration.
struct JobIteration {
  double wall = 0, mpi = 0, user = 0;  ///< means over threads
  double slowest = 0;                  ///< wall time of the slowest thread
};

struct JobClasses {
  std::vector<std::uint32_t> of;  ///< by iteration, from 0 on: the class with most iterations first
  std::uint32_t count = 0;
};

/// An iteration whose wall time is not a number gets the class of its predecessor.
JobClasses job_classes(std::span<const JobIteration> iterations, std::uint32_t most = 16);

/// First and last of the runs of one class that hold nine tenths of it, ascending; none: more than `most` runs do.
std::vector<std::pair<std::int64_t, std::int64_t>> runs_of_class(std::span<const std::uint32_t> of,
                                                                 std::uint32_t wanted, std::size_t most = 4);

}  // namespace refrain::analysis
