#pragma once
/// CPU time and memory of adding iterations with 64 clusters and 20 overall metrics: clustering and, if the case says
/// so, the iteration log and the samples of single iterations.

#include <cstddef>

namespace refrain::bench {

/// Half of the touched call paths are exact, the others are sampled and drawn from `sampled` known ones.
struct CostCase {
  unsigned touched, sampled;
  std::size_t iterations;
  bool log = true;
  std::size_t sample_bytes = 0;  ///< room for the samples of single iterations
};

struct Cost {
  double microseconds = 0;         ///< per iteration, mean
  double best_microseconds = 0;    ///< in the fastest twentieth of the run
  std::size_t bytes_at_start = 0;  ///< bytes mapped after 10^4 iterations, without the log
  std::size_t bytes_at_end = 0;    ///< likewise at the end
  std::size_t vector_bytes = 0;    ///< of the log
  std::size_t iterations = 0;
};

Cost measure_cost(const CostCase& wanted);

}  // namespace refrain::bench
