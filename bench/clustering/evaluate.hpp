#pragma once
/// Clusters a sequence and compares the reconstruction with the original.

#include <cstddef>
#include <vector>

#include "bench/clustering/reference.hpp"
#include "bench/clustering/sequence.hpp"
#include "bench/clustering/shares.hpp"

namespace refrain::bench {

struct Result {
  std::uint32_t clusters = 0;  ///< as requested
  std::uint32_t made = 0;      ///< number of clusters at the end
  std::uint32_t classes = 0;
  /// Relative L1 error per metric (column of a shape): the sum of |recorded - reconstructed| over iterations and call
  /// paths, divided by the sum of |recorded|.
  std::vector<double> column_error;
  double path_error = 0;       ///< mean of column_error over the metrics that occur
  double path_error_true = 0;  ///< the same, compared with the true time of user code instead of its samples
  double oracle = 0;           ///< path_error if everything but the random positions of the samples were known
  double user_true = 0;        ///< error of the user time alone, compared with the true time
  double user_within = 1;      ///< share of the user code's rows that are within 3 errors of the truth
  double count_error = 0;      ///< largest error of visits, messages and bytes
  std::vector<double> overall_error;
  double overall_exact = 0, overall_other = 0;  ///< largest error of the metrics kept exactly, and of those rounded
  double overall_mean = 0;                      ///< mean error of the metrics in the distance
  std::size_t profiles = 0;                     ///< bytes: rows, overall sums, path lists
  std::size_t search = 0;                       ///< bytes: sketches and slopes
  std::size_t vectors = 0;                      ///< bytes of the iteration log and the map
  std::size_t samples = 0;                      ///< bytes of the sample store
  std::uint64_t sample_stride = 1;              ///< the samples of one in this many iterations are kept
  double microseconds = 0;                      ///< per iteration, for clustering, log and sample store
  std::size_t bytes() const { return profiles + search + vectors + samples; }
};

/// `sample_bytes` is the memory for the samples of single iterations; with 0, none are kept.
Result evaluate(const Sequence& sequence, Algorithm algorithm, std::uint32_t clusters, std::size_t sample_bytes);

/// Clusters the sequence with the samples of one in 2^level iterations and divides its user time.
SharesResult evaluate_shares(const Sequence& sequence, std::uint32_t clusters, unsigned level);

}  // namespace refrain::bench
