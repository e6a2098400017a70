#pragma once
/// `refrain analyze`: patterns of inefficiency and their severities, for people or for programs.

#include <span>

#include "offline/patterns/analysis.hpp"
#include "offline/report/request.hpp"
#include "offline/report/terminal.hpp"

namespace refrain::report {

struct PatternOptions {
  Format format = Format::Text;
  std::vector<std::string> patterns;  ///< only these; empty: all
  std::size_t most_rows = 0;          ///< maximum number of call paths and of locations per pattern; 0: all
  bool with_worst = false;            ///< in JSON: also the calls that have waited longest
};

/// "rank 3", "rank 3, thread 1", or the name that an archive has for it.
std::string place_of(const trace::LocationOfTrace& location);

/// Formats of one table print the causes if the analysis has any, else the critical path, else the patterns.
void print_analysis(const patterns::Analysis& analysis, std::span<const trace::LocationOfTrace> locations,
                    const patterns::Naming& naming, const PatternOptions& options, const Terminal& terminal,
                    const Sink& out);

}  // namespace refrain::report
