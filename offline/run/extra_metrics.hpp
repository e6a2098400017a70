#pragma once
/// The metrics that the user has asked for beside the time: what call paths have of them in one iteration. What they
/// have in a leaf unit is in run/extra_shares.hpp.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "offline/experiment/profile.hpp"
#include "offline/run/extra_shares.hpp"

namespace refrain::run {

struct PathSelection;

/// Of the iterations of one loop of one location. Not thread-safe: what a cluster needs is made when it is asked for.
class ExtraOfIterations {
 public:
  /// `units` are the sums of the loop's clusters, null where the file has none. All must outlive it.
  ExtraOfIterations(std::span<const experiment::CallPath> paths, std::span<const experiment::ExtraMetric> metrics,
                    const experiment::Loop& loop, const std::vector<const experiment::Unit*>& units);
  ~ExtraOfIterations();

  /// Of one iteration. Its totals are exact; its values of MPI functions are the mean of its cluster, moved as the
  /// total differs from that of the cluster; its user code is divided as that of the cluster.
  experiment::ExtraValues values_of(std::int32_t cluster, std::span<const std::int64_t> row) const;

  /// What the selected call paths have of one metric, as values_of() has it; work in proportion to the MPI call paths
  /// of the cluster. The selection must outlive it.
  std::function<double(std::int32_t cluster, std::span<const std::int64_t> row)> selected(
      const PathSelection& selection, std::size_t metric) const;

 private:
  struct Model;
  struct Regression;
  struct Selected;
  const Model& model(std::int32_t cluster) const;
  const std::vector<Regression>& regressions(std::uint32_t class_index) const;
  bool has(std::int32_t cluster) const;
  double members(std::int32_t cluster) const;
  double total_of(std::span<const std::int64_t> row, std::size_t metric) const;

  std::span<const experiment::CallPath> paths_;
  const experiment::Loop& loop_;
  const std::vector<const experiment::Unit*>& units_;
  std::vector<int> columns_;  ///< of the metrics in the iterations' vectors, -1: not there
  mutable std::vector<std::unique_ptr<Model>> models_;
  mutable std::map<std::uint32_t, std::vector<Regression>> regressions_;  ///< by class
};

}  // namespace refrain::run
