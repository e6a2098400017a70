// One-sided operations by window, origin and target.
#include <algorithm>
#include <fmt/format.h>

#include "offline/analysis/windows.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"
#include "offline/run/totals.hpp"

namespace refrain::report {
namespace {

using analysis::JobWindow;
using analysis::WindowPair;

/// The windows of the chosen ranks, matched. Only the definitions of these ranks are kept.
struct Windows {
  std::vector<experiment::RankDefinition> definitions;
  std::vector<const experiment::RankDefinition*> ranks;
  analysis::JobWindows job;

  explicit Windows(const Document& d) {
    d.for_each_rank(experiment::Depth::Run, [&](const experiment::Rank& rank) {
      if (!rank.windows.empty()) definitions.push_back(rank);
    });
    for (const auto& rank : definitions) ranks.push_back(&rank);
    job = analysis::match_windows(ranks);
  }
};

std::int64_t bytes_of(const WindowPair& pair) {
  return format::add_saturating(pair.traffic.bytes_put, pair.traffic.bytes_got);
}

std::string world_rank(std::int32_t rank) { return rank < 0 ? "?" : std::to_string(rank); }

Table traffic_table(const Document& d) {
  return {
      "windows", columns("window, communicator, kind, name, made, origin, target, puts, bytes_put, gets, bytes_got"),
      [&d](const TakeRow& take) {
        const Windows all(d);
        for (std::size_t i = 0; i < all.job.windows.size(); ++i) {
          const JobWindow& window = all.job.windows[i];
          for (const auto& [origin, target, t] : window.pairs)
            take({{static_cast<std::int64_t>(i), window.communicator, analysis::name_of(window.kind), window.name,
                   window.made, std::int64_t{origin}, std::int64_t{target}, t.puts, t.bytes_put, t.gets, t.bytes_got}});
        }
      }};
}

Table targets_table(const experiment::RankDefinition& rank, const experiment::Window& window) {
  return {"targets", columns("target, world_rank, puts, bytes_put, gets, bytes_got"),
          rows_of(window.targets, [&rank, &window](const auto& t) -> Row {
            return {{std::int64_t{t.target}, std::int64_t{analysis::world_rank(rank, window, t.target)}, t.puts,
                     t.bytes_put, t.gets, t.bytes_got}};
          })};
}

std::string title_of(const JobWindow& window) {
  std::string title = "Window ";
  if (!window.name.empty()) title += window.name + " ";
  title += fmt::format("of {}, {}", window.communicator, analysis::name_of(window.kind));
  return window.made > 1 ? title + fmt::format(", {} times", human_count(window.made)) : title;
}

constexpr std::size_t most_pairs = 16;

/// The pairs that move most, below the sum of all pairs.
Table busiest_pairs_table(const JobWindow& window) {
  std::vector<WindowPair> pairs = window.pairs;
  std::ranges::stable_sort(pairs, std::greater<>{}, bytes_of);
  WindowPair all{};
  for (const auto& [origin, target, t] : pairs) {
    all.traffic.puts = format::add_saturating(all.traffic.puts, t.puts);
    all.traffic.bytes_put = format::add_saturating(all.traffic.bytes_put, t.bytes_put);
    all.traffic.gets = format::add_saturating(all.traffic.gets, t.gets);
    all.traffic.bytes_got = format::add_saturating(all.traffic.bytes_got, t.bytes_got);
  }
  Table table{.name = "pairs",
              .columns = {{"origin", Kind::Id},
                          {"target", Kind::Id},
                          {"puts"},  // as text, so that zeros are shown
                          {"bytes put"},
                          {"gets"},
                          {"bytes got"},
                          {"share", Kind::Share}},
              .before = {{title_of(window), Note::Strong, 0, true}}};
  if (pairs.empty()) table.before.push_back({"  no operation"});
  else
    table.rows = [pairs, all](const TakeRow& take) {
      const auto row = [&](const Cell& origin, const Cell& target, const WindowPair& pair) {
        const auto& t = pair.traffic;
        const auto whole = static_cast<double>(bytes_of(all));
        take({{origin, target, human_count(t.puts), human_bytes(t.bytes_put), human_count(t.gets),
               human_bytes(t.bytes_got), whole > 0 ? Cell(static_cast<double>(bytes_of(pair)) / whole) : Cell()}});
      };
      row("all", {}, all);
      for (std::size_t i = 0; i < std::min(pairs.size(), most_pairs); ++i)
        row(world_rank(pairs[i].origin), world_rank(pairs[i].target), pairs[i]);
    };
  if (pairs.size() > most_pairs)
    table.after.push_back({fmt::format("  and {} with less each; all with --format csv",
                                       plural(static_cast<std::int64_t>(pairs.size() - most_pairs), "pair", "pairs"))});
  table.after.push_back({});
  return table;
}

}  // namespace

std::vector<Table> windows_view_tables(const Document& d) {
  if (d.request.format == Format::Json) return windows_tables(d);
  if (d.request.format != Format::Text) return {traffic_table(d)};
  const Windows all(d);
  if (all.job.windows.empty()) throw UsageError("--windows: the program has made no windows");
  std::vector<Table> tables;
  for (const JobWindow& window : all.job.windows) tables.push_back(busiest_pairs_table(window));
  tables.back().footnotes = {{"Counted at the origin; ranks are those in MPI_COMM_WORLD.", Note::Faint}};
  return tables;
}

std::vector<Table> windows_tables(const Document& d) {
  if (!d.part.subject.empty()) return {};  // windows are not known for a part
  return {{"windows", columns("on_rank, id, window, communicator, kind, made, name"), [&d](const TakeRow& take) {
             const Windows all(d);
             for (std::size_t r = 0; r < all.ranks.size(); ++r)
               for (std::size_t id = 0; id < all.ranks[r]->windows.size(); ++id) {
                 const experiment::Window& window = all.ranks[r]->windows[id];
                 take({{std::int64_t{all.ranks[r]->rank}, static_cast<std::int64_t>(id),
                        static_cast<std::int64_t>(all.job.of_rank[r][id]), std::int64_t{window.communicator},
                        analysis::name_of(window.kind), window.made, window.name},
                       {targets_table(*all.ranks[r], window)}});
               }
           }}};
}

}  // namespace refrain::report
