#pragma once
/// An experiment as a run for writers of profile formats.
///
/// Each kind of waiting ("late_sender") is a metric, a part of the time in MPI: the values that `refrain analyze` has
/// stored in the experiment, or else an estimate from the durations of calls (analysis/minimum_waits.hpp). A run with
/// neither has no such metrics.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "offline/experiment/experiment.hpp"
#include "offline/export/run.hpp"

namespace refrain::exports {

/// One iteration of a marked loop, instead of the run. Its totals and its MPI calls are exact; the rest is
/// reconstructed from its cluster. It has no waiting, and no values for threads that lack the iteration.
struct IterationOfLoop {
  std::string loop;  ///< empty: the only loop
  std::int64_t number = 0;
};

/// Reads all ranks once. `version`: that of this Refrain. Throws experiment::ReadError, and ExportError when there is
/// no such iteration.
std::unique_ptr<Run> run_of_experiment(std::shared_ptr<const experiment::Experiment> experiment,
                                       std::string_view version,
                                       const std::optional<IterationOfLoop>& iteration = std::nullopt);

/// The kinds of waiting that do not overlap: their sum is the waiting time of a call path.
std::span<const std::string_view> kinds_of_waiting();

}  // namespace refrain::exports
