#pragma once
/// The profile of one iteration, reconstructed from the sums of its cluster and its own exact vector.
///
/// The result is a leaf unit, so the time rules apply to it as to any other: its exclusive times add up to the wall
/// time of the iteration to the tick. The values of the vector (wall and MPI time, counts, bytes) are exact in the
/// unit's totals, and the values of the call paths are made to add up to them. Their division among the call paths is
/// an estimate: for MPI call paths by offline/run/reconstruct.hpp, for user code by user_shares.hpp. A cluster of one
/// member gives its iteration exactly, unless it has too few samples to divide its user code. Samples that were
/// recorded in the iteration are given as they are, but do not divide its user code by themselves.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "offline/experiment/profile.hpp"
#include "offline/run/extra_metrics.hpp"
#include "offline/run/iteration_samples.hpp"
#include "offline/run/iteration_shares.hpp"
#include "offline/run/loop_columns.hpp"
#include "offline/run/time_rules.hpp"
#include "offline/run/totals.hpp"

namespace refrain::run {

struct Leaf;  // rows.hpp
class Leaves;

/// The call paths of a requested value, and those that only the time rules define.
struct PathSelection {
  std::vector<bool> paths;  ///< by archive path
  bool not_on_cpu = false, no_sample = false, refrain = false, mpi_without_path = false;
  bool everything = false;  ///< values are those of the whole iteration
  bool waited = false, blocked = false;
};

/// The profiles of one loop of one location, which must outlive them. Not thread-safe: the data of a cluster is made
/// when it is first needed.
class IterationProfiles {
 public:
  IterationProfiles(const experiment::ProfileDefinitions& profile, const experiment::Rank& rank,
                    const experiment::Location& location, std::size_t loop);
  ~IterationProfiles();

  /// The unit of an iteration with the cluster and the vector that for_each_iteration() passes. Without a cluster (-1:
  /// it was made after the last snapshot of a killed run) the unit has totals only.
  /// `recorded`: the samples of the iteration; null: they are estimated, too.
  experiment::Unit unit_of(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row,
                           const std::vector<SampledPath>* recorded = nullptr) const;
  /// The totals alone, which the time rules need to divide the wall time into MPI, user code and Refrain's own.
  format::UnitTotals sums_of(std::int32_t cluster, std::span<const std::int64_t> row) const;
  /// format::undivided_times() of one iteration. The last answer is kept, since several metrics of an iteration are
  /// computed from it, one right after the other. Valid until the next call.
  const format::UnitTimes& undivided_times(std::int64_t iteration, std::int32_t cluster,
                                           std::span<const std::int64_t> row) const {
    if (iteration != last_times_.iteration || cluster != last_times_.cluster || row.data() != last_times_.row)
      last_times_ = {iteration, cluster, row.data(),
                     format::undivided_times(sums_for_undivided_times(cluster, row), constants_)};
    return last_times_.times;
  }
  /// The part of sums_of() that format::undivided_times() needs. Valid until the next call.
  const format::UnitTotals& sums_for_undivided_times(std::int32_t cluster, std::span<const std::int64_t> row) const;
  /// sums_of() as a unit of that cluster.
  experiment::Unit totals_of(std::int32_t cluster, std::span<const std::int64_t> row) const;

  /// The samples that were recorded in an iteration; null: they were not kept. Valid until the next call. The first
  /// call reads them from the file (experiment::ReadError).
  const std::vector<SampledPath>* recorded_samples(std::int64_t iteration) const {
    return kept_samples().of(iteration);
  }
  /// The n for which the samples of every n-th iteration were kept; 0: of none.
  std::uint64_t samples_stride() const { return kept_samples().any() ? kept_samples().stride() : 0; }

  /// Whether the cluster has one member with enough samples, so that nothing is reconstructed.
  bool is_exact(std::int32_t cluster) const;
  /// Sums over the members of a cluster; null if the file does not have the cluster.
  const experiment::Unit* cluster_unit(std::int32_t cluster) const;
  const experiment::Loop& loop() const { return loop_; }
  /// Index in the loops of the location.
  std::size_t loop_number() const { return loop_index_; }
  const experiment::Location& location() const { return location_; }
  const experiment::ProfileDefinitions& profile() const { return profile_; }
  const experiment::Rank& rank() const { return rank_; }
  const RankConstants& constants() const { return constants_; }
  double seconds(double ticks) const { return ticks / constants_.ticks_per_second; }
  const ExtraOfIterations& extra() const { return extra_; }
  const LoopColumns& columns() const { return columns_; }
  /// Calls `take` with the leaf (rows.hpp) of a cluster's unit, or of an iteration's unit from unit_of().
  void with_rows(const experiment::Unit& unit, bool is_exact, const std::function<void(const Leaf&)>& take) const;
  /// The MPI calls of a cluster's members, by call path; empty if the file does not have the cluster.
  std::vector<MpiCalls> calls_of(std::int32_t cluster) const;
  /// How the user time of iterations is divided. Made by the first call, which reads the whole log if the experiment
  /// does not keep the pools (loop_pools.hpp).
  const IterationShares& shares() const;

  /// The values of one column for the MPI call paths of a cluster in an iteration, in the order of the cluster's rows.
  /// Each is estimated separately, then they are made to add up to the known total of the iteration; nothing else does
  /// this. Takes time in proportion to the number of these call paths. Valid until the next call.
  std::span<const std::int64_t> mpi_column(std::size_t column, std::int32_t cluster,
                                           std::span<const std::int64_t> row) const;

  /// The sums of the selected call paths in one iteration, equal to those in unit_of().
  class Selected {
   public:
    Selected(const IterationProfiles& profiles, const PathSelection& selection);

    /// Sum over their MPI call paths; times in ticks.
    double mpi(format::MetricId metric, std::int32_t cluster, std::span<const std::int64_t> row) const;
    /// Sums over the call paths that are not to MPI. Takes constant time, whatever their number.
    struct BesideMpi {
      double user_ticks = 0, other_ticks = 0, samples = 0;
      double user_error_ticks = 0;  ///< standard error; if user_ticks is 0, the true value is below three of it
    };
    BesideMpi beside_mpi(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) const;

   private:
    struct OfCluster;
    struct ShareOfPool {
      bool known = false;
      double share = 0;
      ShareSpread spread{};
    };
    bool chosen(std::uint32_t path) const { return path < selection_.paths.size() && selection_.paths[path]; }
    double other_ticks(const UnitTimes& times) const;
    OfCluster exact_values(std::int32_t cluster) const;
    const OfCluster& of_cluster(std::int32_t cluster) const;
    const ShareOfPool& share_of(const SharePools::Pool& pool) const;

    const IterationProfiles& profiles_;
    const PathSelection& selection_;
    mutable std::vector<std::shared_ptr<const OfCluster>> clusters_;
    mutable std::vector<ShareOfPool> shares_;  ///< by pool
    bool sampled_ = false;                     ///< a call path of user code is selected
  };

 private:
  struct Model;
  struct Pool;
  const Model& model(std::int32_t cluster) const;
  const Pool& pool(std::uint32_t class_index) const;
  std::int64_t members(std::int32_t cluster) const;
  std::int64_t mpi_ticks(std::int32_t cluster, std::span<const std::int64_t> row) const;
  std::int64_t total_of_paths(const Model& model, std::size_t column, std::int32_t cluster,
                              std::span<const std::int64_t> row, double estimated) const;
  double estimate_column(const Model& model, std::size_t column, std::int32_t cluster,
                         std::span<const std::int64_t> row) const;
  IterationSamples& kept_samples() const;
  IterationShares::Divided divide(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row,
                                  experiment::Unit& unit) const;
  const experiment::ClassSlopes* learned_slopes(std::uint32_t class_index) const;
  int second_total(std::size_t column) const;

  const experiment::ProfileDefinitions& profile_;
  const experiment::Rank& rank_;
  const experiment::Location& location_;
  const experiment::Loop& loop_;
  const std::size_t loop_index_;
  const RankConstants constants_;
  std::vector<const experiment::Unit*> units_;  ///< by cluster
  const LoopColumns columns_;
  mutable std::unique_ptr<const Leaves> leaves_;
  mutable format::UnitTotals sums_for_undivided_times_{};
  struct TimesOfIteration {
    std::int64_t iteration = -1;
    std::int32_t cluster = -1;
    const std::int64_t* row = nullptr;
    format::UnitTimes times{};
  };
  mutable TimesOfIteration last_times_;
  // Buffers of mpi_column().
  mutable std::vector<double> estimates_;
  mutable std::vector<std::int64_t> mpi_column_;
  mutable std::vector<format::Remainder> room_;
  const ExtraOfIterations extra_;
  mutable std::unique_ptr<IterationSamples> samples_;
  mutable std::unique_ptr<IterationShares> shares_;
  mutable std::vector<std::unique_ptr<Model>> models_;
  mutable std::vector<std::pair<std::uint32_t, std::unique_ptr<Pool>>> pools_;
};

}  // namespace refrain::run
