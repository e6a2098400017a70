#pragma once
/// Measures the CPU time and the memory that adding iterations takes with 64 clusters and 20 overall metrics: for the
/// clustering and, if the case has them, for the iteration log and the samples of single iterations.

#include <cstddef>

namespace refrain::bench {

/// Half of the touched call paths are exact; the others are sampled and drawn from `sampled` known ones.
struct CostCase {
  unsigned touched, sampled;
  std::size_t iterations;
  bool log = true;
  std::size_t sample_bytes = 0;  ///< for the samples of single iterations
};

struct Cost {
  double microseconds = 0;         ///< per iteration, mean
  double best_microseconds = 0;    ///< per iteration in the fastest twentieth of the run
  std::size_t bytes_at_start = 0;  ///< mapped after the warm-up, which has at most 10^4 iterations, without the log
  std::size_t bytes_at_end = 0;    ///< mapped at the end, without the log
  std::size_t vector_bytes = 0;    ///< bytes of the log
  std::size_t iterations = 0;
};

Cost measure_cost(const CostCase& wanted);

}  // namespace refrain::bench
