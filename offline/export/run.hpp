#pragma once
/// A run as the writers of profile formats see it: a tree of names, locations, metrics and values. Nothing here depends
/// on how a run is stored; run_of_experiment.cpp alone fills it in.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offline/run/metrics.hpp"

namespace refrain::exports {

struct RunFacts {
  std::string program;          ///< file name of the executable
  std::string creator;          ///< "Refrain 0.1.0"
  std::int64_t started_ns = 0;  ///< since 1970; 0: not known
  std::int64_t processes = 1;   ///< size of the job
};

/// A node of the call tree.
struct RunNode {
  enum Kind : std::uint8_t {
    Function,
    Mpi,
    Mark,  ///< a marked loop or region of the program, inside the function above it
    Other  ///< time that belongs to no function: "(refrain)", "(blocked)"
  } kind = Function;
  std::int32_t parent = -1;  ///< -1: at the top
  std::uint32_t end = 0;     ///< its descendants are the nodes after it and before this index
  std::string name;
};

struct RunLocation {
  std::int32_t rank = 0, thread = 0;
  std::string name, host;
};

/// Metric names that writers look up. Every run has the first one.
inline constexpr std::string_view wall_metric = "wall", mpi_metric = "mpi", visits_metric = "visits";

/// Filled in by a derived class. Members may throw what the reader of the run throws.
class Run {
 public:
  virtual ~Run() = default;
  const RunFacts& facts() const { return facts_; }
  const std::vector<RunNode>& nodes() const { return nodes_; }              ///< in preorder
  const std::vector<RunLocation>& locations() const { return locations_; }  ///< those of a rank are adjacent
  const std::vector<run::Metric>& metrics() const { return metrics_; }
  std::optional<std::size_t> metric(std::string_view name) const {
    const auto at = std::ranges::find(metrics_, name, &run::Metric::name);
    if (at == metrics_.end()) return std::nullopt;
    return static_cast<std::size_t>(at - metrics_.begin());
  }

  using TakeNode = std::function<void(std::uint32_t node, std::span<const double> by_metric)>;
  /// Calls `take` with the exclusive values of each node that has any at the location, in ascending order. Only one
  /// rank is in memory at a time, so the locations of a rank should be asked for one after the other.
  virtual void for_each_node(std::size_t location, const TakeNode& take) = 0;

 protected:
  RunFacts facts_;
  std::vector<RunNode> nodes_;
  std::vector<RunLocation> locations_;
  std::vector<run::Metric> metrics_;
};

/// Sums over the locations from `first` to before `end`: by node, then by chosen metric.
inline std::vector<double> sums_of(Run& run, std::size_t first, std::size_t end, std::span<const std::size_t> metrics) {
  std::vector<double> sums(run.nodes().size() * metrics.size());
  for (std::size_t location = first; location < end; ++location)
    run.for_each_node(location, [&](std::uint32_t node, std::span<const double> values) {
      for (std::size_t m = 0; m < metrics.size(); ++m) sums[node * metrics.size() + m] += values[metrics[m]];
    });
  return sums;
}

/// Turns exclusive values, `columns` per node, into inclusive ones.
inline void add_below(const Run& run, std::span<double> values, std::size_t columns) {
  for (std::size_t node = run.nodes().size(); node-- > 0;)
    if (const std::int32_t parent = run.nodes()[node].parent; parent >= 0)
      for (std::size_t c = 0; c < columns; ++c)
        values[static_cast<std::size_t>(parent) * columns + c] += values[node * columns + c];
}

/// The first location of the next rank.
inline std::size_t end_of_rank(const Run& run, std::size_t location) {
  const auto& all = run.locations();
  std::size_t end = location;
  while (end < all.size() && all[end].rank == all[location].rank) ++end;
  return end;
}

}  // namespace refrain::exports
