#include "offline/patterns/iteration_severities.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "offline/patterns/pattern.hpp"
#include "offline/run/loops.hpp"

namespace refrain::patterns {
namespace {

/// How many ranks have each loop and each of its iterations.
struct RanksOfLoops {
  std::map<std::uint16_t, std::unordered_map<std::int64_t, std::uint32_t>> kept;  ///< by loop, by iteration
  std::map<std::string, std::uint32_t> all;                                       ///< by name of the loop

  explicit RanksOfLoops(const Search& search) {
    for (std::uint32_t location = 0; location < search.trace().locations().size(); ++location) {
      if (search.trace().locations()[location].thread != 0) continue;
      for (const SpanEnd& span : search.findings().locations()[location].spans)
        if (span.loop != 0 && span.is_whole) ++kept[span.loop][span.number];
    }
    // A rank that lost all its events has the loop nevertheless.
    std::set<std::pair<std::int32_t, std::string>> known;
    run::for_each_loop(search.trace().experiment(), [&](const run::LoopPlace& of, const experiment::Loop& loop, auto&) {
      if (of.location == 0 && known.emplace(of.rank, loop.name).second) ++all[loop.name];
    });
  }
};

/// Iterations that all ranks with the loop kept as a whole: if one rank did not, it is unknown what calls of the others
/// waited for. In addition, no message that counts may have its other end in an iteration that was not kept.
class KnownIterations {
 public:
  /// `sides`: of messages that count; none: collective operations and windows count. `is_of_all`: everything counts.
  KnownIterations(const Search& search, const RanksOfLoops& ranks, unsigned sides, bool is_of_all)
      : search_(search), ranks_(ranks) {
    const auto is_operation = [&](std::uint32_t path) {
      const trace::FunctionOfMpi is = trace::function_of_mpi(search.trace().region_of(path));
      return is.exchange != trace::Exchange::None || is.window_step != trace::WindowStep::None;
    };
    const auto is_untold = [&](const Findings::OfLocation& of, const Findings::Row& row) {
      constexpr std::int64_t worth_a_word_ns = 1000;  // known time is subtracted in rounded parts
      switch (row.quantity) {
        case unknown_receives: return (sides & side_of_receives) != 0;
        case unknown_sends: return (sides & side_of_sends) != 0;
        case untold_messages: return sides != no_side;
        case untold_others:
          return row.ns > worth_a_word_ns && (is_of_all || (sides == no_side && is_operation(of.cells[row.cell].path)));
        default: return false;
      }
    };
    for (const Findings::OfLocation& of : search.findings().locations())
      for (const Findings::Row& row : of.rows)
        if (row.span < of.spans.size() && is_untold(of, row))
          unknown_.emplace(of.spans[row.span].loop, of.spans[row.span].number);
  }
  bool has(const SpanEnd& span) const {
    if (span.loop == 0 || !span.is_whole || unknown_.contains({span.loop, span.number})) return false;
    const auto loop = ranks_.kept.find(span.loop);
    if (loop == ranks_.kept.end()) return false;
    const auto ranks = loop->second.find(span.number);
    const std::string& name = search_.loops()[span.loop];
    const auto all = ranks_.all.find(name);
    return ranks != loop->second.end() && all != ranks_.all.end() && ranks->second >= all->second &&
           (search_.trace().is_sampled(name, span.number) || search_.trace().is_slow_on_all(name, span.number));
  }

 private:
  const Search& search_;
  const RanksOfLoops& ranks_;
  std::set<std::pair<std::uint16_t, std::int64_t>> unknown_;  ///< loops and iterations
};

/// The loops of a location, by index into Search::loops().
std::map<std::uint16_t, IterationSeverities::OfLoop> loops_of(const Search& search, const KnownIterations& known,
                                                              std::uint32_t location, Quantity quantity) {
  const Findings::OfLocation& found = search.findings().locations()[location];
  std::map<std::uint16_t, IterationSeverities::OfLoop> loops;
  for (const SpanEnd& span : found.spans)
    if (known.has(span)) loops[span.loop].kept.push_back(span.number);
  for (const Findings::Row& row : found.rows) {
    if (row.span >= found.spans.size() || row.quantity != quantity) continue;  // after the last span that has ended
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

std::vector<IterationSeverities> severities_of_iterations(const trace::Trace& trace,
                                                          std::span<const std::string> patterns) {
  struct Wanted {
    Quantity quantity = 0;
    unsigned sides = no_side;
  };
  const Patterns all = waiting_patterns({});
  Search search(trace, true);
  Quantity next = first_of_patterns;
  std::vector<Wanted> wanted(patterns.size());
  std::vector<Quantity> kept{unknown_receives, unknown_sends, untold_messages, untold_others};
  for (const auto& of : all) {
    of->set_quantity(next++);
    of->subscribe(search);  // all: some publish what others subscribe to
    const unsigned sides = search.take_sides();
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (of->about().name != patterns[i]) continue;
      wanted[i] = {of->quantity(), sides};
      kept.push_back(of->quantity());
    }
  }
  search.keep_rows_of(kept);
  search.run();
  const RanksOfLoops ranks(search);
  std::vector<IterationSeverities> found(patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const KnownIterations known(search, ranks, wanted[i].sides, patterns[i] == waiting_name);
    for (std::uint32_t location = 0; location < trace.locations().size(); ++location)
      for (auto& [loop, of] : loops_of(search, known, location, wanted[i].quantity)) {
        of.rank = trace.locations()[location].rank;
        of.thread = trace.locations()[location].thread;
        of.loop = search.loops()[loop];
        std::ranges::sort(of.kept);
        std::ranges::stable_sort(of.rows, {}, &IterationSeverities::Row::iteration);
        found[i].loops.push_back(std::move(of));
      }
  }
  return found;
}

}  // namespace refrain::patterns
