#pragma once
/// Collects values by unit, metric, call path and place, in any order, for the rows of the sections `sums` and `cells`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "offline/explorer/run.hpp"

namespace refrain::explorer {

class ValueTable {
 public:
  /// Numbers of metrics, nodes and places; the number of units may grow.
  ValueTable(std::size_t metrics, std::size_t nodes, std::size_t places)
      : metrics_(metrics), nodes_(nodes), places_(places) {}

  /// Sets whether values of this unit are also kept by place.
  void keep_by_place(std::uint32_t unit, bool are_kept);
  void add(std::uint32_t unit, std::size_t metric, std::uint32_t node, std::size_t place, double value);
  /// Adds the value of a thread in the whole run, once for each metric and node. Also keeps the extremes over threads.
  void add_thread(std::size_t metric, std::uint32_t node, std::size_t place, std::int32_t rank, double value);
  /// Adds a value that is not known by place.
  void add_sum(std::uint32_t unit, std::size_t metric, std::uint32_t node, double value);
  /// Multiplies the values of the unit by a factor for each metric.
  void scale(std::uint32_t unit, const std::function<double(std::size_t metric)>& factor_of);
  /// By metric: whether any value other than 0 was added.
  std::vector<bool> used_metrics() const;
  /// Moves all values to the run, in the order of the sections. `number`: of each metric in the file.
  void finish(const std::vector<std::uint32_t>& number, Run& run);

 private:
  struct Extremes {
    double least = 0, greatest = 0;
    std::int32_t least_rank = -1, greatest_rank = -1;
    std::int64_t threads = 0;  ///< number of threads with a value
    void add(std::int32_t rank, double value);
  };
  struct Entry {
    std::uint32_t unit, metric, node;
    double sum = 0;
    std::vector<float> by_place;
    Extremes extremes;
  };
  Entry& entry(std::uint32_t unit, std::size_t metric, std::uint32_t node);
  void put(Entry& to, std::size_t place, double value);
  void finish_extremes(Run& run) const;
  std::size_t metrics_, nodes_, places_;
  std::vector<bool> by_place_{true};  ///< by unit
  std::vector<Entry> entries_;
  /// By unit and metric, then by node: index in entries_ plus 1; 0: none.
  std::vector<std::vector<std::uint32_t>> index_;
};

}  // namespace refrain::explorer
