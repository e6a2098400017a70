// How large the transfers of calls are: a histogram by powers of two.
#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "offline/report/table_page.hpp"
#include "offline/report/units.hpp"
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

Table sizes_table(const Document& d) {
  std::vector<Column> columns = {{"calls", Kind::Count},
                                 {"calls_share", Kind::Share, Everywhere, "calls %"},
                                 {"time_s", Kind::Seconds, Everywhere, "time"},
                                 {"share", Kind::Share, Everywhere, "time %"},
                                 {"mean_s", Kind::Seconds, Everywhere, "a call"},
                                 {"below_bytes", Kind::Bytes, ForPrograms},
                                 {"function", Kind::Text, ForPrograms},
                                 {"what", Kind::Text, InText, "size and function"}};
  return {"sizes", std::move(columns), [&d](const TakeRow& take) {
            std::map<std::pair<std::string, unsigned>, OfSize> sizes;
            OfSize all;
            d.for_each_rank(experiment::Depth::Run, [&](const experiment::Rank& rank) {
              for (const experiment::Location& location : rank.locations) {
                if (!d.options.chosen(rank.rank, location.thread)) continue;
                for (const experiment::CallDurations& of : location.durations) {
                  if (of.path >= d.tree.node_of.size()) continue;
                  const analysis::TreeNode& node = d.tree.nodes[d.tree.node_of[of.path]];
                  if (!of.of.sends() && !of.of.receives()) continue;
                  OfSize& to = sizes[{node.name, of.of.size()}];
                  const std::int64_t calls = of.durations[waits::Column::Calls];
                  const double seconds = run::seconds_of(rank, static_cast<double>(of.durations[waits::Column::Time]));
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
}

}  // namespace

const View sizes_view{"--sizes",
                      [](const Options& options) { return options.sizes; },
                      {"--sort", "--limit", "--columns", "--thread"},
                      [](const Document& d) { return std::vector{sizes_table(d)}; },
                      sizes_table,
                      [](const Document& d, const Terminal& terminal) {
                        return table_page(
                            d, terminal, sizes_table(d), "No call has moved anything.",
                            "By what a call sends and receives together, in powers of two. Calls that complete "
                            "others move what these have begun.");
                      },
                      true};

}  // namespace refrain::report
