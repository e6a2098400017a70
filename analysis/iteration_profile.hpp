#pragma once
/// The profile of one iteration, reconstructed from the sums of its cluster and its own exact vector.
///
/// The result is a leaf unit, so the time rules apply to it as to any other: its exclusive times add up to the wall
/// time of the iteration to the tick. What the vector holds (wall and MPI time, counts, bytes) is exact in the unit's
/// totals, and the values of the call paths are made to add up to it. How they are divided among the call paths is an
/// estimate (clustering/reconstruct.hpp). A cluster of one member gives its iteration as it was; only when that has too
/// few samples to divide its user code is this done as in the iterations of its class. Samples that were recorded in
/// the iteration are given as they are: few as they are they do not divide its user code either.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "analysis/extra_metrics.hpp"
#include "analysis/iteration_samples.hpp"
#include "analysis/time_rules.hpp"
#include "archive/profile.hpp"

namespace refrain::analysis {

/// Call paths that a value is wanted for, and the paths that only the time rules define.
struct PathSelection {
  std::vector<bool> paths;  ///< by archive path
  bool not_on_cpu = false, no_sample = false, refrain = false, mpi_without_path = false;
};

/// Of one loop of one location, which must outlive it. Not thread-safe: what a cluster needs is made when it is asked
/// for first.
class IterationProfiles {
 public:
  IterationProfiles(const archive::Profile& profile, const archive::Rank& rank, const archive::Location& location,
                    std::size_t loop);
  ~IterationProfiles();

  /// The unit of an iteration whose cluster and vector are those of for_each_iteration(). Without a cluster (-1: it
  /// was made after the last snapshot of a killed run) it has totals only.
  /// `recorded`: the samples of the iteration; null: they are estimated, too.
  archive::Unit unit_of(std::int32_t cluster, std::span<const std::int64_t> row,
                        const std::vector<SampledPath>* recorded = nullptr) const;
  /// The totals alone: what the time rules need to divide the wall time into MPI, user code and the rest.
  archive::Unit totals_of(std::int32_t cluster, std::span<const std::int64_t> row) const;

  /// The samples that were recorded in an iteration; null: they were not kept. Valid until the next call. They are read
  /// from the file when they are asked for first (archive::ReadError).
  const std::vector<SampledPath>* recorded_samples(std::int64_t iteration) const {
    return kept_samples().of(iteration);
  }
  /// The samples of every n-th iteration were kept; 0: of none.
  std::uint64_t samples_stride() const { return kept_samples().any() ? kept_samples().stride() : 0; }

  /// The cluster holds this iteration alone, and samples enough: nothing is reconstructed.
  bool is_exact(std::int32_t cluster) const;
  /// Sums over the members of a cluster; null when the file does not have it.
  const archive::Unit* cluster_unit(std::int32_t cluster) const;
  const archive::Loop& loop() const { return loop_; }
  std::size_t loop_index() const { return loop_index_; }
  const archive::Profile& profile() const { return profile_; }
  const RankConstants& constants() const { return constants_; }
  const ExtraOfIterations& extra() const { return extra_; }

  /// What the call paths of a selection have in all in one iteration. Constant work per iteration, whatever the number
  /// of call paths.
  struct PathTotals {
    std::array<double, measurement::columns_of(archive::NodeKind::Region)> mpi{};  ///< by measurement::column_of()
    double user_ticks = 0, other_ticks = 0, samples = 0;
    double of(measurement::MetricId metric) const { return mpi[measurement::column_of(metric)]; }
  };
  class Selected {
   public:
    Selected(const IterationProfiles& profiles, const PathSelection& selection);
    PathTotals in(std::int32_t cluster, std::span<const std::int64_t> row) const;

   private:
    struct OfCluster;
    const IterationProfiles& profiles_;
    const PathSelection& selection_;
    mutable std::vector<std::shared_ptr<const OfCluster>> clusters_;
  };

 private:
  struct SampleRates;
  struct Model;
  struct Pool;
  SampleRates rates_of(const archive::Unit& unit) const;
  const Model& model(std::int32_t cluster) const;
  const Pool& pool(std::uint32_t class_index) const;
  std::int64_t members(std::int32_t cluster) const;
  IterationSamples& kept_samples() const;
  const archive::ClassSlopes* learned_slopes(std::uint32_t class_index) const;
  int second_total(std::size_t column) const;

  const archive::Profile& profile_;
  const archive::Rank& rank_;
  const archive::Loop& loop_;
  const std::size_t loop_index_;
  const RankConstants constants_;
  std::vector<const archive::Unit*> units_;  ///< by cluster
  const ExtraOfIterations extra_;
  std::array<int, measurement::columns_of(archive::NodeKind::Region) + 5>
      columns_{};  ///< of the vector, by Total; -1: not there
  mutable std::unique_ptr<IterationSamples> samples_;
  mutable std::vector<std::unique_ptr<Model>> models_;
  mutable std::vector<std::pair<std::uint32_t, std::unique_ptr<Pool>>> pools_;
};

}  // namespace refrain::analysis
