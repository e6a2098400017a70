#include "offline/patterns/iteration_severities.hpp"

#include <algorithm>
#include <map>

#include "offline/patterns/pattern.hpp"

namespace refrain::patterns {
namespace {

/// Iterations of a location, by the place of the loop's name. Only whole ones that all ranks have kept: where others
/// have not, nobody knows whom its calls have waited for.
std::map<std::uint16_t, IterationSeverities::OfLoop> loops_of(const Search& search, std::uint32_t location) {
  const Findings::OfLocation& found = search.findings().locations()[location];
  const auto is_known = [&](const SpanEnd& span) {
    const std::string& loop = search.loops()[span.loop];
    return span.loop != 0 && span.is_whole &&
           (search.trace().is_sampled(loop, span.number) || search.trace().is_slow_on_all(loop, span.number));
  };
  std::map<std::uint16_t, IterationSeverities::OfLoop> loops;
  for (const SpanEnd& span : found.spans)
    if (is_known(span)) loops[span.loop].kept.push_back(span.number);
  for (const Findings::Row& row : found.rows) {
    if (row.span >= found.spans.size()) continue;  // after the last one that has ended
    const SpanEnd& span = found.spans[row.span];
    if (is_known(span)) loops[span.loop].rows.push_back({span.number, found.cells[row.cell].path, row.ns});
  }
  return loops;
}

}  // namespace

std::vector<std::string> iteration_pattern_names() {
  std::vector<std::string> names;
  for (const auto& pattern : waiting_patterns({})) names.push_back(pattern->about().name);
  return names;
}

IterationSeverities severities_of_iterations(const trace::Trace& trace, const std::string& pattern) {
  const Patterns patterns = waiting_patterns({});
  Search search(trace, true);
  Quantity next = trace::call_classes;
  for (const auto& of : patterns) {
    if (of->about().name == pattern) search.keep_rows_of(next);
    of->set_quantity(next++);
    of->subscribe(search);  // all: some publish what others subscribe to
  }
  search.run();
  IterationSeverities all;
  for (std::uint32_t location = 0; location < trace.locations().size(); ++location)
    for (auto& [loop, of] : loops_of(search, location)) {
      of.rank = trace.locations()[location].rank;
      of.thread = trace.locations()[location].thread;
      of.loop = search.loops()[loop];
      std::ranges::sort(of.kept);
      std::ranges::stable_sort(of.rows, {}, &IterationSeverities::Row::iteration);
      all.loops.push_back(std::move(of));
    }
  return all;
}

}  // namespace refrain::patterns
