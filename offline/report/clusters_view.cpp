// The clusters of iterations of every location, and what sets them apart.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "offline/analysis/cluster_groups.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"
#include "offline/report/wait_iterations.hpp"

namespace refrain::report {
namespace {

using analysis::ClusterDifference;
using analysis::ClusterGroup;
using analysis::ClusterSummary;

/// Waiting in the clusters of one location.
class ClusterWaits {
 public:
  ClusterWaits(const analysis::MinimumWaits* minima, const OpenLoop& open) : open_(open) {
    if (minima) floors_ = call_floors(*minima, *open.rank);
  }
  /// Waiting in all iterations of a cluster, in seconds; nullopt: not known.
  std::optional<double> of(std::size_t cluster) const {
    const auto number = static_cast<std::int32_t>(cluster);
    if (!open_.profiles->cluster_unit(number) || floors_.empty()) return std::nullopt;
    return waiting_of_cluster(*open_.profiles, number, floors_);
  }

 private:
  const OpenLoop& open_;
  CallFloors floors_;
};

bool has_waits(const Document& d) { return d.minimum_waits && d.minimum_waits->any(); }

/// Two significant digits; from 10 on, all digits before the point.
std::string short_number(double value) {
  return value < 0.0995  ? fmt::format("{:.1g}", value)
         : value < 0.995 ? fmt::format("{:.2f}", value)
         : value < 9.95  ? fmt::format("{:.1f}", value)
                         : fmt::format("{:.0f}", value);
}

/// As many names from the end of a call path as fit. The caller of an MPI function is kept if at all possible.
std::string short_path(const analysis::CallTree& tree, std::uint32_t node) {
  constexpr std::size_t longest = 40, longest_with_caller = 60, least_name = 12;
  constexpr std::string_view ellipsis = "...";
  const auto names = path_to(tree, node);
  std::string text = fit_name(names.back(), longest_with_caller, ellipsis);
  for (std::size_t i = names.size() - 1; i-- > 0;) {
    const bool is_caller = i + 2 == names.size() && tree.nodes[node].kind == run::PathKind::Mpi;
    const std::size_t most = is_caller ? longest_with_caller : longest, used = display_width(text) + 1;
    std::string name = names[i];
    if (is_caller && used + least_name <= most) name = fit_name(name, most - used, ellipsis);
    if (used + display_width(name) > most) break;
    text = name + "/" + text;
  }
  return text;
}

/// "2.0x in solve/MPI_Wait (+3.60 ms)".
std::string apart_words(const analysis::CallTree& tree, const ClusterDifference& of) {
  const double here = of.cluster_mean, usual = of.loop_mean;
  const bool is_time = of.metric == "time";
  std::string text;
  if (here == 0) text = "no " + of.metric;
  else if (usual == 0) text = of.seconds ? human_time(here) : fmt::format("{:.3g}", here);
  else text = short_number(here / usual) + "x";
  if (here != 0 && !is_time) text += " " + of.metric;
  if (of.node != 0) text += (is_time ? " in " : " of ") + short_path(tree, of.node);
  if (of.seconds && here != 0 && usual != 0)
    text += fmt::format(" ({}{})", here > usual ? "+" : "-", human_time(std::abs(here - usual)));
  return text;
}

std::vector<std::string> apart_items(const analysis::CallTree& tree, const std::vector<ClusterDifference>& all) {
  std::vector<std::string> words;
  for (const ClusterDifference& of : all) words.push_back(apart_words(tree, of));
  return words;
}

std::string when_words(const ClusterGroup::When& when) {
  using When = ClusterGroup::When;
  const auto block = [](const When::Block& of) {
    return of.first == of.last ? human_count(of.first)
                               : fmt::format("{}-{}", human_count(of.first), human_count(of.last));
  };
  if (when.blocks.empty()) return "?";
  switch (when.kind) {
    case When::Always: return "always";
    case When::Regular: return fmt::format("one in {} from {} on", when.period, when.blocks[0].first);
    case When::Scattered: return "now and then in " + block(when.blocks[0]);
    case When::Blocks: break;
  }
  std::string text;
  for (const When::Block& of : when.blocks) text += (text.empty() ? "" : ", ") + block(of);
  return text;
}

/// A column that is `width` wide, including the space in front of it.
Column narrow(const char* name, std::size_t width, int gives_way = 0) {
  return {.name = name, .gives_way = gives_way, .width = width - 2};
}

/// What sets a cluster apart says most: the other columns make room for it.
Table clusters_of_location(const Document& d, const LoopPlace& of, const OpenLoop& open, bool all) {
  constexpr std::size_t most_rows = 12;
  const auto summaries = summarise_clusters(*open.profiles, d.tree);
  std::vector<std::size_t> order(summaries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t k) { return summaries[k].share; });
  const ClusterWaits waits(d.minimum_waits, open);
  auto rows = std::make_shared<std::vector<Row>>();
  double rest = 0;
  bool overflow = false;
  for (const std::size_t k : order) {
    const ClusterSummary& s = summaries[k];
    const experiment::Cluster& cluster = *s.cluster;
    overflow |= cluster.overflow;
    if (!all && rows->size() == most_rows) {
      rest += s.share;
      continue;
    }
    const auto wait = waits.of(k);
    const double wall_s = s.mean_wall_s * static_cast<double>(cluster.members);
    rows->push_back({{static_cast<std::int64_t>(k), human_count(cluster.members), percent(s.share, 1),
                      cluster.overflow ? "*" : fmt::format("{}", cluster.class_index), human_count(cluster.first),
                      human_count(cluster.last), human_count(cluster.exemplar), human_time(s.mean_wall_s),
                      human_time(s.deviation_wall_s),
                      !has_waits(d) ? ""
                      : !wait       ? "?"
                      : *wait > 0   ? percent(*wait, wall_s)
                                    : "0",
                      apart_items(d.tree, s.differences)}});
  }
  Column waiting = narrow("wait %", 8, 5);
  waiting.is_optional = true;
  Table table{.name = "clusters",
              .columns = {{.name = "cluster", .kind = Kind::Id, .width = 7},
                          narrow("size", 8),
                          narrow("wall %", 7),
                          narrow("class", 6, 1),
                          narrow("first", 9, 3),
                          narrow("last", 9, 4),
                          narrow("exemplar", 9),
                          narrow("mean", 9),
                          narrow("std dev", 9, 2),
                          waiting,
                          {"what sets it apart", Kind::Items}},
              .rows = [rows](const TakeRow& take) { std::ranges::for_each(*rows, take); }};
  if (rows->size() < order.size())
    table.after.push_back({fmt::format("... {} more clusters with {} % of the wall time; --rank {} shows all",
                                       order.size() - rows->size(), percent(rest, 1), of.rank),
                           Note::Faint});
  if (overflow)
    table.after.push_back({"* holds iterations of several classes (overflow); its totals are exact.", Note::Faint});
  return table;
}

/// The few groups of clusters that differ by more than they scatter, one line each.
Table groups_of_location(const Document& d, const std::vector<ClusterGroup>& all) {
  auto rows = std::make_shared<std::vector<Row>>();
  for (const ClusterGroup& group : all)
    rows->push_back({{std::int64_t{std::llround(group.members)}, percent(group.share, 1), human_time(group.mean_wall_s),
                      human_time(group.deviation_wall_s), when_words(group.when),
                      group.is_rest ? std::vector<std::string>{"few, and unlike each other"}
                                    : apart_items(d.tree, group.differences)}});
  return {.name = "groups",
          .columns = {{.name = "size", .kind = Kind::Count, .width = 9},
                      narrow("wall %", 8),
                      narrow("mean", 10),
                      narrow("std dev", 10, 1),
                      {.name = "iterations", .kind = Kind::Words, .align = Align::Left},
                      {"what sets them apart from the others", Kind::Items}},
          .rows = [rows](const TakeRow& take) { std::ranges::for_each(*rows, take); }};
}

Table apart_table(const analysis::CallTree& tree, const ClusterSummary& summary) {
  return {
      "apart", columns("metric, path, cluster_mean, loop_mean"),
      rows_of(summary.differences, [&tree](const ClusterDifference& of) -> Row {
        return {{of.metric + (of.seconds ? "_s" : ""),
                 of.node == 0 ? std::vector<std::string>() : path_to(tree, of.node), of.cluster_mean, of.loop_mean}};
      })};
}

Table all_clusters_table(const Document& d) {
  return {
      "loops", columns("loop"), [&d](const TakeRow& take) {
        for (const LoopGroup& group : d.loops->groups)
          take({{group.name},
                {{"per_location", columns("rank, thread"), [&](const TakeRow& take_location) {
                    for (const LoopPlace& of : group.locations)
                      take_location({{std::int64_t{of.rank}, std::int64_t{of.thread}}, {clusters_table(d, of, InCsv)}});
                  }}}});
      }};
}

}  // namespace

Table clusters_table(const Document& d, const LoopPlace& of, unsigned in, std::shared_ptr<const OpenLoop> known) {
  const bool waits = has_waits(d);
  // CSV has the first of the differences that set a cluster apart; JSON has all of them.
  std::vector<Column> all =
      columns("cluster", ForPeople | InCsv) +
      columns(
          "size, class, overflow, first, last, exemplar, wall_share, mean_wall_s, deviation_wall_s, min_wall_s, "
          "max_wall_s, mean_mpi_s") +
      columns(waits ? "mean_wait_s" : "") +
      columns("apart_metric, apart_path, apart_cluster_mean, apart_loop_mean", InCsv);
  return {
      "clusters", std::move(all), [&d, &of, in, known = std::move(known), waits](const TakeRow& take) {
        const auto open = known ? known : d.loops->open(*d.experiment, of);
        if (!open) return;
        const auto summaries = summarise_clusters(*open->profiles, d.tree);
        const ClusterWaits all_waits(waits ? d.minimum_waits : nullptr, *open);
        for (std::size_t k = 0; k < summaries.size(); ++k) {
          const ClusterSummary& s = summaries[k];
          const experiment::Cluster& cluster = *s.cluster;
          Row row{{static_cast<std::int64_t>(k), cluster.members, std::int64_t{cluster.class_index}, cluster.overflow,
                   cluster.first, cluster.last, cluster.exemplar, s.share, s.mean_wall_s, s.deviation_wall_s,
                   s.min_wall_s, s.max_wall_s, s.mean_mpi_s}};
          if (waits) {
            const auto waiting = all_waits.of(k);
            row.cells.push_back(
                waiting ? Cell(*waiting / static_cast<double>(std::max<std::int64_t>(cluster.members, 1))) : Cell());
          }
          if (s.differences.empty()) {
            row.cells.resize(row.cells.size() + 4);
          } else {
            const ClusterDifference& most = s.differences[0];
            row.cells.insert(row.cells.end(), {most.metric + (most.seconds ? "_s" : ""),
                                               most.node == 0 ? std::vector<std::string>() : path_to(d.tree, most.node),
                                               most.cluster_mean, most.loop_mean});
          }
          if (in & InJson) row.tables.push_back(apart_table(d.tree, s));
          take(row);
        }
      }};
}

std::vector<Table> cluster_text_tables(const Document& d, const LoopGroup& group) {
  constexpr std::size_t most_locations = 4;
  const bool all = !d.request.ranks.empty();
  std::vector<Table> tables{Table{.before = {{about(group) + ", clusters", Note::Strong, 0, true}}}};
  std::vector<Note> last;
  std::size_t shown = 0;
  for (const LoopPlace& of : group.locations) {
    if (!all && shown == most_locations) {
      last.push_back({fmt::format("{} more: choose ranks with --rank to see theirs.",
                                  count_of(static_cast<std::int64_t>(group.locations.size() - shown), group)),
                      Note::Faint});
      break;
    }
    ++shown;
    const auto open = d.loops->open(*d.experiment, of);
    if (!open) continue;
    const std::string name = report::name_of(of) + ": ",
                      clusters = plural(static_cast<std::int64_t>(of.clusters), "cluster", "clusters");
    const auto groups = group_clusters(*open->profiles, d.tree);
    const bool is_grouped = groups.size() < of.clusters;
    if (is_grouped) {
      tables.push_back(groups_of_location(d, groups));
      tables.back().before = {{},
                              {groups.size() == 1 ? name + clusters + ", which do not differ by more than they scatter"
                                                  : fmt::format("{}{}, {} that differ by more than they scatter", name,
                                                                clusters, groups.size())}};
      if (!all) continue;
    }
    tables.push_back(clusters_of_location(d, of, *open, all));
    tables.back().before = {{}};
    if (!is_grouped) tables.back().before.push_back({name + clusters});
  }
  last.push_back(
      {"Times are per iteration; 2.0x in f is twice what f takes in the mean iteration of the loop. "
       "Iterations are counted from 0; the exemplar is the one nearest to the mean of its cluster.",
       Note::Faint});
  if (!all)
    last.push_back(
        {"--clusters --rank N lists the clusters of a rank, --cluster K --rank N shows one of them.", Note::Faint});
  if (has_waits(d))
    last.push_back(
        {"wait %: of the time of the cluster, what calls took longer than short ones of their kind.", Note::Faint});
  tables.push_back(Table{.before = std::move(last)});
  return tables;
}

std::vector<Table> clusters_tables(const Document& d) {
  if (d.request.format == Format::Text) return loop_text_tables(d);
  return {d.request.format == Format::Json ? loops_table(d) : all_clusters_table(d)};
}

}  // namespace refrain::report
