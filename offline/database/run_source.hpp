#pragma once
/// A run as a database takes it, whatever it was measured with. Times are in seconds.

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
  std::vector<std::string> notes;  ///< of profiles and archives: what of them is not in the run, a sentence each
};

/// A node of the call tree.
struct RunNode {
  run::PathKind kind = run::PathKind::User;
  std::int32_t parent = -1;  ///< -1: at the top
  std::string name;
  bool is_marked = false;              ///< a loop or region of the program, in the function above it
  double error_s = unknown;            ///< standard error of its time with all below it
  double exclusive_error_s = unknown;  ///< of its own time
  double function_error_s = unknown;   ///< of all nodes of its name and kind together, with what is below them
  std::optional<run::Estimate> wait;   ///< for other processes; nothing: it is not known
  double wait_confidence = unknown;
  std::string wait_kind;  ///< a name of enum WaitKind; another one, or none: other_waiting
  std::vector<std::pair<std::int64_t, double>> wait_by_rank;  ///< seconds of it, as far as ranks are told apart
};

struct RunLocation {
  std::int64_t rank = 0, thread = 0;
  std::string name;
  bool off_cpu_is_told_apart = false;  ///< waiting for a core from being blocked
};

/// A loop of a location.
struct RunLoop {
  std::size_t name;  ///< by place in RunSource::loops()
  std::int64_t iterations;
};

struct RunIteration {
  std::size_t loop;
  std::int64_t number, cluster;  ///< cluster: -1: none
  double wall_s, mpi_s, user_s;
};

struct RunCluster {
  std::size_t loop;
  std::int64_t label, members, first, last;
  double mean_wall_s;
};

/// Filled in by a class below it. All members may throw what their reader throws.
class RunSource {
 public:
  virtual ~RunSource() = default;
  const RunFacts& facts() const { return facts_; }
  /// By what the run is recognised: of all that is read of its files.
  virtual std::string digest() const = 0;
  const std::vector<RunNode>& nodes() const { return nodes_; }              ///< parents before children
  const std::vector<RunLocation>& locations() const { return locations_; }  ///< those of a rank follow each other
  const std::vector<run::Metric>& metrics() const { return metrics_; }
  /// Names of marked loops of any location.
  const std::vector<std::string>& loops() const { return loops_; }

  using TakeNode = std::function<void(std::uint32_t node, std::span<const double> by_metric)>;
  /// Exclusive values of a location, of nodes that have any, ascending.
  virtual void for_each_node(std::size_t location, const TakeNode& take) = 0;
  /// The units of a location, which add up to its run: time outside of loops, then clusters by loop. One of
  /// UnitRef::Run alone: the run is not divided.
  virtual std::vector<run::UnitRef> units(std::size_t) { return {{}}; }
  /// As for_each_node(), of one of units().
  virtual void for_each_node_of(std::size_t location, const run::UnitRef&, const TakeNode& take) {
    for_each_node(location, take);
  }
  /// By UnitRef::loop.
  virtual std::vector<RunLoop> loops_of(std::size_t) { return {}; }
  /// Clusters first, then iterations in their order; each loop by itself. How many iterations there are of all loops.
  virtual std::int64_t iterations(std::size_t) { return 0; }
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
