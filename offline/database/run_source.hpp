#pragma once
/// A run as a database takes it, whatever tool measured it. Times are in seconds.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "offline/run/leaf_reader.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::database {

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct RunFacts {
  std::string program, version;  ///< as the experiment has them
  std::string executable, build_id, experiment, source;
  std::optional<std::int64_t> compiled_us, start_us;  ///< since 1970
  std::int64_t processes = 1;
  bool complete = true;
  std::vector<std::string> notes;  ///< what of a profile or archive is not in the run, one sentence each
};

/// A node of the call tree.
struct RunNode {
  run::PathKind kind = run::PathKind::User;
  std::int32_t parent = -1;  ///< -1: at the top
  std::string name;
  bool is_marked = false;              ///< a marked loop or region of the program, inside the function above it
  double error_s = unknown;            ///< standard error of its inclusive time
  double exclusive_error_s = unknown;  ///< standard error of its exclusive time
  double function_error_s = unknown;   ///< that of the inclusive time of all nodes of its name and kind
  std::optional<run::Estimate> wait;   ///< waiting for other processes; unset: unknown
  double wait_confidence = unknown;
  std::string wait_kind;  ///< a name of enum WaitKind; any other text: other_waiting
  std::vector<std::pair<std::int64_t, double>> wait_by_rank;  ///< seconds by rank, as far as ranks are distinguished
};

struct RunLocation {
  std::int64_t rank = 0, thread = 0;
  std::string name;
  bool off_cpu_is_told_apart = false;  ///< waiting for a core and being blocked are distinguished
};

/// A loop of a location.
struct RunLoop {
  std::size_t name;  ///< index in RunSource::loops()
  std::int64_t iterations;
  bool has_means = false;  ///< some iterations have the mean of their group (docs/iterations.md)
};

struct RunIteration {
  std::size_t loop;
  std::int64_t number, cluster;  ///< `cluster` is -1 when there is none
  double wall_s, mpi_s, user_s;
};

struct RunCluster {
  std::size_t loop;
  std::int64_t label, members, first, last;
  double mean_wall_s;
};

/// Filled in by a derived class. All members may throw what their reader throws.
class RunSource {
 public:
  virtual ~RunSource() = default;
  const RunFacts& facts() const { return facts_; }
  /// Identifies the run: a digest of everything that is read from its files.
  virtual std::string digest() const = 0;
  const std::vector<RunNode>& nodes() const { return nodes_; }              ///< parents before children
  const std::vector<RunLocation>& locations() const { return locations_; }  ///< those of a rank are adjacent
  const std::vector<run::Metric>& metrics() const { return metrics_; }
  /// Names of marked loops of any location.
  const std::vector<std::string>& loops() const { return loops_; }

  using TakeNode = std::function<void(std::uint32_t node, std::span<const double> by_metric)>;
  /// Calls `take` with the exclusive values of each node that has any at the location, in ascending order.
  virtual void for_each_node(std::size_t location, const TakeNode& take) = 0;
  /// The units of a location, which add up to its run: time outside of loops, then clusters by loop. A single
  /// UnitRef::Run means that the run is not divided.
  virtual std::vector<run::UnitRef> units(std::size_t) { return {{}}; }
  /// Like for_each_node(), for one of units().
  virtual void for_each_node_of(std::size_t location, const run::UnitRef&, const TakeNode& take) {
    for_each_node(location, take);
  }
  /// The loops of a location, by UnitRef::loop.
  virtual std::vector<RunLoop> loops_of(std::size_t) { return {}; }
  /// Number of iterations of all loops of a location.
  virtual std::int64_t iterations(std::size_t) { return 0; }
  /// Loop by loop: clusters first, then iterations in their order.
  virtual void for_each_iteration(std::size_t, const std::function<void(const RunCluster&)>&,
                                  const std::function<void(const RunIteration&)>&) {}

 protected:
  RunFacts facts_;
  std::vector<RunNode> nodes_;
  std::vector<RunLocation> locations_;
  std::vector<run::Metric> metrics_;
  std::vector<std::string> loops_;
};

}  // namespace refrain::database
