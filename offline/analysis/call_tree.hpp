#pragma once
/// The call tree of an experiment by function names, with the values of all its locations added up.
///
/// From the addresses of the archive: inlined functions are expanded; what runs outside of `main` (start-up code of
/// libc and of threads, Refrain's own frames) is left out; call sites of one function in one caller are merged unless
/// asked otherwise; paths of `kind` Other that the time rules define stand at the top level.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "offline/analysis/module_fold.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/symbols/symbols.hpp"

namespace refrain::analysis {

using symbols::Symbolizer;

enum class PathKind : std::uint8_t { User, Mpi, Other };
const char* name_of(PathKind kind);

/// Names of the paths that are no functions.
inline constexpr const char* waited_name = "(waited for a core)";  ///< ready to run
inline constexpr const char* blocked_name = "(blocked)";           ///< sleep, locks, files, page faults, stops
/// What is not known to be one of the two: of formats before 1.10, where it is uncertain, too, and of kernels that do
/// not count how long a thread is ready.
inline constexpr const char* not_on_cpu_name = "(not on CPU)";
inline bool is_off_cpu(std::string_view name) {
  return name == waited_name || name == blocked_name || name == not_on_cpu_name;
}
inline constexpr const char* no_sample_name = "(no sample)";
inline constexpr const char* refrain_name = "(refrain)";
inline constexpr const char* stopped_name = "(measurement off)";
inline constexpr const char* truncated_name = "(truncated)";
inline constexpr const char* arena_full_name = "(arena full)";
inline constexpr const char* mpi_without_path_name = "(MPI without call path)";

/// The call paths that the time rules define: nodes below the root, for times that no call path of the file has.
struct PseudoPath {
  const char* name;
  PathKind kind;
};
enum class Pseudo : std::uint8_t {
  NotOnCpu,
  NoSample,
  ArenaFull,
  Refrain,
  Stopped,
  MpiWithoutPath,
  WaitedForCore,
  Blocked
};
inline constexpr PseudoPath pseudo_paths[] = {
    {not_on_cpu_name, PathKind::Other}, {no_sample_name, PathKind::Other}, {arena_full_name, PathKind::Other},
    {refrain_name, PathKind::Other},    {stopped_name, PathKind::Other},   {mpi_without_path_name, PathKind::Mpi},
    {waited_name, PathKind::Other},     {blocked_name, PathKind::Other}};
/// One value for each of them.
template <class Value>
using ByPseudo = std::array<Value, std::size(pseudo_paths)>;
/// What a location has of each, in ticks.
ByPseudo<std::int64_t> pseudo_ticks(const format::UnitTimes& times, const experiment::Location& location);

/// The metrics of call paths that are counted, in the order of format/metrics.def.
inline constexpr auto counted_metrics = [] {
  constexpr auto is_counted = [](const format::MetricRow& row) {
    return row.name && row.quantity == format::Quantity::Count &&
           (row.kind == format::NodeKind::Region || row.kind == format::NodeKind::Function);
  };
  std::array<format::MetricId, std::ranges::count_if(format::metric_table, is_counted)> metrics{};
  std::size_t n = 0;
  for (std::size_t i = 0; i < format::metric_count; ++i)
    if (is_counted(format::metric_table[i])) metrics[n++] = static_cast<format::MetricId>(i);
  return metrics;
}();

/// One integer of each, and one of each metric that the user has asked for, by its place in CallTree::extra_metrics.
/// Sums are saturating.
class Counts {
 public:
  std::int64_t operator[](format::MetricId metric) const { return value_[place(metric)]; }
  void add(format::MetricId metric, std::int64_t value);
  std::int64_t asked_for(std::size_t place) const { return place < asked_for_.size() ? asked_for_[place] : 0; }
  void add_asked_for(std::size_t place, std::int64_t value);
  Counts& operator+=(const Counts& other);
  bool all_zero() const;

 private:
  static constexpr std::size_t place(format::MetricId metric) {
    return static_cast<std::size_t>(std::ranges::find(counted_metrics, metric) - counted_metrics.begin());
  }
  std::array<std::int64_t, counted_metrics.size()> value_{};
  std::vector<std::int64_t> asked_for_;  ///< zeros at its end may be missing
};

/// Whether the time of a path is what the time rules make of exact sums, not a division by samples.
bool is_exact(PathKind kind, std::string_view name);
/// Time off the CPU of versions that did not count it has none: how far it may be wrong is not a matter of how many
/// samples there are (see the bounds in Totals).
inline bool has_standard_error(std::string_view name) { return name != not_on_cpu_name; }

struct Spread {
  double min = 0, mean = 0, max = 0;
};

struct TreeNode {
  std::int32_t parent = -1;
  PathKind kind = PathKind::User;
  std::string name;
  bool marked = false;       ///< a loop or region of the program, below the function that marks it
  std::string module, file;  ///< of the call site, with callsites only
  int line = 0;
  std::uint64_t offset = 0;  ///< ... in the module: where the call returns to
  double exclusive_s = 0, inclusive_s = 0;
  double sampled_s = 0;                         ///< part of inclusive_s that was shared out by samples
  double standard_error_s = 0;                  ///< of inclusive_s
  double exclusive_error_s = 0;                 ///< of exclusive_s
  double weight_s = 0, exclusive_weight_s = 0;  ///< of samples, what both errors are from
  Counts exclusive, inclusive;
  std::optional<double> off_cpu_s;       ///< of calls of MPI here: the thread did not run; nothing: not of all ranks
  std::int64_t mark_visits = 0;          ///< of a marked one: times that it was begun
  double mark_s = 0;                     ///< ... and wall time between its begin and its end, exactly
  std::optional<double> mark_waited_s;   ///< of that user code that waited for a core; nothing: not of all threads
  std::optional<double> mark_blocked_s;  ///< ... that was blocked
  Spread spread;                         ///< of inclusive_s, over ranks, or over threads when there is one rank
  std::vector<std::uint32_t> children;
};

struct LocationSummary {
  std::int32_t rank = 0, thread = 0;
  std::string name;
  double wall_s = 0, mpi_s = 0, user_s = 0, refrain_s = 0, stopped_s = 0, not_on_cpu_s = 0;
  std::int64_t samples = 0;
  Counts counts;
  double not_on_cpu_low_s = 0, not_on_cpu_high_s = 0;
  double waited_for_core_s = 0, blocked_s = 0;  ///< of not_on_cpu_s, where they are told apart
  double off_untold_s = 0;                      ///< the rest of it
  double mpi_off_cpu_s = 0;                     ///< of mpi_s, where it was counted
  bool off_cpu_is_counted = true;               ///< else bounds are all that is known of time off the CPU
  bool off_cpu_is_told_apart = true;
};

struct Totals {
  double wall_s = 0, mpi_s = 0, user_s = 0, refrain_s = 0;
  double stopped_s = 0;  ///< by MPI_Pcontrol
  double not_on_cpu_s = 0, not_on_cpu_low_s = 0, not_on_cpu_high_s = 0;
  double waited_for_core_s = 0, blocked_s = 0;  ///< of not_on_cpu_s, where they are told apart
  double mpi_off_cpu_s = 0;                     ///< of mpi_s: the thread had given up its core, or lost it
  bool off_cpu_is_counted = true;               ///< of all threads: else bounds are all that is known
  bool off_cpu_is_told_apart = true;            ///< of all threads
  std::int64_t mpi_calls = 0;
  std::int64_t ticks_user = 0, ticks_mpi = 0, ticks_without_sample = 0;
  double weight_s = 0, weight_squares_s2 = 0;  ///< of ticks in user code: sum and sum of squares
  std::vector<std::int64_t> losses;            ///< by format::Loss
  Counts counts;
};

struct CallTree {
  std::vector<TreeNode> nodes;  ///< node 0 is the root, which has no name; parents before children
  Totals totals;
  std::vector<LocationSummary> locations;
  std::vector<std::string> notes;
  std::vector<experiment::ExtraMetric> extra_metrics;
  bool spread_over_threads = false;
  std::vector<std::uint32_t> node_of;  ///< by archive path; 0 for paths outside of `main` or without any value

  /// The standard error of time that samples of this weight stand for.
  double standard_error_of(double weight_s) const;
  /// What one sample stands for; 0: there are none. A function without any may have up to about that.
  double period_s() const;
};

struct CallTreeOptions {
  bool callsites = false;
  ModuleFold fold = {};                 ///< frames of these modules are one node where they follow each other
  int depth = 0;                        ///< frames kept below the root, 0: all; MPI functions stay below the last one
  std::function<bool(int rank)> ranks;  ///< empty: all
  std::function<bool(int rank, int thread)> threads;  ///< of these ranks; empty: all
  std::function<void(std::size_t done, std::size_t all)> progress;
  std::function<void(const experiment::Rank& rank)> also;  ///< gets every rank that is read
};

/// Makes the tree of names, then adds one location after the other; those of a rank follow each other. Holds no rank.
class CallTreeBuilder {
 public:
  /// `one_rank`: the spread is over its threads. All must outlive it.
  CallTreeBuilder(const experiment::ProfileDefinitions& definitions, Symbolizer& symbolizer,
                  const CallTreeOptions& options, bool one_rank);
  ~CallTreeBuilder();
  void add(const experiment::Rank& rank, const experiment::Location& location, const experiment::RunTotals& totals);
  /// Nothing may be added afterwards.
  CallTree finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Of the run, with the chosen ranks, which are read one after the other.
CallTree build_call_tree(const experiment::Experiment& experiment, Symbolizer& symbolizer,
                         const CallTreeOptions& options = {});
CallTree build_call_tree(const experiment::Profile& profile, Symbolizer& symbolizer,
                         const CallTreeOptions& options = {});

/// Of the first threads of all ranks together.
double elapsed_s(const CallTree& tree);

/// Names from the root to `node`.
std::vector<std::string> path_to(const CallTree& tree, std::uint32_t node);

}  // namespace refrain::analysis
