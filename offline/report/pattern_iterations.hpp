#pragma once
/// The cost of kinds of waiting, as a metric of iterations (`refrain report --iterations --metric late_sender`).

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "offline/experiment/experiment.hpp"
#include "offline/report/iteration_source.hpp"
#include "offline/report/request.hpp"
#include "offline/trace/trace.hpp"

namespace refrain::report {

/// Searches the events of all ranks. Null: there is no pattern of waiting of this name. Throws UsageError when the
/// experiment has no events.
std::shared_ptr<const IterationSource> search_iterations(
    const std::shared_ptr<const experiment::Experiment>& experiment, const std::string& pattern);

/// Searches for several patterns, each of which must exist, in one pass over the events.
std::vector<std::shared_ptr<const IterationSource>> search_iterations(const trace::Trace& trace,
                                                                      std::span<const std::string> patterns);

}  // namespace refrain::report
