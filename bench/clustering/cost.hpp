#pragma once
/// CPU time and memory of adding iterations at 64 clusters and 20 overall metrics: clustering, iteration log and, with
/// `sample_bytes`, the samples of single iterations.

#include <cstddef>

#include "clustering/types.hpp"

namespace refrain::bench {

struct Cost {
  double microseconds = 0;       ///< per iteration, mean
  double best_microseconds = 0;  ///< the fastest twentieth of the run
  std::size_t early_bytes = 0;   ///< mapped after 10^4 iterations, without the log
  std::size_t late_bytes = 0;    ///< at the end
  std::size_t vector_bytes = 0;  ///< of the log
  std::size_t iterations = 0;
};

Cost measure_cost(clustering::Algorithm algorithm, unsigned touched, std::size_t iterations, unsigned known_sampled,
                  std::size_t sample_bytes);

}  // namespace refrain::bench
