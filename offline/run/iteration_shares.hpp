#pragma once
/// Division of the user time of single iterations (user_shares.hpp) from what an experiment has: the samples that were
/// kept, the exact vectors, the exact sums of clusters.
///
/// Goes twice over the log, piece by piece, when it is made; no iteration is held. Throws experiment::ReadError.

#include <cstdint>
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
    const UserShares::Pool* pool = nullptr;  ///< null: nothing is known
    double on_cpu = 0;                       ///< ticks of user time
  };
  /// `totals`: IterationProfiles::totals_of() of the iteration.
  Divided of(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row,
             const experiment::Unit& totals) const;

  /// Call path of the profile behind a path of a pool.
  std::uint32_t path(std::uint32_t of_pool) const { return paths_[of_pool]; }
  std::size_t pools() const { return shares_.pools(); }

 private:
  UserShares::Iteration facts(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row,
                              const experiment::Unit& totals) const;
  UserShares begin();
  std::vector<UserShares::Cluster> sums();
  UserShares::Excluded excluded() const;

  const IterationProfiles& profiles_;
  IterationSamples& samples_;
  std::vector<std::uint32_t> paths_;   ///< those with samples, ascending
  std::vector<std::uint32_t> number_;  ///< by path of the profile
  UserShares shares_;
};

}  // namespace refrain::run
