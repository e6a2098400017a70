// The bytes that calls transfer: a histogram by powers of two.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "offline/report/columns.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"
#include "offline/run/totals.hpp"

namespace refrain::report {
namespace {

struct OfSize {
  std::int64_t calls = 0;
  double seconds = 0;
};

std::string words_of(unsigned size) {
  if (size == 0) return "0 B";
  return fmt::format("< {}", human_bytes(static_cast<std::int64_t>(std::uint64_t{1} << std::min(size, 62U))));
}

}  // namespace

std::vector<Table> sizes_tables(const Document& d) {
  std::vector<Column> all = columns("calls, calls_share: calls %, time_s: time, share: time %, mean_s: a call") +
                            columns("below_bytes, function", ForPrograms) +
                            columns("what: size and function", ForPeople);
  Table table{"sizes", std::move(all), [&d](const TakeRow& take) {
                std::map<std::pair<std::string, unsigned>, OfSize> sizes;
                OfSize all;
                d.for_each_rank(experiment::Depth::Run, [&](const experiment::Rank& rank) {
                  for (const experiment::Location& location : rank.locations) {
                    if (!d.request.chosen(rank.rank, location.thread)) continue;
                    for (const experiment::CallDurations& of : location.durations) {
                      if (of.path >= d.tree.node_of.size()) continue;
                      const analysis::TreeNode& node = d.tree.nodes[d.tree.node_of[of.path]];
                      if (!of.bin.sends() && !of.bin.receives()) continue;
                      OfSize& to = sizes[{node.name, of.bin.size()}];
                      const std::int64_t calls = of.durations[waits::Column::Calls];
                      const double seconds =
                          run::seconds_of(rank, static_cast<double>(of.durations[waits::Column::Time]));
                      to.calls += calls;
                      to.seconds += seconds;
                      all.calls += calls;
                      all.seconds += seconds;
                    }
                  }
                });
                std::map<std::string, double> functions;
                for (const auto& [of, values] : sizes) functions[of.first] += values.seconds;
                std::vector<std::pair<std::string, double>> order(functions.begin(), functions.end());
                std::ranges::stable_sort(order, std::greater<>{}, [](const auto& of) { return of.second; });
                for (const auto& [function, seconds] : order)
                  for (const auto& [of, values] : sizes)
                    if (of.first == function)
                      take({{values.calls, static_cast<double>(values.calls) / static_cast<double>(all.calls),
                             values.seconds, values.seconds / d.tree.totals.wall_s,
                             values.seconds / static_cast<double>(std::max<std::int64_t>(values.calls, 1)),
                             std::int64_t{1} << std::min(of.second, 62U), function,
                             fmt::format("{} {}", function, words_of(of.second))}});
              }};
  table.empty = "No call has moved anything.";
  table.footnotes = {
      {"By what a call sends and receives together, in powers of two. Calls that complete others move "
       "what these have begun.",
       Note::Faint}};
  return {std::move(table)};
}

}  // namespace refrain::report
