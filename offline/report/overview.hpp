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
  std::int64_t count;  ///< nanoseconds if `is_time`
  bool is_time;
};

/// The average cost of one call, tick, ... of Refrain's own work, as timed while the program ran
/// (measurement/own_time.hpp).
struct OwnTimeLine {
  std::int64_t timed = 0;  ///< 0: the experiment has no timings
  double mean_ns = 0, error_ns = 0;
};

struct Overview {
  std::string state;  ///< "complete" or "incomplete"
  std::int32_t ranks = 0;
  std::vector<std::int32_t> missing_ranks;  ///< ranks that wrote nothing, or nothing that can be read
  /// If incomplete: when the data of the ranks ends, earliest and latest, in seconds after their start; and whether
  /// that of rank 0 is a snapshot.
  double first_end_s = 0, last_end_s = 0;
  bool rank_0_is_snapshot = false;
  bool has_unmeasured_ranks = false;  ///< missing ranks were not measured: the program itself ended as it should
  std::vector<std::string> hosts;
  std::vector<analysis::NodeCores> nodes;     ///< by host
  std::vector<analysis::SharedCores> shared;  ///< hosts with fewer cores than ranks or threads, worst first
  std::optional<double> throttled_s;          ///< by quotas: on each host the control group that was held back most
  std::optional<double> taken_share;  ///< of the cores' time, by interrupts and the hypervisor: maximum over ranks
  bool without_mpi = false;           ///< one process, and no MPI was loaded
  std::string sampling_source;        ///< "task_clock", "timer", "wall", "none"; empty: an older version wrote it
  std::string sampling_reason;        ///< why it is the timer, if the run says so
  std::vector<LossLine> losses;       ///< those that happened
  experiment::Cost call_cost_ns, tick_cost_ns;  ///< calibrated: mean over ranks of the median, extremes of the rest
  std::array<OwnTimeLine, format::own_time_count> own_times{};  ///< over all locations
};

/// Builds the overview from the chosen ranks, which are added in ascending order.
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

/// The number of samples by which the user code of one iteration is divided: minimum and maximum over its locations.
struct SamplesOfPools {
  double least = 0, most = 0;
};

/// For a report of one iteration or cluster: what it is about, and how its values were found.
struct PartOfRun {
  std::vector<std::string> subject;      ///< lines that say what it is; empty: the whole run
  std::optional<bool> samples_recorded;  ///< of an iteration: all samples that are shown were recorded in it
  std::optional<SamplesOfPools> pool_samples;
  std::optional<bool> reconstructed;  ///< of an iteration: the values of call paths to MPI are estimates
};

/// The name of the program: the first line of call trees.
std::string root_name(const experiment::Experiment& experiment);

struct LoopView;    // loop_view.hpp
struct ForeignRun;  // foreign_run.hpp

/// The input of views. A view that needs more of the ranks than the tree has reads them.
struct Document {
  const std::shared_ptr<const experiment::Experiment>& experiment;
  const Request& request;
  const analysis::CallTree& tree;  ///< of the run or the part
  const Overview& overview;
  PartOfRun part = {};
  const LoopView* loops = nullptr;  ///< null unless iterations or clusters are requested
  /// The waiting of all ranks according to durations of calls; null: not requested.
  const analysis::MinimumWaits* minimum_waits = nullptr;
  const Found& found = nothing_found();
  /// The run of another tool, to which `tree` belongs; the experiment is then empty. Null: the run of an experiment.
  const ForeignRun* foreign = nullptr;

  /// The chosen locations.
  run::Where where() const;
  /// Calls `use` with the chosen ranks, one after the other.
  void for_each_rank(experiment::Depth depth, const std::function<void(const experiment::Rank&)>& use) const;
};

}  // namespace refrain::report
