#pragma once
/// Finds the call paths that were not called in the iterations of a class.
///
/// Iterations of one class make MPI calls, and enter marked regions, at the same call paths, and these are counted
/// exactly. A function below which other classes make calls and this one makes none was probably not called: samples
/// of other iterations must not give it time here. If it was called without making these calls, samples find it: it is
/// excluded only if it has none, although at least `expected_samples` would be expected if it were called as in the
/// other classes. A function that is called equally often is excluded by chance in 0.7 % of the cases (exp(-5)).
///
/// Pure.

#include <cstdint>
#include <span>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::run {

inline constexpr double expected_samples = 5;

/// Exact sums over the iterations of a class.
struct ClassSums {
  struct Sampled {
    std::uint32_t path;
    std::int64_t samples;
  };
  std::vector<std::uint32_t> visited;  ///< call paths of MPI calls that were made, and of regions that were entered
  std::vector<Sampled> sampled;
};

/// By class, then by path of the profile: whether no iteration of the class has the path. A class that excludes nothing
/// has an empty list.
std::vector<std::vector<bool>> excluded_paths(std::span<const experiment::CallPath> paths,
                                              std::span<const ClassSums> classes);

}  // namespace refrain::run
