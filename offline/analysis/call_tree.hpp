#pragma once
/// The call tree of an experiment by function names, with values summed over all its locations.
///
/// It is built from the addresses in the archive: inlined functions are expanded; frames outside of `main` (start-up
/// code of libc and of threads, Refrain's own frames) are left out; call sites of one function in one caller are merged
/// unless asked otherwise; paths of `kind` Other, which the time rules define, are at the top level.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "offline/analysis/module_fold.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/run/run.hpp"
#include "offline/symbols/symbols.hpp"

namespace refrain::analysis {

using symbols::Symbolizer;

/// One integer for each of run::counted_metrics, and one for each metric that the user has asked for, by its index in
/// CallTree::extra_metrics. Sums saturate.
class Counts {
 public:
  std::int64_t operator[](format::MetricId metric) const { return at(place(metric)); }
  std::int64_t asked_for(std::size_t number) const { return at(run::counted_metrics.size() + number); }
  void add(format::MetricId metric, std::int64_t value) { add_at(place(metric), value); }
  void add_asked_for(std::size_t number, std::int64_t value) { add_at(run::counted_metrics.size() + number, value); }
  Counts& operator+=(const Counts& other);
  bool all_zero() const;

 private:
  static constexpr std::size_t place(format::MetricId metric) {
    return static_cast<std::size_t>(std::ranges::find(run::counted_metrics, metric) - run::counted_metrics.begin());
  }
  std::int64_t at(std::size_t place) const { return place < values_.size() ? values_[place] : 0; }
  void add_at(std::size_t place, std::int64_t value);
  std::vector<std::int64_t> values_;  ///< trailing zeros may be missing
};

struct Spread {
  double min = 0, mean = 0, max = 0;
};

struct TreeNode {
  std::int32_t parent = -1;
  run::PathKind kind = run::PathKind::User;
  std::string name;
  bool marked = false;       ///< a loop or region of the program, below the function that marks it
  std::string module, file;  ///< of the call site; only with CallTreeOptions::callsites
  int line = 0;
  std::uint64_t offset = 0;         ///< return address of the call, as an offset in the module
  Runtime runtime = Runtime::None;  ///< the runtime that the function belongs to
  double exclusive_s = 0, inclusive_s = 0;
  double sampled_s = 0;          ///< part of inclusive_s that was attributed by samples
  double standard_error_s = 0;   ///< of inclusive_s
  double exclusive_error_s = 0;  ///< of exclusive_s
  Counts exclusive = {}, inclusive = {};
  std::int64_t mark_visits = 0;               ///< number of times that the mark was begun
  double mark_s = 0;                          ///< exact wall time between the begins and ends of the mark
  std::optional<double> mark_waited_s = {};   ///< its user code's wait for a core; nothing: not known of all threads
  std::optional<double> mark_blocked_s = {};  ///< its user code's blocked time; likewise
  std::optional<double> mpi_off_cpu_s = {};   ///< of an MPI function, in exclusive_s; nothing: not known
  Spread spread = {};                         ///< of inclusive_s, over ranks, or over threads when there is one rank
  std::vector<std::uint32_t> children = {};
};

/// Times of one location, or sums over several.
struct Times {
  double wall_s = 0, mpi_s = 0, user_s = 0, refrain_s = 0;
  double stopped_s = 0;  ///< by MPI_Pcontrol
  double not_on_cpu_s = 0, not_on_cpu_low_s = 0, not_on_cpu_high_s = 0;
  double waited_for_core_s = 0, blocked_s = 0;  ///< parts of not_on_cpu_s, where they are told apart
  double off_untold_s = 0;                      ///< the rest of not_on_cpu_s
  double mpi_off_cpu_s = 0;                     ///< part of mpi_s without a core, where it was counted
  bool off_cpu_is_counted = true;               ///< on all locations; else only bounds of time off the CPU are known
  bool off_cpu_is_told_apart = true;            ///< on all locations
  Counts counts;

  Times& operator+=(const Times& other);
};

struct LocationSummary : Times {
  std::int32_t rank = 0, thread = 0;
  std::string name;
  std::int64_t samples = 0;
};

struct Totals : Times {
  std::int64_t mpi_calls = 0;
  std::int64_t ticks_user = 0, ticks_mpi = 0, ticks_without_sample = 0;
  std::vector<std::int64_t> losses;  ///< by format::Loss
};

/// Standard errors of the times of a function over all its callers.
struct FunctionErrors {
  double exclusive_s = 0, inclusive_s = 0;
};

struct CallTree {
  std::vector<TreeNode> nodes;  ///< in preorder (run/nodes.hpp); node 0 is the root, which has no name
  Totals totals;
  std::vector<LocationSummary> locations;
  std::vector<std::string> notes;
  std::vector<experiment::ExtraMetric> extra_metrics;
  bool spread_over_threads = false;
  std::vector<std::uint32_t> node_of;  ///< by archive path; 0 for paths outside of `main` or without any value
  std::map<std::pair<run::PathKind, std::string>, FunctionErrors> function_errors;

  /// Seconds that one sample stands for; 0 without samples. A function without samples may have up to about that.
  double period_s() const;
};

struct CallTreeOptions {
  bool callsites = false;
  ModuleFold fold = {};  ///< consecutive frames of these modules become one node
  int depth = 0;         ///< frames kept below the root, 0: all; MPI functions stay below the last frame
  run::Where where = {};
  std::function<void(std::size_t done, std::size_t all)> progress;
  std::function<void(const experiment::Rank& rank)> also;     ///< called with every rank that is read
  bool function_errors = true;                                ///< else CallTree::function_errors stays empty
  experiment::Depth depth_of_ranks = experiment::Depth::Run;  ///< how far ranks are read for `also`
};

/// Builds the tree of names, then adds the values of one location after the other. The locations of a rank are added
/// consecutively. Holds no rank.
class CallTreeBuilder {
 public:
  /// `one_rank`: the spread is over the threads of the only rank. The referenced objects must outlive the builder.
  CallTreeBuilder(const experiment::ProfileDefinitions& definitions, Symbolizer& symbolizer,
                  const CallTreeOptions& options, bool one_rank);
  ~CallTreeBuilder();
  void add(const run::Leaf& leaf);
  /// Nothing may be added afterwards.
  CallTree finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The tree of the whole run on the chosen ranks, which are read one after the other.
CallTree build_call_tree(const experiment::Experiment& experiment, Symbolizer& symbolizer,
                         const CallTreeOptions& options = {});

/// The call paths of the tree, for other questions about the same experiment (run/run.hpp).
run::Nodes columns_of(const CallTree& tree);
run::Run run_of(const experiment::Experiment& experiment, const CallTree& tree);

/// Wall time summed over the first threads of all ranks.
double elapsed_s(const CallTree& tree);
double elapsed_s(const std::vector<LocationSummary>& locations);

/// Names from the root to `node`.
std::vector<std::string> path_to(const CallTree& tree, std::uint32_t node);

}  // namespace refrain::analysis
