#pragma once
/// The values of the metrics of REFRAIN_METRICS for call paths in one iteration. Those in a leaf unit are in
/// run/extra_shares.hpp.

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

/// The values of the iterations of one loop of one location. Not thread-safe: the data of a cluster is made when it is
/// first needed.
class ExtraOfIterations {
 public:
  /// `units`: the sums of the loop's clusters, null where the file has none. All arguments must outlive this object.
  ExtraOfIterations(std::span<const experiment::CallPath> paths, std::span<const experiment::ExtraMetric> metrics,
                    const experiment::Loop& loop, const std::vector<const experiment::Unit*>& units);
  ~ExtraOfIterations();

  /// The values of one iteration. Its totals are exact; its values of MPI functions are the means of its cluster, moved
  /// with the difference of its total from the cluster's mean; its user code is divided like that of the cluster.
  experiment::ExtraValues values_of(std::int32_t cluster, std::span<const std::int64_t> row) const;

  /// The sum of one metric over the selected call paths, equal to that in values_of(). Takes time in proportion to the
  /// number of MPI call paths of the cluster. The selection must outlive the result.
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
