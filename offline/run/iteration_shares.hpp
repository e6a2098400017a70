#pragma once
/// Division of the user time of single iterations (user_shares.hpp) from what an experiment has: the samples that were
/// kept, the exact vectors, the exact sums of clusters.
///
/// It is read where the experiment keeps it (loop_pools.hpp). Else it is found, which goes twice over the log, piece by
/// piece; no iteration is held. Both come to the same. Throws experiment::ReadError.

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
  /// Of the loop of these profiles, which must outlive it.
  IterationShares(const IterationProfiles& profiles, IterationSamples& samples);

  struct Divided {
    const SharePools::Pool* pool = nullptr;  ///< null: nothing is known
    double on_cpu = 0;                       ///< ticks of user time
  };
  Divided of(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) const;

  /// Call path of the profile behind a path of a pool.
  std::uint32_t path(std::uint32_t of_pool) const { return paths_[of_pool]; }
  std::size_t pools() const { return pools_.pools.size(); }
  /// As it is kept.
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
