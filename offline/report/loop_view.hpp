#pragma once
/// The loops that a report of iterations or clusters is about, and what it shows of them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/analysis/callpath_match.hpp"
#include "offline/analysis/iteration_metrics.hpp"
#include "offline/analysis/iteration_profile.hpp"
#include "offline/report/json_writer.hpp"
#include "offline/report/overview.hpp"

namespace refrain::report {

/// A loop of one location.
struct LoopOfLocation {
  const experiment::Rank* rank;
  const experiment::Location* location;
  std::unique_ptr<const analysis::IterationProfiles> profiles;
};

/// A loop of all chosen ranks.
struct LoopGroup {
  std::string name;
  std::int64_t iterations = 0;  ///< of the location that has most
  std::vector<LoopOfLocation> locations;
};

struct LoopView {
  std::vector<LoopGroup> groups;  ///< in the order in which the locations have them; none: no loop is marked
  analysis::IterationMetric metric;
  std::optional<analysis::CallPathMatch> callpath;
  std::string callpath_name;
};

/// Throws UsageError when a loop, metric or call path is asked for that is not there, with those that are.
LoopView view_loops(const experiment::Experiment& experiment, const Options& options, const analysis::CallTree& tree);
/// Throws UsageError when there is no loop at all.
void require_loops(const LoopView& view);

/// Whether the location had no thread in an iteration of these, so that there is nothing to show: not even a zero.
bool was_absent(const LoopOfLocation& loop, std::int32_t cluster, std::span<const std::int64_t> row);

analysis::IterationValue shown_value(const LoopView& view, const LoopOfLocation& loop);
/// Its standard error; null: it has none.
analysis::IterationValue shown_error(const LoopView& view, const LoopOfLocation& loop);

/// "rank 3", or "rank 3 thread 1".
std::string name_of(const experiment::Location& location);
/// Of iterations, as people read it.
std::string human_value(analysis::Quantity quantity, double value);

std::string loops_text(const Document& document, const Terminal& terminal);
std::string loops_csv(const Document& document);
/// The member `loops` of the JSON document.
void loops_json(JsonWriter& json, const Document& document);

}  // namespace refrain::report
