#pragma once
/// The call tree of an experiment by function names, with the values of all its locations added up.
///
/// From the addresses of the archive: inlined functions are expanded; what runs outside of `main` (start-up code of
/// libc and of threads, Refrain's own frames) is left out; call sites of one function in one caller are merged unless
/// asked otherwise; paths of `kind` Other that the time rules define stand at the top level.

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

/// One integer of each, and one of each metric that the user has asked for, by its place in CallTree::extra_metrics.
/// Sums are saturating.
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
  std::vector<std::int64_t> values_;  ///< zeros at its end may be missing
};

struct Spread {
  double min = 0, mean = 0, max = 0;
};

struct TreeNode {
  std::int32_t parent = -1;
  run::PathKind kind = run::PathKind::User;
  std::string name;
  bool marked = false;       ///< a loop or region of the program, below the function that marks it
  std::string module, file;  ///< of the call site, with callsites only
  int line = 0;
  std::uint64_t offset = 0;         ///< ... in the module: where the call returns to
  Runtime runtime = Runtime::None;  ///< that the function is of
  double exclusive_s = 0, inclusive_s = 0;
  double sampled_s = 0;          ///< part of inclusive_s that was shared out by samples
  double standard_error_s = 0;   ///< of inclusive_s
  double exclusive_error_s = 0;  ///< of exclusive_s
  Counts exclusive = {}, inclusive = {};
  std::int64_t mark_visits = 0;               ///< of a marked one: times that it was begun
  double mark_s = 0;                          ///< ... and wall time between its begin and its end, exactly
  std::optional<double> mark_waited_s = {};   ///< of that user code that waited for a core; nothing: not of all threads
  std::optional<double> mark_blocked_s = {};  ///< ... that was blocked
  Spread spread = {};                         ///< of inclusive_s, over ranks, or over threads when there is one rank
  std::vector<std::uint32_t> children = {};
};

/// What one location did, or several together.
struct Times {
  double wall_s = 0, mpi_s = 0, user_s = 0, refrain_s = 0;
  double stopped_s = 0;  ///< by MPI_Pcontrol
  double not_on_cpu_s = 0, not_on_cpu_low_s = 0, not_on_cpu_high_s = 0;
  double waited_for_core_s = 0, blocked_s = 0;  ///< of not_on_cpu_s, where they are told apart
  double off_untold_s = 0;                      ///< the rest of it
  double mpi_off_cpu_s = 0;                     ///< of mpi_s, where it was counted: the thread had no core
  bool off_cpu_is_counted = true;               ///< of all: else bounds are all that is known of time off the CPU
  bool off_cpu_is_told_apart = true;            ///< of all
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

/// Standard errors of what a function has, whatever called it.
struct FunctionErrors {
  double exclusive_s = 0, inclusive_s = 0;
};

struct CallTree {
  std::vector<TreeNode> nodes;  ///< node 0 is the root, which has no name; in preorder, as in run/nodes.hpp
  Totals totals;
  std::vector<LocationSummary> locations;
  std::vector<std::string> notes;
  std::vector<experiment::ExtraMetric> extra_metrics;
  bool spread_over_threads = false;
  std::vector<std::uint32_t> node_of;  ///< by archive path; 0 for paths outside of `main` or without any value
  std::map<std::pair<run::PathKind, std::string>, FunctionErrors> function_errors;

  /// What one sample stands for; 0: there are none. A function without any may have up to about that.
  double period_s() const;
};

struct CallTreeOptions {
  bool callsites = false;
  ModuleFold fold = {};  ///< frames of these modules are one node where they follow each other
  int depth = 0;         ///< frames kept below the root, 0: all; MPI functions stay below the last one
  run::Where where = {};
  std::function<void(std::size_t done, std::size_t all)> progress;
  std::function<void(const experiment::Rank& rank)> also;     ///< gets every rank that is read
  bool function_errors = true;                                ///< else CallTree::function_errors stays empty
  experiment::Depth depth_of_ranks = experiment::Depth::Run;  ///< for `also`
};

/// Makes the tree of names, then adds what one location after the other did; those of a rank follow each other. Holds
/// no rank.
class CallTreeBuilder {
 public:
  /// `one_rank`: the spread is over its threads. All must outlive it.
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

/// Of the run, with the chosen ranks, which are read one after the other.
CallTree build_call_tree(const experiment::Experiment& experiment, Symbolizer& symbolizer,
                         const CallTreeOptions& options = {});

/// The call paths of the tree for other questions to the same experiment (run/run.hpp).
run::Nodes columns_of(const CallTree& tree);
run::Run run_of(const experiment::Experiment& experiment, const CallTree& tree);

/// Of the first threads of all ranks together.
double elapsed_s(const CallTree& tree);
double elapsed_s(const std::vector<LocationSummary>& locations);

/// Names from the root to `node`.
std::vector<std::string> path_to(const CallTree& tree, std::uint32_t node);

}  // namespace refrain::analysis
