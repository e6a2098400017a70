#pragma once
/// The iterations of one location. When an iteration ends, the unit in progress becomes its profile, which is
/// clustered, and its exact vector goes to the log. Ordinary context, inside a scope, by the location's owner; record/
/// reads the result when it writes the experiment.

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

/// Including the extra metrics, which come behind those of the table.
inline constexpr std::size_t max_logged = logged_count + max_extra_metrics;
static_assert(max_logged <= clustering::max_overall);
inline std::size_t logged_in_use() { return logged_count + extra_metrics.count; }

/// Settings of all clusterers of the process. Set before the first mark.
struct IterationSettings {
  clustering::Equivalence equivalence = clustering::Equivalence::Mpi;
  std::uint32_t clusters = 64;
  std::size_t memory = std::size_t{32} << 20;          ///< bytes of cluster profiles per loop and thread
  std::size_t log_memory = std::size_t{512} << 10;     ///< bytes of log and merges per loop before they go to a file
  std::size_t sample_memory = std::size_t{256} << 10;  ///< bytes of samples of single iterations per loop; 0: none
  std::uint64_t log_limit = std::uint64_t{64} << 20;   ///< bytes of all logs of the process, uncompressed
};
inline IterationSettings iteration_settings;
/// Bytes of all closed blocks of all logs.
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
  Sum sums[2];  ///< of iterations in user code, and of iterations within one MPI call
  /// By metric of whole iterations, as for a cluster.
  std::int64_t minimum[max_logged] = {}, maximum[max_logged] = {};
  double squares[max_logged] = {};
  /// `value`: time in an MPI call in ticks, or the part of the weight of samples that stands for passed iterations.
  struct AtNode {
    std::int64_t value = 0, off_cpu_ns = 0;
  };
  platform::GrowableArray<AtNode> by_node;

  /// Adds an iteration. `off_ns`: as in Passed. False: no memory for the call; nothing was added.
  [[nodiscard]] bool add(std::uint64_t number, NodeId call, platform::Ticks wall, std::int64_t cpu_ns,
                         std::int64_t off_ns);
  /// Adds to a call path. False: no memory; nothing was added.
  [[nodiscard]] bool add_at(std::uint32_t node, std::int64_t value, std::int64_t off_cpu_ns = 0);
};

/// The slowest iterations of a loop, slowest first; equal ones in the order of their numbers.
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
  clustering::SampleStore samples;  ///< its ordinals are iteration numbers
  PassedIterations passed;
  SlowestIterations slowest;
  platform::Bytes closed;  ///< closed blocks of the log that are not in the file yet, contiguous
  platform::GrowableArray<clustering::Merge>
      merges;  ///< merges that the log refers to and that are not in the file yet
};

struct Iterations {
  static constexpr std::uint32_t max_loops = 16;
  ClusteredLoop* loops[max_loops] = {};
  std::uint32_t count = 0;
  std::span<ClusteredLoop* const> view() const { return {loops, count}; }
  ClusteredLoop* current = nullptr;  ///< the loop that the thread is in
  bool in_iteration = false;
  std::uint32_t inner_loops = 0;  ///< open loops inside it, whose iterations do not cut
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

/// The shape (clustering/types.hpp) of the values of a node.
std::uint8_t shape_of(NodeKind kind, const std::int64_t* values);

/// Adds an iteration to the clusters of its loop. no_label: there was no memory for it. `counted_at`: the location at
/// which losses are counted.
clustering::Label cluster_iteration(Location& counted_at, ClusteredLoop& loop, std::uint64_t iteration,
                                    const clustering::IterationProfile& profile);
/// Logs the next iteration and keeps its samples. no_label: nothing is known about it.
void log_iteration(Location& counted_at, ClusteredLoop& loop, clustering::Label label,
                   std::span<const std::int64_t> row, std::span<const clustering::TouchedPath> paths);
/// Logs iteration `number`, in which the location recorded nothing. `call`: the MPI call that lasted throughout, else
/// the root. False: no memory; the iteration is treated as if the location had had no thread.
[[nodiscard]] bool log_passed(Location& counted_at, ClusteredLoop& loop, std::uint64_t number, NodeId call,
                              platform::Ticks wall, std::int64_t cpu_ns, std::int64_t off_ns);
/// Logs that the location had no thread during the iterations before `number` that are not logged yet. The cost does
/// not depend on their number.
void log_absence(Location& counted_at, ClusteredLoop& loop, std::uint64_t number);
/// Moves the log and the merges of a loop of `location` to the file if they have grown beyond the limit.
void spill_if_much(Location& location, const ClusteredLoop& loop);

/// The unit in progress, which has ended, becomes an iteration of the current loop; a new unit begins.
void take_iteration(Location& location);

/// One value for each metric of whole iterations.
using IterationRow = std::int64_t[max_logged];
inline std::span<const std::int64_t> row_in_use(const IterationRow& row) { return {row, logged_in_use()}; }
/// Fills `row` with the totals of a unit and returns the part in use. Messages and bytes are the sums over the call
/// paths. `extras`: the values of the extra metrics; null: 0.
std::span<const std::int64_t> fill_row(const UnitTotals& unit, const std::int64_t* extras,
                                       std::span<const clustering::TouchedPath> paths, IterationRow& row);
/// The totals of a unit, from such a row.
UnitTotals totals_of(std::span<const std::int64_t> row);

}  // namespace refrain::measurement
