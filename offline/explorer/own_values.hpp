#pragma once
/// The values of every listed metric at one location by call path, exclusive on both axes (run.hpp).

#include <cstdint>
#include <string_view>
#include <vector>

#include "offline/run/run.hpp"

namespace refrain::explorer {

/// A value that is not 0. `metric`: index in OwnValues::metrics().
struct OwnValue {
  std::uint32_t metric = 0, node = 0;
  double value = 0;
};

/// Several threads may use one object at a time.
class OwnValues {
 public:
  /// The run must outlive this object and must have all its metrics.
  explicit OwnValues(const run::Run& run);
  /// The metrics that lists show; their parents are indices in this list.
  const std::vector<run::Metric>& metrics() const { return metrics_; }
  /// The index in metrics() of a metric of the run.
  std::size_t place_of(std::size_t metric) const;
  /// Whether the metric has the name `above`, or is below the metric of that name.
  bool is_below(std::size_t metric, std::string_view above) const;

  /// The values of a leaf, ascending by node, then by metric.
  std::vector<OwnValue> of(const run::Leaf& leaf) const { return of(leaf, nullptr); }
  /// Also adds to `weights`, by node of the run, the nanoseconds of CPU time that the samples stand for.
  std::vector<OwnValue> of(const run::Leaf& leaf, std::vector<double>& weights) const { return of(leaf, &weights); }

 private:
  std::vector<OwnValue> of(const run::Leaf& leaf, std::vector<double>* weights) const;

  const run::Run& run_;
  const run::Keys by_node_;
  const std::vector<run::Metric> metrics_;
  std::vector<std::size_t> columns_;  ///< numbers of the metrics in the run, then that of the weight
};

}  // namespace refrain::explorer
