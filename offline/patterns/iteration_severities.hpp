#pragma once
/// What a kind of waiting costs in each iteration. Only iterations whose events were kept have a value.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "offline/trace/trace.hpp"

namespace refrain::patterns {

struct IterationSeverities {
  struct Row {
    std::int64_t iteration;
    std::uint32_t path;  ///< of the call that waits; trace::no_path: not known
    std::int64_t ns;
  };
  /// A loop of a location.
  struct OfLoop {
    std::int32_t rank = 0, thread = 0;
    std::string loop;
    std::vector<std::int64_t> kept;  ///< iterations whose events are complete, ascending
    std::vector<Row> rows;           ///< of these iterations, ascending by iteration; missing rows are 0
  };
  std::vector<OfLoop> loops;
};

/// Names of the patterns that severities_of_iterations() knows.
std::vector<std::string> iteration_pattern_names();
/// One result for each of `patterns`, which must be such names. Makes one pass over all events.
std::vector<IterationSeverities> severities_of_iterations(const trace::Trace& trace,
                                                          std::span<const std::string> patterns);

}  // namespace refrain::patterns
