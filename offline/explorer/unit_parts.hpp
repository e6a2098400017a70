#pragma once
/// The values that one location has in the parts of a loop that trees show, which are classes and single iterations,
/// and in the curves of call paths.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "offline/explorer/cluster_mixture.hpp"
#include "offline/explorer/loop_pass.hpp"
#include "offline/explorer/loop_summary.hpp"

namespace refrain::explorer {

/// Curves of call paths at chosen locations, from one iteration in `stride`.
struct PathCurves {
  std::vector<std::uint32_t> nodes;
  std::vector<run::PathSelection> selections;  ///< by node
  std::int64_t stride = 1;
  Bins bins{1, 1};
};

/// The units and curves to read from the locations.
struct UnitPlan {
  const JobIterations& iterations;
  std::vector<double> weights;  ///< by location: number of locations that it represents; 0: it is not reconstructed
  PathCurves curves = {};
  std::size_t first = 0;    ///< the first unit; others are counted from there, classes before iterations
  std::size_t classes = 0;  ///< number of classes
  std::vector<std::pair<std::int64_t, std::size_t>> single = {};  ///< iterations, ascending, and their units
  bool classes_are_of_all = true, single_are_of_all = true;       ///< false: of reconstructed locations only
  std::vector<ClusterMixture::Part> part_of = {};                 ///< by metric

  std::size_t units() const { return classes + single.size(); }
  bool is_chosen(std::size_t location) const { return weights[location] > 0; }
  bool is_of_all(std::size_t unit) const { return unit < classes ? classes_are_of_all : single_are_of_all; }
  bool reads_classes(std::size_t location) const { return classes > 0 && (classes_are_of_all || is_chosen(location)); }
  bool reads_single(std::size_t location) const {
    return !single.empty() && (single_are_of_all || is_chosen(location));
  }
  bool reads_all() const { return (classes > 0 && classes_are_of_all) || (!single.empty() && single_are_of_all); }
  std::vector<bool> chosen() const {
    std::vector<bool> chosen;
    for (const double weight : weights) chosen.push_back(weight > 0);
    return chosen;
  }
};

/// The values of one location.
struct PlaceParts {
  std::size_t number = 0;
  std::vector<BinnedPlace> curves;
  ClusterMixture::Result values;
  std::vector<JobBuilder::Times> single;  ///< of single iterations, in their order
};

/// Several threads may call it at a time.
PlaceParts parts_of(const LoopInput& input, const UnitPlan& plan, std::size_t number, const run::OpenLoop& open);

}  // namespace refrain::explorer
