#include "offline/patterns/iteration_severities.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "offline/patterns/pattern.hpp"

namespace refrain::patterns {
namespace {

/// Iterations that all ranks with the loop have kept as a whole: where one has not, nobody knows whom calls of the
/// others have waited for.
class KnownIterations {
 public:
  explicit KnownIterations(const Search& search) : search_(search) {
    for (std::uint32_t location = 0; location < search.trace().locations().size(); ++location) {
      if (search.trace().locations()[location].thread != 0) continue;
      for (const SpanEnd& span : search.findings().locations()[location].spans)
        if (span.loop != 0 && span.is_whole) ++ranks_[span.loop][span.number];
    }
    // Whoever has lost all events has the loop even so.
    const experiment::Experiment& experiment = search.trace().experiment();
    for (std::size_t place = 0; place < experiment.ranks().size(); ++place) {
      const auto rank = experiment.rank(place, experiment::Depth::Loops);
      if (!rank || rank->locations.empty()) continue;
      std::set<std::string> names;
      for (const experiment::Loop& loop : rank->locations[0].loops) names.insert(loop.name);
      for (const std::string& name : names) ++ranks_with_[name];
    }
  }
  bool has(const SpanEnd& span) const {
    if (span.loop == 0 || !span.is_whole) return false;
    const auto loop = ranks_.find(span.loop);
    if (loop == ranks_.end()) return false;
    const auto ranks = loop->second.find(span.number);
    const std::string& name = search_.loops()[span.loop];
    const auto all = ranks_with_.find(name);
    return ranks != loop->second.end() && all != ranks_with_.end() && ranks->second >= all->second &&
           (search_.trace().is_sampled(name, span.number) || search_.trace().is_slow_on_all(name, span.number));
  }

 private:
  const Search& search_;
  std::map<std::uint16_t, std::unordered_map<std::int64_t, std::uint32_t>> ranks_;  ///< by loop, by iteration
  std::map<std::string, std::uint32_t> ranks_with_;                                 ///< by name of the loop
};

/// Of a location, by the place of the loop's name.
std::map<std::uint16_t, IterationSeverities::OfLoop> loops_of(const Search& search, const KnownIterations& known,
                                                              std::uint32_t location) {
  const Findings::OfLocation& found = search.findings().locations()[location];
  std::map<std::uint16_t, IterationSeverities::OfLoop> loops;
  for (const SpanEnd& span : found.spans)
    if (known.has(span)) loops[span.loop].kept.push_back(span.number);
  for (const Findings::Row& row : found.rows) {
    if (row.span >= found.spans.size()) continue;  // after the last one that has ended
    const SpanEnd& span = found.spans[row.span];
    if (known.has(span)) loops[span.loop].rows.push_back({span.number, found.cells[row.cell].path, row.ns});
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
  const KnownIterations known(search);
  IterationSeverities all;
  for (std::uint32_t location = 0; location < trace.locations().size(); ++location)
    for (auto& [loop, of] : loops_of(search, known, location)) {
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
