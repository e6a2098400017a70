#pragma once
/// What every format says about the experiment as a whole.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/cores.hpp"
#include "offline/analysis/minimum_waits.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/report/found.hpp"
#include "offline/report/request.hpp"

namespace refrain::report {

struct LossLine {
  std::string name, help;
  std::int64_t count;  ///< or nanoseconds
  bool is_time;
};

/// What one call, tick, ... of Refrain's own work has cost on average, as it was timed while the program ran
/// (measurement/own_time.hpp).
struct OwnTimeLine {
  std::int64_t timed = 0;  ///< 0: the experiment does not say
  double mean_ns = 0, error_ns = 0;
};

struct Overview {
  std::string state;  ///< "complete" or "incomplete"
  std::int32_t ranks = 0;
  std::vector<std::int32_t> missing_ranks;  ///< that have written nothing, or nothing that can be read
  /// Of an incomplete one: when the data of ranks end, seconds after their start; and whether that of rank 0 is a
  /// snapshot.
  double first_end_s = 0, last_end_s = 0;
  bool rank_0_is_snapshot = false;
  bool has_unmeasured_ranks = false;  ///< the missing ones: the program itself has ended as it should
  std::vector<std::string> hosts;
  std::vector<analysis::NodeCores> nodes;     ///< by host
  std::vector<analysis::SharedCores> shared;  ///< where there were fewer cores than ranks or threads, worst first
  std::optional<double> throttled_s;          ///< by quotas, of the control group of each host that was held back most
  std::optional<double> taken_share;  ///< of the cores' time, by interrupts and the hypervisor, of the rank with most
  bool without_mpi = false;           ///< one process, and no MPI was loaded
  std::string sampling_source;        ///< "task_clock", "timer", "wall", "none"; empty: older versions do not tell
  std::string sampling_reason;        ///< why it is the timer, when the program's run says so
  std::vector<LossLine> losses;       ///< those that happened
  experiment::Cost call_cost_ns, tick_cost_ns;  ///< calibrated: mean over ranks of the median, extremes of the rest
  std::array<OwnTimeLine, format::own_time_count> own_times{};  ///< over all locations
};

/// Put together from the chosen ranks, which are added in ascending order.
class OverviewBuilder {
 public:
  void add(const experiment::Rank& rank);
  /// `tree` is that of these ranks, or of a part of their run. Nothing may be added afterwards.
  Overview finish(const experiment::Experiment& experiment, const Request& request, const analysis::CallTree& tree);

 private:
  struct Own {
    double count = 0, sum = 0, squares = 0;
  };
  Overview overview_;
  std::vector<std::int32_t> present_;
  std::set<std::string> hosts_;
  analysis::CoreUse cores_;
  std::array<Own, format::own_time_count> own_{};
  int ranks_ = 0;
};

/// By how many samples the user code of one iteration is divided, over its locations.
struct SamplesOfPools {
  double least = 0, most = 0;
};

/// Of one iteration or cluster: what the report is about, and how its values were found.
struct PartOfRun {
  std::vector<std::string> subject;      ///< lines that say what it is; none: the whole run
  std::optional<bool> samples_recorded;  ///< of an iteration: all its samples are those that were recorded in it
  std::optional<SamplesOfPools> pool_samples;
  std::optional<bool> reconstructed;  ///< of an iteration: what call paths to MPI have is an estimate
};

/// What the first line of call trees is: the program's name.
std::string root_name(const experiment::Experiment& experiment);

struct LoopView;    // loop_view.hpp
struct ForeignRun;  // foreign_run.hpp

/// What views are made of. Ranks are read where a view needs more of them than the tree has.
struct Document {
  const std::shared_ptr<const experiment::Experiment>& experiment;
  const Request& request;
  const analysis::CallTree& tree;  ///< of the run or the part
  const Overview& overview;
  PartOfRun part = {};
  const LoopView* loops = nullptr;  ///< when iterations or clusters are asked for
  /// What durations of calls tell of waiting, of all ranks; null: not asked for.
  const analysis::MinimumWaits* minimum_waits = nullptr;
  const Found& found = nothing_found();
  /// The run of another tool, of which `tree` is; then the experiment is an empty one. Null: it is an experiment's.
  const ForeignRun* foreign = nullptr;

  /// The chosen locations.
  run::Where where() const;
  /// Calls `use` with the chosen ranks, one after the other.
  void for_each_rank(experiment::Depth depth, const std::function<void(const experiment::Rank&)>& use) const;
};

}  // namespace refrain::report
