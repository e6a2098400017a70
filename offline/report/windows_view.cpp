// One-sided operations by window, origin and target.
#include <algorithm>
#include <fmt/format.h>

#include "offline/analysis/windows.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"
#include "offline/run/totals.hpp"

namespace refrain::report {
namespace {

using analysis::JobWindow;
using analysis::WindowPair;

/// Windows are matched over the chosen ranks. Of these no more is kept than what they are and have made.
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
      "windows",
      {{"window", Kind::Id},
       {"communicator"},
       {"kind"},
       {"name"},
       {"made", Kind::Count},
       {"origin", Kind::Id},
       {"target", Kind::Id},
       {"puts", Kind::Count},
       {"bytes_put", Kind::Bytes},
       {"gets", Kind::Count},
       {"bytes_got", Kind::Bytes}},
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
  return {"targets",
          {{"target", Kind::Id},
           {"world_rank", Kind::Id},
           {"puts", Kind::Count},
           {"bytes_put", Kind::Bytes},
           {"gets", Kind::Count},
           {"bytes_got", Kind::Bytes}},
          [&rank, &window](const TakeRow& take) {
            for (const auto& t : window.targets)
              take({{std::int64_t{t.target}, std::int64_t{analysis::world_rank(rank, window, t.target)}, t.puts,
                     t.bytes_put, t.gets, t.bytes_got}});
          }};
}

class WindowPage : TextPage {
 public:
  explicit WindowPage(const Terminal& terminal) : TextPage(terminal) {}

  std::string render(const Document& d) {
    const Windows all(d);
    if (all.job.windows.empty()) throw UsageError("--windows: the program has made no windows");
    warnings(d);
    heading(d);
    for (const JobWindow& window : all.job.windows) show(window);
    line(paint(style_.faint, "Counted at the origin; ranks are those in MPI_COMM_WORLD."));
    return std::move(out_);
  }

 private:
  static constexpr std::size_t pairs_shown = 16;

  void show(const JobWindow& window) {
    std::string title = "Window ";
    if (!window.name.empty()) title += window.name + " ";
    title += "of " + window.communicator + fmt::format(", {}", analysis::name_of(window.kind));
    if (window.made > 1) title += fmt::format(", {} times", human_count(window.made));
    line(paint(style_.strong, cut_to(title, width())));
    if (window.pairs.empty()) {
      line("  no operation");
      line();
      return;
    }
    std::vector<WindowPair> pairs = window.pairs;
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const WindowPair& a, const WindowPair& b) { return bytes_of(a) > bytes_of(b); });
    WindowPair all{};
    for (const WindowPair& pair : pairs) {
      all.traffic.puts = format::add_saturating(all.traffic.puts, pair.traffic.puts);
      all.traffic.bytes_put = format::add_saturating(all.traffic.bytes_put, pair.traffic.bytes_put);
      all.traffic.gets = format::add_saturating(all.traffic.gets, pair.traffic.gets);
      all.traffic.bytes_got = format::add_saturating(all.traffic.bytes_got, pair.traffic.bytes_got);
    }
    line("  " + right("origin", 8) + right("target", 8) + right("puts", 14) + right("bytes put", 12) +
         right("gets", 14) + right("bytes got", 12) + right("share", 8));
    row("all", "", all, all);
    for (std::size_t i = 0; i < pairs.size() && i < pairs_shown; ++i)
      row(world_rank(pairs[i].origin), world_rank(pairs[i].target), pairs[i], all);
    if (pairs.size() > pairs_shown)
      line(fmt::format("  and {} with less each; all with --format csv",
                       plural(static_cast<std::int64_t>(pairs.size() - pairs_shown), "pair", "pairs")));
    line();
  }

  void row(const std::string& origin, const std::string& target, const WindowPair& pair, const WindowPair& all) {
    const auto& t = pair.traffic;
    line("  " + right(origin, 8) + right(target, 8) + right(human_count(t.puts), 14) +
         right(human_bytes(t.bytes_put), 12) + right(human_count(t.gets), 14) + right(human_bytes(t.bytes_got), 12) +
         right(percent(static_cast<double>(bytes_of(pair)), static_cast<double>(bytes_of(all))), 8));
  }
};

std::string windows_page(const Document& document, const Terminal& terminal) {
  return WindowPage(terminal).render(document);
}

}  // namespace

std::vector<Table> windows_tables(const Document& d) {
  if (!d.part.subject.empty()) return {};  // not known of a part
  return {{"windows",
           {{"on_rank", Kind::Id},
            {"id", Kind::Id},
            {"window", Kind::Id},
            {"communicator", Kind::Id},
            {"kind"},
            {"made", Kind::Count},
            {"name"}},
           [&d](const TakeRow& take) {
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

const View windows_view{"--windows", [](const Options& options) { return options.windows; }, {}, nullptr, traffic_table,
                        windows_page};

}  // namespace refrain::report
