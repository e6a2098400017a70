#pragma once
/// What every format says about the experiment as a whole.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/functions.hpp"
#include "offline/experiment/reader.hpp"
#include "offline/report/report.hpp"

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
  std::int32_t ranks;
  std::vector<std::int32_t> missing_ranks;
  /// Of an incomplete one: when the data of ranks end, seconds after their start; and whether that of rank 0 is a
  /// snapshot.
  double first_end_s = 0, last_end_s = 0;
  bool rank_0_is_snapshot = false;
  std::vector<std::string> hosts;
  /// Whether the split of user code and (not on CPU) cannot be trusted: more than a tenth of the user code's time
  /// rests on the division of samples.
  bool not_on_cpu_uncertain = false;
  bool without_mpi = false;      ///< one process, and no MPI was loaded
  std::string sampling_source;   ///< "task_clock", "timer", "wall", "none"; empty: older versions do not tell
  std::string sampling_reason;   ///< why it is the timer, when the program's run says so
  std::vector<LossLine> losses;  ///< those that happened
  experiment::Cost call_cost_ns, tick_cost_ns;  ///< calibrated: mean over ranks of the median, extremes of the rest
  std::array<OwnTimeLine, format::own_time_count> own_times{};  ///< over all locations
};

Overview overview_of(const experiment::Experiment& experiment, const analysis::CallTree& tree);

struct LoopView;  // offline/report/loop_view.hpp

/// By how many samples the user code of one iteration is divided, over its locations.
struct SamplesOfPools {
  double least = 0, most = 0;
};

/// Everything a format needs.
struct Document {
  const experiment::Experiment& experiment;
  const Options& options;
  const analysis::CallTree& tree;
  const std::vector<analysis::FunctionTotals>& functions;  ///< filled for the flat view
  const Overview& overview;
  std::vector<std::string> subject = {};      ///< lines that say which part of the run this is; none: all of it
  const LoopView* loops = nullptr;            ///< when iterations or clusters are asked for
  std::optional<bool> samples_recorded = {};  ///< of one iteration: no sample is an estimate
  std::optional<SamplesOfPools> pool_samples = {};
  std::optional<bool> reconstructed = {};  ///< of one iteration: what call paths to MPI have is an estimate
};

std::string text_report(const Document& document, const Terminal& terminal);
std::string json_report(const Document& document);
/// RFC 4180, one row per call path (or function), with a header row.
std::string csv_report(const Document& document);

}  // namespace refrain::report
