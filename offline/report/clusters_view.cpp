// The clusters of iterations of every location, and what sets them apart.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "offline/analysis/cluster_groups.hpp"
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

constexpr std::size_t most_tables = 4, most_table_rows = 12;  ///< unless ranks are chosen
constexpr std::size_t least_path_width = 12;

/// Waiting of clusters of one location.
class ClusterWaits {
 public:
  ClusterWaits(const analysis::MinimumWaits* minima, const OpenLoop& open) : open_(open) {
    if (minima) floors_ = call_floors(*minima, *open.rank);
  }
  /// Of all iterations of a cluster, seconds; nothing: it is not known.
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

class ClusterTables : TextPage {
 public:
  ClusterTables(const Document& document, const Terminal& terminal) : TextPage(terminal), d_(document) {}

  std::string of(const LoopGroup& group) {
    clusters(group);
    return std::move(out_);
  }

 private:
  void clusters(const LoopGroup& group) {
    line(paint(style_.strong, cut_to(about(group) + ", clusters", width())));
    const bool all = !d_.options.ranks.empty();
    std::size_t shown = 0;
    for (const LoopPlace& of : group.locations) {
      if (!all && shown == most_tables) {
        wrapped("",
                fmt::format("{} more: choose ranks with --rank to see theirs.",
                            count_of(static_cast<std::int64_t>(group.locations.size() - shown), group)),
                0, style_.faint);
        break;
      }
      table(of, all);
      ++shown;
    }
    wrapped("",
            "Times are per iteration; 2.0x in f is twice what f takes in the mean iteration of the loop. "
            "Iterations are "
            "counted from 0; the exemplar is the one nearest to the mean of its cluster.",
            0, style_.faint);
    if (!all)
      wrapped("", "--clusters --rank N lists the clusters of a rank, --cluster K --rank N shows one of them.", 0,
              style_.faint);
    if (shows_waits())
      wrapped("", "wait %: of the time of the cluster, what calls took longer than short ones of their kind.", 0,
              style_.faint);
  }

  bool is_wide() const { return width() >= 100; }
  bool shows_waits() const { return width() >= 110 && has_waits(d_); }

  void table(const LoopPlace& of, bool all) {
    const auto open = d_.loops->open(*d_.experiment, of);
    if (!open) return;
    const auto summaries = summarise_clusters(*open->profiles, d_.tree);
    std::vector<std::size_t> order(summaries.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return summaries[a].share > summaries[b].share; });
    line();
    if (const auto groups = group_clusters(*open->profiles, d_.tree); groups.size() < summaries.size()) {
      print_groups(groups, of, summaries.size());
      if (!all) return;
      line();
    } else {
      line(fmt::format("{}: {}", report::name_of(of),
                       plural(static_cast<std::int64_t>(order.size()), "cluster", "clusters")));
    }
    // What sets a cluster apart says most: the rest makes room for it.
    const bool wide = is_wide(), deviation = width() >= 80, kind = width() >= 70;
    std::string head = right("cluster", 7) + right("size", 8) + right("wall %", 7);
    if (kind) head += right("class", 6);
    if (wide) head += right("first", 9) + right("last", 9);
    head += right("exemplar", 9) + right("mean", 9);
    if (deviation) head += right("std dev", 9);
    const bool waits = shows_waits();
    const ClusterWaits waiting(d_.minimum_waits, *open);
    if (waits) head += right("wait %", 8);
    line(paint(style_.faint, head + "  what sets it apart"));
    const std::size_t rows = all ? order.size() : std::min(order.size(), most_table_rows);
    double rest = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const ClusterSummary& summary = summaries[order[i]];
      if (i >= rows) {
        rest += summary.share;
        continue;
      }
      const experiment::Cluster& cluster = *summary.cluster;
      std::string row = right(fmt::format("{}", order[i]), 7) + right(human_count(cluster.members), 8) +
                        right(percent(summary.share, 1), 7);
      if (kind) row += right(cluster.overflow ? "*" : fmt::format("{}", cluster.class_index), 6);
      if (wide) row += right(human_count(cluster.first), 9) + right(human_count(cluster.last), 9);
      row += right(human_count(cluster.exemplar), 9) + right(human_time(summary.mean_wall_s), 9);
      if (deviation) row += right(human_time(summary.deviation_wall_s), 9);
      if (waits) {
        const double all = summary.mean_wall_s * static_cast<double>(cluster.members);
        const auto wait = waiting.of(order[i]);
        row += right(!wait ? "?" : *wait > 0 ? percent(*wait, all) : "0", 8);
      }
      row += "  ";
      row += apart(summary, width() > display_width(row) + 16 ? width() - display_width(row) : 16);
      line(row);
    }
    if (rows < order.size())
      line(paint(style_.faint, fmt::format("{} {} more clusters with {} % of the wall time; --rank {} shows all",
                                           glyphs_.ellipsis, order.size() - rows, percent(rest, 1), of.rank)));
    const bool overflow =
        std::any_of(summaries.begin(), summaries.end(), [](const auto& s) { return s.cluster->overflow; });
    if (overflow)
      wrapped("", "* holds iterations of several classes (overflow); its totals are exact.", 0, style_.faint);
  }

  static std::string when_text(const ClusterGroup::When& when) {
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

  /// The few that differ by more than they scatter, a line each.
  void print_groups(const std::vector<ClusterGroup>& all, const LoopPlace& of, std::size_t clusters) {
    wrapped("",
            fmt::format("{}: {}, {}", report::name_of(of),
                        plural(static_cast<std::int64_t>(clusters), "cluster", "clusters"),
                        all.size() == 1 ? "which do not differ by more than they scatter"
                                        : fmt::format("{} that differ by more than they scatter", all.size())),
            0);
    const bool deviation = width() >= 80;
    std::size_t longest = 4;
    for (const ClusterGroup& group : all) longest = std::max(longest, display_width(when_text(group.when)));
    constexpr std::size_t least_apart = 16;  // columns
    const std::size_t others = (deviation ? 41 : 31) + least_apart, room = width() > others ? width() - others : 0;
    longest = std::min(longest, std::clamp<std::size_t>(room, 4, 34));
    std::string head = right("size", 9) + right("wall %", 8) + right("mean", 10);
    if (deviation) head += right("std dev", 10);
    head += "  " + left("iterations", longest) + "  what sets them apart" + (width() >= 80 ? " from the others" : "");
    line(paint(style_.faint, cut_to(head, width())));
    for (const ClusterGroup& group : all) {
      std::string row = right(human_count(static_cast<std::int64_t>(group.members)), 9) +
                        right(percent(group.share, 1), 8) + right(human_time(group.mean_wall_s), 10);
      if (deviation) row += right(human_time(group.deviation_wall_s), 10);
      row += "  " + left(fit_words(when_text(group.when), longest, glyphs_.ellipsis), longest) + "  ";
      const std::size_t left_over = std::max(width() - std::min(width(), display_width(row)), least_apart);
      line(row +
           (group.is_rest ? cut_to("few, and unlike each other", left_over) : apart(group.differences, left_over)));
    }
  }

  std::string apart(const ClusterSummary& summary, std::size_t room) const { return apart(summary.differences, room); }
  /// As many differences as fit in `room` columns.
  std::string apart(const std::vector<ClusterDifference>& differences, std::size_t room) const {
    std::string text;
    for (const ClusterDifference& difference : differences) {
      std::string one = describe(difference, text.empty() ? room : room - display_width(text) - 2);
      if (!text.empty() && display_width(text) + 2 + display_width(one) > room) break;
      text += (text.empty() ? "" : ", ") + one;
    }
    return text;
  }

  std::string describe(const ClusterDifference& difference, std::size_t room) const {
    const double here = difference.cluster_mean, usual = difference.loop_mean;
    const bool time = difference.metric == "time";
    std::string how, much;
    if (here == 0) how = "no " + difference.metric;
    else if (usual == 0) how = difference.seconds ? human_time(here) : fmt::format("{:.3g}", here);
    else how = two_digits(here / usual) + "x";
    if (here != 0 && !time) how += " " + difference.metric;
    if (difference.seconds && here != 0 && usual != 0)
      much = fmt::format(" ({}{})", here > usual ? "+" : "-", human_time(std::abs(here - usual)));
    if (difference.node == 0) return display_width(how) + display_width(much) > room ? how : how + much;
    how += time ? " in " : " of ";
    std::size_t used = display_width(how) + display_width(much);
    if (used + least_path_width > room) {  // the name says more
      used -= display_width(much);
      much.clear();
    }
    return how + short_path(difference.node, room > used + 4 ? room - used : 4) + much;
  }

  static std::string two_digits(double value) {
    return value < 0.0995  ? fmt::format("{:.1g}", value)
           : value < 0.995 ? fmt::format("{:.2f}", value)
           : value < 9.95  ? fmt::format("{:.1f}", value)
                           : fmt::format("{:.0f}", value);
  }

  /// The last names of a call path, as many as fit. What calls an MPI function is said if at all possible.
  std::string short_path(std::uint32_t node, std::size_t room) const {
    const auto names = path_to(d_.tree, node);
    std::string text = fit_name(names.back(), room, glyphs_.ellipsis);
    for (std::size_t i = names.size() - 1; i-- > 0;) {
      const bool caller = i + 2 == names.size() && d_.tree.nodes[node].kind == analysis::PathKind::Mpi;
      const std::size_t most = std::min<std::size_t>(room, caller ? 60 : 40), used = display_width(text) + 1;
      std::string name = names[i];
      if (caller && used + least_path_width <= most) name = fit_name(name, most - used, glyphs_.ellipsis);
      if (used + display_width(name) > most) break;
      text = name + "/" + text;
    }
    return text;
  }

  const Document& d_;
};

Table apart_table(const analysis::CallTree& tree, const ClusterSummary& summary) {
  return {"apart",
          {{"metric"}, {"path", Kind::Path}, {"cluster_mean", Kind::Number}, {"loop_mean", Kind::Number}},
          [&tree, &summary](const TakeRow& take) {
            for (const ClusterDifference& one : summary.differences)
              take({{one.metric + (one.seconds ? "_s" : ""),
                     one.node == 0 ? std::vector<std::string>() : path_to(tree, one.node), one.cluster_mean,
                     one.loop_mean}});
          }};
}

Table all_clusters_table(const Document& d) {
  return {
      "loops", {{"loop"}}, [&d](const TakeRow& take) {
        for (const LoopGroup& group : d.loops->groups)
          take({{group.name},
                {{"per_location", {{"rank", Kind::Id}, {"thread", Kind::Id}}, [&](const TakeRow& take_location) {
                    for (const LoopPlace& of : group.locations)
                      take_location({{std::int64_t{of.rank}, std::int64_t{of.thread}}, {clusters_table(d, of, InCsv)}});
                  }}}});
      }};
}

}  // namespace

Table clusters_table(const Document& d, const LoopPlace& of, unsigned in, std::shared_ptr<const OpenLoop> known) {
  std::vector<Column> columns = {{"cluster", Kind::Id, InText | InCsv},
                                 {"size", Kind::Count},
                                 {"class", Kind::Id},
                                 {"overflow", Kind::Flag},
                                 {"first", Kind::Id},
                                 {"last", Kind::Id},
                                 {"exemplar", Kind::Id},
                                 {"wall_share", Kind::Share}};
  for (const char* name : {"mean_wall_s", "deviation_wall_s", "min_wall_s", "max_wall_s", "mean_mpi_s"})
    columns.push_back({name, Kind::Seconds});
  const bool waits = has_waits(d);
  if (waits) columns.push_back({"mean_wait_s", Kind::Seconds});
  // The first of what sets a cluster apart; documents have all of it.
  for (const auto& [name, kind] : {std::pair("apart_metric", Kind::Text),
                                   {"apart_path", Kind::Path},
                                   {"apart_cluster_mean", Kind::Number},
                                   {"apart_loop_mean", Kind::Number}})
    columns.push_back({name, kind, InCsv});
  return {
      "clusters", std::move(columns), [&d, &of, in, known = std::move(known), waits](const TakeRow& take) {
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

std::string clusters_text(const Document& document, const LoopGroup& group, const Terminal& terminal) {
  return ClusterTables(document, terminal).of(group);
}

const View clusters_view{"--clusters",           [](const Options& options) { return options.clusters; },
                         {"--loop", "--thread"}, [](const Document& d) { return std::vector{loops_table(d)}; },
                         all_clusters_table,     loops_page};

}  // namespace refrain::report
