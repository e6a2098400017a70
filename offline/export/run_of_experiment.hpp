#pragma once
/// An experiment as a run for writers of profile formats.
///
/// Waiting is a metric for each kind ("late_sender"), a part of the time in MPI: what `refrain analyze` has kept in the
/// experiment, else an estimate from the durations of calls (analysis/minimum_waits.hpp). A run of which neither is
/// known has no such metrics.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "offline/experiment/experiment.hpp"
#include "offline/export/run.hpp"

namespace refrain::exports {

/// One iteration of a marked loop instead of the run: its totals and its MPI calls are exact, the rest is reconstructed
/// from its cluster. Nothing is known of waiting in it, and of threads that do not have it.
struct IterationOfLoop {
  std::string loop;  ///< empty: the only one
  std::int64_t number = 0;
};

/// Reads all ranks once. `version`: of this Refrain. Throws experiment::ReadError, and ExportError when there is no
/// such iteration.
std::unique_ptr<Run> run_of_experiment(std::shared_ptr<const experiment::Experiment> experiment,
                                       std::string_view version,
                                       const std::optional<IterationOfLoop>& iteration = std::nullopt);

/// The kinds of waiting that do not overlap: their sum is the time that a call path has waited.
std::span<const std::string_view> kinds_of_waiting();

}  // namespace refrain::exports
