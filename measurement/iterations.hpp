#pragma once
/// The iterations of one location: the unit in progress becomes the profile of an iteration, which is clustered, and
/// its exact vector goes to the log. Ordinary context, inside a scope, by the location's owner; the runtime reads it
/// when it writes the experiment.

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "clustering/clusterer.hpp"
#include "clustering/iteration_log.hpp"
#include "clustering/sample_store.hpp"
#include "measurement/location.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {

using format::logged_count;
using format::logged_index;

/// With the extra metrics, which come behind those of the table.
inline constexpr std::size_t max_logged = logged_count + max_extra_metrics;
static_assert(max_logged <= clustering::max_overall);
inline std::size_t logged_in_use() { return logged_count + extra_metrics.count; }

/// What every clusterer of the process is made with. Set before the first mark.
struct IterationSettings {
  clustering::Equivalence equivalence = clustering::Equivalence::Mpi;
  std::uint32_t clusters = 64;
  std::size_t memory = std::size_t{32} << 20;          ///< bytes of cluster profiles per loop and thread
  std::size_t log_memory = std::size_t{512} << 10;     ///< bytes of log and merges per loop before they go to a file
  std::size_t sample_memory = std::size_t{256} << 10;  ///< bytes of samples of single iterations per loop; 0: none
  std::uint64_t log_limit = std::uint64_t{64} << 20;   ///< bytes of all logs of the process, before they are compressed
};
inline IterationSettings iteration_settings;
/// Bytes of all blocks of logs that were closed.
inline std::atomic<std::uint64_t> logged_bytes{0};

/// The iterations of a follower in which it recorded nothing: they have no vector and are in no cluster.
struct PassedIterations {
  std::uint64_t count = 0, first = 0, last = 0;
  UnitTotals totals{};
  struct Sum {
    std::uint64_t count = 0;
    platform::Ticks wall = 0;
    std::int64_t cpu_ns = 0, off_ns = 0;
  };
  Sum sums[2];  ///< in user code, and within one MPI call each
  /// Per metric of whole iterations, as of a cluster.
  std::int64_t minimum[max_logged] = {}, maximum[max_logged] = {};
  double squares[max_logged] = {};
  /// `value`: ticks in an MPI call, or the part of the weight of samples that stands for passed iterations.
  struct AtNode {
    std::int64_t value = 0, off_cpu_ns = 0;
  };
  platform::GrowableArray<AtNode> by_node;

  /// `off_ns`: see Passed. False: no memory for the call; nothing was added.
  [[nodiscard]] bool add(std::uint64_t number, NodeId call, platform::Ticks wall, std::int64_t cpu_ns,
                         std::int64_t off_ns);
  /// False: no memory; nothing was added.
  [[nodiscard]] bool add_at(std::uint32_t node, std::int64_t value, std::int64_t off_cpu_ns = 0);
};

/// The slowest iterations of a loop, slowest first; of equal ones the first.
struct SlowestIterations {
  struct One {
    std::uint64_t number;
    platform::Ticks wall;
  };
  One one[format::max_slowest];
  std::size_t count = 0;

  void add(std::uint64_t number, platform::Ticks wall) {
    if (count == format::max_slowest && wall <= one[count - 1].wall) [[likely]]
      return;
    std::size_t at = count < format::max_slowest ? count++ : count - 1;
    for (; at > 0 && one[at - 1].wall < wall; --at) one[at] = one[at - 1];
    one[at] = {number, wall};
  }
};

/// One loop of one thread.
struct ClusteredLoop {
  RegionId region{};
  std::uint64_t iterations = 0;  ///< numbered 0, 1, ... also when the loop is entered again
  clustering::Clusterer clusterer;
  clustering::IterationLog log;
  clustering::SampleStore samples;  ///< its ordinals are the numbers of the iterations
  PassedIterations passed;
  SlowestIterations slowest;
  platform::Bytes closed;  ///< closed blocks of the log, one behind the other, that no file has yet
  platform::GrowableArray<clustering::Merge> merges;  ///< those that the log needs and no file has yet
};

struct Iterations {
  static constexpr std::uint32_t max_loops = 16;
  ClusteredLoop* loops[max_loops] = {};
  std::uint32_t count = 0;
  std::span<ClusteredLoop* const> view() const { return {loops, count}; }
  ClusteredLoop* current = nullptr;  ///< the loop that the thread is in
  bool in_iteration = false;
  std::uint32_t inner_loops = 0;  ///< loops begun inside it: their iterations are not cut
  platform::GrowableArray<clustering::TouchedPath> touched;
};

/// The columns of call paths of a kind, with the metrics of the whole iteration that they scale with, as metrics.def
/// says.
template <NodeKind kind>
constexpr auto path_columns() {
  const auto index = [](MetricId of, MetricId self) {
    if (of == MetricId::Nothing) return clustering::no_metric;
    return static_cast<std::uint8_t>(logged_index(of == MetricId::Self ? self : of));
  };
  std::array<clustering::Column, columns_of(kind)> columns{};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const MetricId metric = format::column_metrics<kind>[c];
    const auto& row = format::row_of(metric);
    columns[c] = {index(row.scales_with, metric), row.tells_paths_apart(), index(row.also_scales_with, metric)};
  }
  return columns;
}
/// The columns of an MPI call path, with the metrics of the whole iteration that they scale with.
std::span<const clustering::Column> mpi_call_columns();

/// The loop `region` among those at `all`, made when it is not there yet. Null: too many, or no memory.
ClusteredLoop* loop_of(Iterations*& all, RegionId region);

/// What the values of a node mean to the clusterer.
std::uint8_t shape_of(NodeKind kind, const std::int64_t* values);

/// Gives an iteration to the clusters of its loop. no_label: there was no memory for it. `counted_at`: where losses are
/// counted.
clustering::Label cluster_iteration(Location& counted_at, ClusteredLoop& loop, std::uint64_t iteration,
                                    const clustering::IterationProfile& profile);
/// Logs the next iteration, and keeps its samples. no_label: nothing is known of it.
void log_iteration(Location& counted_at, ClusteredLoop& loop, clustering::Label label,
                   std::span<const std::int64_t> row, std::span<const clustering::TouchedPath> paths);
/// Logs iteration `number`, in which the location recorded nothing: `call` is the MPI call that it was in all the time,
/// else the root. False: no memory; it is as if there had been no thread.
[[nodiscard]] bool log_passed(Location& counted_at, ClusteredLoop& loop, std::uint64_t number, NodeId call,
                              platform::Ticks wall, std::int64_t cpu_ns, std::int64_t off_ns);
/// The location had no thread during the iterations before `number` that are not logged yet. Costs the same however
/// many they are.
void log_absence(Location& counted_at, ClusteredLoop& loop, std::uint64_t number);
/// Sends what the loop holds to the file when that has become much. `location` has the loop.
void spill_if_much(Location& location, const ClusteredLoop& loop);

/// The unit in progress, ended before, is an iteration of the current loop; a new unit begins.
void take_iteration(Location& location);

/// One value per metric of whole iterations in use.
using IterationRow = std::int64_t[max_logged];
inline std::span<const std::int64_t> row_in_use(const IterationRow& row) { return {row, logged_in_use()}; }
/// A unit's totals as the row of an iteration, which is returned as far as it is in use; messages and bytes are the
/// sums over its call paths. `extras`: the metrics that are asked for; null: 0.
std::span<const std::int64_t> fill_row(const UnitTotals& unit, const std::int64_t* extras,
                                       std::span<const clustering::TouchedPath> paths, IterationRow& row);
/// The totals of a unit from such a row.
UnitTotals totals_of(std::span<const std::int64_t> row);

}  // namespace refrain::measurement
