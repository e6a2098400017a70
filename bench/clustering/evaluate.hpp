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
  /// Relative L1 per metric (column of a shape), sum over iterations and call paths of |true - reconstructed| / sum of
  /// |true|.
  std::vector<double> column_error;
  double path_error = 0;       ///< mean of column_error over the metrics that occur, against what was recorded
  double path_error_true = 0;  ///< the same, with the true time of user code in place of its samples
  double oracle = 0;           ///< path_error if all but the chance placement of the samples were known
  double user_true = 0;        ///< error of the true user time alone
  double user_within = 1;      ///< share of the user code's rows that are within 3 errors of the truth
  double count_error = 0;      ///< largest over visits, messages, bytes
  std::vector<double> overall_error;
  double overall_exact = 0, overall_other = 0;  ///< largest over the metrics kept exactly, and rounded
  double overall_mean = 0;                      ///< mean over metrics in the distance
  std::size_t profiles = 0;                     ///< bytes: rows, overall sums, path lists
  std::size_t search = 0;                       ///< bytes: sketches and slopes
  std::size_t vectors = 0;                      ///< bytes of the iteration log and the map
  std::size_t samples = 0;                      ///< bytes of the sample store
  std::uint64_t sample_stride = 1;              ///< samples are kept of one in this many iterations
  double microseconds = 0;                      ///< per iteration: clustering, log and sample store
  std::size_t bytes() const { return profiles + search + vectors + samples; }
};

/// `sample_bytes`: room for the samples of single iterations, 0: none are kept.
Result evaluate(const Sequence& sequence, Algorithm algorithm, std::uint32_t clusters, std::size_t sample_bytes);

/// Clusters the sequence and divides the user time; the samples of one in 2^level iterations are kept.
SharesResult evaluate_shares(const Sequence& sequence, std::uint32_t clusters, unsigned level);

}  // namespace refrain::bench
