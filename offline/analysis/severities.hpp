#pragma once
/// How much of a metric a call path has, at a location, in a unit: the question that all views, searches and exports
/// ask. An answer says how well it is known.
///
/// Values are exclusive; those of a call path with all that it calls are asked for as inclusive ones. Everything is
/// worked out when it is asked for, from one rank at a time. Thread-safe.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/experiment/experiment.hpp"

namespace refrain::analysis {

enum class Known : std::uint8_t {
  Exact,         ///< recorded, or the sum of what was recorded
  Sampled,       ///< divided in proportion to samples
  Reconstructed  ///< of one iteration, from its cluster and its exact totals
};
const char* name_of(Known known);

struct Severity {
  double value = 0;  ///< seconds, bytes or 1
  /// Where it is sampled; 0 with a value of 0: not known to be above; nothing: time that was not on a CPU is in it.
  std::optional<double> standard_error = 0;
  Known known = Known::Exact;
  /// Of not_on_cpu of everything: what is certain.
  std::optional<std::pair<double, double>> bounds = std::nullopt;
};

/// A node of the tree of metrics; children add up to their parent where both are times.
struct MetricNode {
  std::string name;
  std::string unit;  ///< "s", "B", "1"
  int parent = -1;   ///< -1: a root
  std::string help;
};

/// The names that every experiment has a metric of: Severities::metrics() but for those of REFRAIN_METRICS.
std::vector<std::string> severity_metric_names();

/// The machine, its nodes, their ranks, their threads.
struct SystemNode {
  enum Kind : std::uint8_t { Machine, Node, Rank, Thread } kind;
  std::string name;
  int parent = -1;
  std::int32_t rank = -1, thread = -1;  ///< of ranks and threads
};

/// A part of what a location did.
struct UnitRef {
  enum Of : std::uint8_t { Run, Outside, Cluster, Iteration } of = Run;
  std::size_t loop = 0;     ///< of Cluster and Iteration: index of Location::loops
  std::int64_t number = 0;  ///< of the cluster or iteration
};

struct LocationRef {
  std::size_t place = 0;     ///< of the rank in Experiment::ranks()
  std::size_t location = 0;  ///< index of Rank::locations
};

/// What the call paths of one location have, sparse: ascending by node of the tree.
struct NodeValues {
  struct Row {
    std::uint32_t node;
    std::size_t path;  ///< index of RunTotals::paths; none: a path that only the time rules define
    std::int64_t ticks;
  };
  static constexpr std::size_t none = ~std::size_t{0};
  experiment::RankHandle rank;
  experiment::RunTotals totals;
  bool exact = true;  ///< nothing is reconstructed
  std::vector<Row> rows;
};

/// Call paths that are asked for together.
class NodeSet {
 public:
  NodeSet() = default;
  bool has(std::uint32_t node) const { return node < chosen_.size() && chosen_[node]; }
  bool all() const { return all_; }

 private:
  friend class Severities;
  std::vector<bool> chosen_;
  bool all_ = false;
};

class Severities {
 public:
  /// `tree` is one of the whole experiment; both must outlive it.
  Severities(std::shared_ptr<const experiment::Experiment> experiment, const CallTree& tree);
  ~Severities();

  /// The tree of metrics, parents first: times, with those of MPI by class of function; counts; bytes; what was asked
  /// for on any rank that the call tree has; what tools have found in the experiment, which is known of the whole run.
  const std::vector<MetricNode>& metrics() const { return metrics_; }
  /// Index of metrics(), nothing when there is none of the name. `mpi_calls` of iterations are `visits` here.
  std::optional<std::size_t> metric(std::string_view name) const;
  /// Parents first. Reads every rank, one after the other.
  std::vector<SystemNode> system() const;
  const CallTree& tree() const { return tree_; }

  /// The nodes alone, or with everything that is called there.
  NodeSet select(std::span<const std::uint32_t> nodes, bool inclusive) const;
  /// What these have together, one answer for each metric. Throws std::out_of_range for a metric, location, loop,
  /// cluster or iteration that is not there, or cannot be read, and for a part of the run of a metric that is not known
  /// of parts.
  std::vector<Severity> of(std::span<const std::size_t> metrics, const NodeSet& nodes, const LocationRef& location,
                           const UnitRef& unit = {}) const;
  Severity of(std::size_t metric, std::uint32_t node, const LocationRef& location, const UnitRef& unit = {},
              bool inclusive = false) const {
    return of({&metric, 1}, select({&node, 1}, inclusive), location, unit)[0];
  }
  std::shared_ptr<const NodeValues> values(const LocationRef& location, const UnitRef& unit = {}) const;
  /// The same of one call path after the other, in one pass: calls `take` for each node of the tree that has anything
  /// of this location in the unit, ascending, with its exclusive values by metrics(). What tools have found is known of
  /// the whole run only, and 0 in other units.
  void for_each_node(const LocationRef& location,
                     const std::function<void(std::uint32_t node, std::span<const double> values)>& take,
                     const UnitRef& unit = {}) const;

 private:
  experiment::RunTotals unit_totals(const experiment::RankHandle& rank, const experiment::Location& location,
                                    const UnitRef& unit, bool& exact) const;
  std::vector<experiment::Unit> units_of_loop(const experiment::RankHandle& rank, const experiment::Location& location,
                                              const UnitRef& unit, bool& exact) const;
  bool has_time(std::size_t metric, const NodeValues::Row& row, bool in_mpi) const;
  double count_of(std::size_t metric, const NodeValues& values, const NodeValues::Row& row) const;
  void add_row(const NodeValues& values, const NodeValues::Row& row, std::span<double> to) const;
  Severity saved(std::size_t metric, const NodeSet& nodes, const experiment::Rank& rank,
                 const experiment::Location& location) const;

  std::shared_ptr<const experiment::Experiment> experiment_;
  const CallTree& tree_;
  std::vector<MetricNode> metrics_;
  std::vector<experiment::SavedMetric> saved_;  ///< the last ones of metrics_
  std::vector<std::uint8_t> class_;             ///< by node: the metric of the times that an MPI function's time is of
  ByPseudo<std::uint32_t> pseudo_{};  ///< nodes of the call paths that the time rules define; 0: not in the tree
  struct OpenLoop;
  mutable std::mutex loop_mutex_;
  mutable std::unique_ptr<OpenLoop> open_loop_;  ///< what iterations are reconstructed from; the next one is of it, too
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const NodeValues> last_;  ///< the next question is mostly about the same location
  mutable LocationRef last_location_;
  mutable UnitRef last_unit_;
};

}  // namespace refrain::analysis
