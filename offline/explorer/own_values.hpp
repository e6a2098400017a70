#pragma once
/// What one location has of every listed metric by call path, exclusive on both axes (run.hpp).

#include <cstdint>
#include <string_view>
#include <vector>

#include "offline/run/run.hpp"

namespace refrain::explorer {

/// A value that is not 0. `metric`: a place among OwnValues::metrics().
struct OwnValue {
  std::uint32_t metric = 0, node = 0;
  double value = 0;
};

/// Several threads may ask at a time.
class OwnValues {
 public:
  /// The run must outlive it, and has all its metrics.
  explicit OwnValues(const run::Run& run);
  /// The metrics that lists show; parents by their places there.
  const std::vector<run::Metric>& metrics() const { return metrics_; }
  /// The place of a metric of the run among them.
  std::size_t place_of(std::size_t metric) const;
  /// Whether the metric is the one of this name, or below it.
  bool is_below(std::size_t metric, std::string_view above) const;

  /// Ascending by node, then by metric.
  std::vector<OwnValue> of(const run::Leaf& leaf) const { return of(leaf, nullptr); }
  /// `weights`: nanoseconds of CPU time that the samples at each node of the run stand for.
  std::vector<OwnValue> of(const run::Leaf& leaf, std::vector<double>& weights) const { return of(leaf, &weights); }

 private:
  std::vector<OwnValue> of(const run::Leaf& leaf, std::vector<double>* weights) const;

  const run::Run& run_;
  const run::Keys by_node_;
  const std::vector<run::Metric> metrics_;
  std::vector<std::size_t> columns_;  ///< their numbers, and that of the weight
};

}  // namespace refrain::explorer
