#pragma once
/// Divides the user time of single iterations (user_shares.hpp) with the data of an experiment: the kept samples, the
/// exact vectors, the exact sums of clusters.
///
/// The division is read if the experiment keeps it (loop_pools.hpp). Otherwise it is computed in two passes over the
/// log, piece by piece; no iteration is held. Both give the same result. Throws experiment::ReadError.

#include <cstdint>
#include <string>
#include <vector>

#include "offline/experiment/profile.hpp"
#include "offline/run/iteration_samples.hpp"
#include "offline/run/time_rules.hpp"
#include "offline/run/user_shares.hpp"

namespace refrain::run {

class IterationProfiles;

class IterationShares {
 public:
  /// The shares of the loop of `profiles`. Both arguments must outlive this object.
  IterationShares(const IterationProfiles& profiles, IterationSamples& samples);

  struct Divided {
    const SharePools::Pool* pool = nullptr;  ///< null: nothing is known
    double on_cpu = 0;                       ///< ticks of user time
  };
  Divided of(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) const;

  /// The call path of the profile for a path of a pool.
  std::uint32_t path(std::uint32_t of_pool) const { return paths_[of_pool]; }
  std::size_t pools() const { return pools_.pools.size(); }
  /// The bytes that are kept.
  std::string packed() const;

 private:
  bool read_kept();
  void find();
  std::vector<UserShares::Cluster> sums(std::vector<std::uint32_t>& number);
  UserShares::Excluded excluded() const;
  SharePools::Iteration facts(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) const;

  const IterationProfiles& profiles_;
  IterationSamples& samples_;
  std::vector<std::uint32_t> paths_;  ///< those with samples, ascending
  SharePools pools_;
};

}  // namespace refrain::run
