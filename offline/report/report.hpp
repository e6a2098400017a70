#pragma once
/// The report of an experiment: views of it, printed for people or for programs.

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/experiment/experiment.hpp"
#include "offline/report/found.hpp"
#include "offline/report/iteration_source.hpp"
#include "offline/report/request.hpp"
#include "offline/report/terminal.hpp"
#include "offline/symbols/symbols.hpp"

namespace refrain::report {

using Progress = std::function<void(std::size_t done, std::size_t all)>;

/// The input of a report.
struct Source {
  std::shared_ptr<const experiment::Experiment> experiment;
  analysis::Symbolizer& symbolizer;
  Progress progress = {};  ///< of symbol resolution
  /// Called once, when the call tree has been built, with its profile if that is by usual_names(), else with null. If
  /// the function itself is null, nothing is searched.
  std::function<Found(const UsualProfile* known)> search = {};
  FindIterationSource other_metric = {};  ///< for metrics that profiles of iterations do not have; null: there are none
};

/// The requested ranks and threads. `request` must outlive the result.
run::Where where_of(const Request& request);
/// Options of the call tree: ranks and threads, how call paths are told apart, and the progress of symbol resolution.
analysis::CallTreeOptions tree_options(const Request& request, const Progress& progress);

/// Throws UsageError when the experiment lacks one of the `wanted` ranks.
void check_ranks(const experiment::Experiment& experiment, const std::vector<std::int32_t>& wanted);

/// Throws what render() throws before it reads anything.
void check_request(const experiment::Experiment& experiment, const Request& request);

/// Hands nothing to `out` before the request is known to be good. Throws UsageError when the experiment lacks something
/// that is requested (a rank, a thread, a loop, a metric, a call path, an iteration, a cluster), or when an option
/// would change nothing in what is shown. Damage is in experiment->damage() afterwards.
void render(const Source& source, const Request& request, const Terminal& terminal, const Sink& out);

}  // namespace refrain::report
