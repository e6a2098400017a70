#pragma once
/// Reads what single locations did, in the run or in a part of it, in the order of the requests. One rank is in memory,
/// so the locations of a rank should be requested one after the other.

#include <compare>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "offline/experiment/experiment.hpp"
#include "offline/run/run.hpp"

namespace refrain::run {

/// A part of what a location did.
struct UnitRef {
  enum Of : std::uint8_t { Run, Outside, Cluster, Iteration } of = Run;  ///< Outside: of all marked loops
  std::size_t loop = 0;                                                  ///< in Location::loops
  std::int64_t number = 0;                                               ///< of the cluster or iteration

  auto operator<=>(const UnitRef&) const = default;
};

class LeafReader {
 public:
  explicit LeafReader(const experiment::Experiment& experiment)
      : experiment_(experiment), leaves_(experiment.definitions()) {}
  /// Null: there is no such thread or unit, or it cannot be read. Valid until the next call. An iteration costs as much
  /// as opening its loop (loops.hpp); open the loop to read many of them.
  const Leaf* of(std::int32_t rank, std::int32_t thread, const UnitRef& unit = {});
  /// The rank of the last request; null: it cannot be read.
  const experiment::RankHandle& rank() const { return rank_; }

 private:
  /// The units that add up to `unit`; nullopt: there are none.
  std::optional<std::vector<experiment::Unit>> units_of(const experiment::Location& location, const UnitRef& unit,
                                                        bool& is_exact) const;

  const experiment::Experiment& experiment_;
  Leaves leaves_;
  experiment::RankHandle rank_;
  experiment::Depth depth_{};  ///< of rank_
  experiment::RunTotals totals_;
  std::optional<Leaf> leaf_;
};

/// Reads the exclusive values of call paths at locations for the listed metrics, in the order of Metrics::list() and in
/// their units.
class ValueReader {
 public:
  /// The run must have all its metrics, and must outlive the reader.
  explicit ValueReader(const Run& run);
  using Take = std::function<void(std::uint32_t node, std::span<const double> by_metric)>;
  /// Calls `take` with each node that has values in the unit, in ascending order, except the root.
  void for_each_node(std::int32_t rank, std::int32_t thread, const UnitRef& unit, const Take& take);

 private:
  const Run& run_;
  Keys by_node_;
  std::vector<std::size_t> metrics_;
  LeafReader leaves_;
};

}  // namespace refrain::run
