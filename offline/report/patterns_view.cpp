// `refrain analyze`: patterns by severity.
#include "offline/report/patterns_view.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <map>

#include "offline/analysis/short_names.hpp"
#include "offline/patterns/headlines.hpp"
#include "offline/report/human_cells.hpp"
#include "offline/report/json_tables.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

using patterns::Analysis;
using patterns::PatternResult;

double seconds_of_ns(double ns) { return ns / 1e9; }

/// What a view needs; all of it outlives the tables.
struct PatternsShown {
  const Analysis& analysis;
  std::span<const trace::LocationOfTrace> locations;
  const patterns::Naming& naming;
  const PatternOptions& options;

  bool has(const PatternResult& of) const {
    return options.patterns.empty() || std::ranges::find(options.patterns, of.about.name) != options.patterns.end();
  }
  std::size_t rows(std::size_t all) const { return options.most_rows == 0 ? all : std::min(all, options.most_rows); }
  double share(double ns) const { return analysis.total_ns > 0 ? ns / analysis.total_ns : 0; }
  double share_of_waiting(double ns) const {
    return analysis.causes->waiting_ns > 0 ? ns / analysis.causes->waiting_ns : 0;
  }
  std::vector<std::string> path(std::uint32_t node) const {
    auto names = naming.names_of(node);
    if (names.empty()) names.emplace_back("(unknown)");
    return names;
  }
  std::string place(std::uint32_t location) const { return place_of(locations[location]); }
};

Table by_callpath_table(const PatternsShown& shown, const std::vector<PatternResult::ByNode>& all) {
  return {"by_callpath",
          {{"path", Kind::Path}, {"severity_s", Kind::Seconds}, {"standard_error_s", Kind::Seconds}},
          [&shown, &all](const TakeRow& take) {
            for (std::size_t i = 0; i < shown.rows(all.size()); ++i) {
              const auto& row = all[i];
              take({{shown.path(row.node), seconds_of_ns(row.severity.ns), seconds_of_ns(row.severity.error_ns)}});
            }
          }};
}

Table by_location_table(const PatternsShown& shown, const PatternResult& of) {
  return {"by_location",
          {{"rank", Kind::Id},
           {"thread", Kind::Id},
           {"severity_s", Kind::Seconds, InJson},
           {"standard_error_s", Kind::Seconds, InJson},
           {"location_severity_s", Kind::Seconds, InCsv},
           {"location_standard_error_s", Kind::Seconds, InCsv}},
          [&shown, &of](const TakeRow& take) {
            for (std::size_t i = 0; i < shown.rows(of.by_location.size()); ++i) {
              const auto& row = of.by_location[i];
              const trace::LocationOfTrace& location = shown.locations[row.location];
              const Cell ns = seconds_of_ns(row.severity.ns);
              const Cell error =
                  row.severity.error_ns == patterns::not_known ? Cell() : Cell(seconds_of_ns(row.severity.error_ns));
              take({{std::int64_t{location.rank}, std::int64_t{location.thread}, ns, error, ns, error}});
            }
          }};
}

Table worst_table(const PatternsShown& shown, const PatternResult& of) {
  return {"worst",
          {{"path", Kind::Path},
           {"severity_s", Kind::Seconds},
           {"rank", Kind::Id},
           {"thread", Kind::Id},
           {"begin_s", Kind::Seconds},
           {"loop"},
           {"iteration", Kind::Id}},
          [&shown, &of](const TakeRow& take) {
            for (const PatternResult::Worst& row : of.worst) {
              const trace::LocationOfTrace& location = shown.locations[row.location];
              const bool is_outside = row.loop.empty();
              take({{shown.path(row.node), seconds_of_ns(static_cast<double>(row.ns)), std::int64_t{location.rank},
                     std::int64_t{location.thread}, seconds_of_ns(static_cast<double>(row.enter_ns)),
                     is_outside ? Cell() : Cell(row.loop), is_outside ? Cell() : Cell(row.iteration)}});
            }
          }};
}

Table patterns_table(const PatternsShown& shown) {
  return {"patterns",
          {{"name"},
           {"parent"},
           {"severity_s", Kind::Seconds},
           {"share", Kind::Share},
           {"confidence", Kind::Number},
           {"stands_for"},
           {"standard_error_s", Kind::Seconds},
           {"names", Kind::Path}},
          [&shown](const TakeRow& take) {
            for (const PatternResult& of : shown.analysis.patterns) {
              if (!shown.has(of)) continue;
              Row row{{of.about.name, of.about.parent, seconds_of_ns(of.all.ns), shown.share(of.all.ns), of.confidence,
                       of.is_sampled   ? "sampled"
                       : of.is_partial ? "part"
                                       : "all",
                       seconds_of_ns(of.all.error_ns), of.names.empty() ? Cell() : Cell(of.names)},
                      {by_callpath_table(shown, of.by_node), by_location_table(shown, of)}};
              if (shown.options.with_worst && shown.options.format == Format::Json)
                row.tables.push_back(worst_table(shown, of));
              take(row);
            }
          }};
}

/// Kind, paths, rank and thread.
Row activity_row(const PatternsShown& shown, const patterns::NamedActivity& of) {
  const auto path = [&](const std::optional<std::uint32_t>& node) { return node ? Cell(shown.path(*node)) : Cell(); };
  const trace::LocationOfTrace& location = shown.locations[of.location];
  return {{of.is_call ? "call" : "computation", of.is_call ? path(of.before) : Cell(),
           of.is_call ? Cell() : path(of.before), of.is_call ? Cell() : path(of.after), std::int64_t{location.rank},
           std::int64_t{location.thread}}};
}

/// A call, or computation between two calls, and what it has to do with. `add(row, result)`: the cells of `columns`.
template <class Result, class Add>
Table activities_table(const PatternsShown& shown, const char* name, std::vector<Column> columns,
                       const std::vector<Result>& all, const Add& add) {
  columns.insert(columns.begin(), {{"kind"},
                                   {"call", Kind::Path},
                                   {"after", Kind::Path},
                                   {"before", Kind::Path},
                                   {"rank", Kind::Id},
                                   {"thread", Kind::Id}});
  return {name, std::move(columns), [&shown, &all, add](const TakeRow& take) {
            for (const Result& of : all) {
              Row row = activity_row(shown, of.activity);
              add(row, of);
              take(row);
            }
          }};
}

/// What has made others wait; in JSON of a computation also its functions.
Table causes_table(const PatternsShown& shown) {
  return activities_table(
      shown, "causes", {{"severity_s", Kind::Seconds}, {"share", Kind::Share}, {"direct_s", Kind::Seconds}},
      shown.analysis.causes->all, [&shown](Row& row, const patterns::CauseResult& of) {
        row.cells.insert(row.cells.end(),
                         {seconds_of_ns(of.ns), shown.share_of_waiting(of.ns), seconds_of_ns(of.direct_ns)});
        if (shown.options.format == Format::Json && !of.by_node.empty())
          row.tables.push_back(by_callpath_table(shown, of.by_node));
      });
}

/// What the program takes so long for.
Table critical_path_table(const PatternsShown& shown) {
  const patterns::CriticalResults& path = *shown.analysis.critical_path;
  return activities_table(
      shown, "critical_path", {{"time_s", Kind::Seconds}, {"share", Kind::Share}, {"imbalance_s", Kind::Seconds}},
      path.all, [&path](Row& row, const patterns::CriticalResult& of) {
        row.cells.insert(row.cells.end(),
                         {seconds_of_ns(of.ns), path.ns > 0 ? of.ns / path.ns : 0, seconds_of_ns(of.imbalance_ns)});
      });
}

Table critical_path_summary_table(const PatternsShown& shown) {
  Table table{"", {{"critical_path_s", Kind::Seconds}}, [&shown](const TakeRow& take) {
                take({{seconds_of_ns(shown.analysis.critical_path->ns)}});
              }};
  table.shape = Table::Object;
  return table;
}

Table causes_summary_table(const PatternsShown& shown) {
  Table table{
      "", {{"waiting_s", Kind::Seconds}, {"waiting_unexplained_s", Kind::Seconds}}, [&shown](const TakeRow& take) {
        take(
            {{seconds_of_ns(shown.analysis.causes->waiting_ns), seconds_of_ns(shown.analysis.causes->unexplained_ns)}});
      }};
  table.shape = Table::Object;
  return table;
}

Table summary_table(const PatternsShown& shown) {
  Table table{"",
              {{"total_time_s", Kind::Seconds},
               {"level", Kind::Count},
               {"not_covered_s", Kind::Seconds},
               {"unknown_s", Kind::Seconds},
               {"merged_strata", Kind::Count},
               {"clock_violations", Kind::Count},
               {"gaps", Kind::Count}},
              [&shown](const TakeRow& take) {
                const Analysis& a = shown.analysis;
                take({{seconds_of_ns(a.total_ns), static_cast<std::int64_t>(a.level), seconds_of_ns(a.not_covered_ns),
                       seconds_of_ns(a.unknown_ns), static_cast<std::int64_t>(a.merged_strata),
                       static_cast<std::int64_t>(a.counts.violations), static_cast<std::int64_t>(a.counts.gaps)}});
              }};
  table.shape = Table::Object;
  return table;
}

class PatternsPage : TextPage {
 public:
  PatternsPage(const Terminal& terminal, const PatternsShown& shown) : TextPage(terminal), shown_(shown) {}

  std::string render() {
    const Analysis& a = shown_.analysis;
    line(fmt::format("{} of {} {}{}", human_time(seconds_of_ns(a.total_ns)), shown_.locations.size(),
                     shown_.locations.size() == 1 ? "location" : "locations",
                     a.is_sampled ? "; estimated from the iterations that were kept" : ""));
    doubts();
    line();
    line(fmt::format("{}{}{}  {}  mostly", right("time", 10), right("+-", 10), right("%", 7),
                     left("pattern", longest_pattern)));
    tree([this](const Row& row) { print_row(row); });
    if (shown_.analysis.causes) causes(*shown_.analysis.causes);
    if (shown_.analysis.critical_path) critical_path(*shown_.analysis.critical_path);
    return std::move(out_);
  }

 private:
  static constexpr std::size_t longest_pattern = 38;

  void print_row(const Row& row) {
    const std::string numbers = right(human_cell(row.cells[0], Kind::Seconds), 10) +
                                right(human_cell(row.cells[1], Kind::Seconds), 10) +
                                right(human_cell(row.cells[2], Kind::Share), 7);
    const std::string pattern = left(std::get<std::string>(row.cells[3]), longest_pattern);
    constexpr std::size_t before = 10 + 10 + 7 + 2 + longest_pattern + 2, least_room = 20;
    const std::size_t room = width() > before + least_room ? width() - before : least_room;
    line(numbers + "  " + pattern + "  " + fit_path(std::get<std::string>(row.cells[4]), room, glyphs_.ellipsis));
  }

  void causes(const patterns::CauseResults& found) {
    line();
    line(fmt::format("causes of {} of waiting{}", human_time(seconds_of_ns(found.waiting_ns)),
                     shown_.analysis.is_sampled       ? " in the iterations that were kept"
                     : shown_.analysis.seen_share < 1 ? " in the events that were kept"
                                                      : ""));
    line();
    line(fmt::format("{}{}  what has taken longer there than on those that waited", right("time", 10), right("%", 7)));
    const double rest = activities(found.all, found.waiting_ns);
    if (rest > 0) activity(rest, found.waiting_ns, "others");
    if (found.unexplained_ns > 0) activity(found.unexplained_ns, found.waiting_ns, "(nothing that is known)");
  }

  void critical_path(const patterns::CriticalResults& found) {
    line();
    line(fmt::format("critical path of {}", human_time(seconds_of_ns(found.ns))));
    line();
    line(fmt::format("{}{}  what the end has waited for", right("time", 10), right("%", 7)));
    const double rest = activities(found.all, found.ns);
    if (rest > 0) activity(rest, found.ns, "others");
  }

  void activity(double ns, double all_ns, const std::string& what) {
    line(right(human_cell(Cell(seconds_of_ns(ns)), Kind::Seconds), 10) +
         right(human_cell(Cell(all_ns > 0 ? ns / all_ns : 0), Kind::Share), 7) + "  " + what);
  }

  /// The largest ones. Returns what the others come to.
  template <class Results>
  double activities(const Results& all, double all_ns) {
    constexpr std::size_t most = 10, before = 10 + 7 + 2;
    constexpr double least_share = 0.005;
    double rest = 0;
    std::size_t printed = 0;
    for (const auto& result : all) {
      if (printed == most || result.ns < least_share * all_ns) {
        rest += result.ns;
        continue;
      }
      ++printed;
      const std::string place = shown_.place(result.activity.location) + ": ";
      const std::size_t room = width() > before + place.size() ? width() - before - place.size() : 0;
      activity(result.ns, all_ns, place + what(result.activity, function_of(result), room));
    }
    return rest;
  }

  /// What a computation mostly consists of, as far as samples tell.
  std::string function_of(const patterns::CauseResult& of) const {
    const auto names = of.activity.is_call ? std::vector<std::string>() : main_function(of, shown_.naming);
    return names.empty() ? "computation" : analysis::short_name(names.back());
  }
  static std::string function_of(const patterns::CriticalResult&) { return "computation"; }

  std::string readable_path(std::uint32_t node) const {
    std::vector<std::string> path = shown_.path(node);
    for (std::string& frame : path) frame = analysis::short_name(frame);
    return joined_path(path);
  }

  std::string what(const patterns::NamedActivity& of, const std::string& function, std::size_t room) const {
    constexpr std::size_t least_room = 20;
    const auto name = [&](const std::optional<std::uint32_t>& node, std::size_t most) {
      if (!node) return std::string("the begin");
      return fit_path(readable_path(*node), std::max(most, least_room), glyphs_.ellipsis);
    };
    if (of.is_call) return name(of.before, room);
    const std::string begin = function + " between ", middle = " and ";
    const std::size_t words = begin.size() + middle.size();
    const std::size_t each = room > words ? (room - words) / 2 : 0;
    return begin + name(of.before, each) + middle + name(of.after, each);
  }

  void doubts() {
    const Analysis& a = shown_.analysis;
    std::uint64_t alone = 0;
    for (const std::uint64_t of : a.counts.messages.left_out) alone += of;
    if (alone > 0)
      line(fmt::format("{} of {} sends and receives have no known partner, and are not looked at.", alone,
                       a.counts.messages.sends + a.counts.messages.receives));
    if (a.counts.collectives_left_out > 0)
      line(fmt::format("{} collective operations are not looked at, as not all parts of them are there.",
                       a.counts.collectives_left_out));
    if (a.counts.violations > 0)
      line(fmt::format("{} messages were received before they were sent, by the clocks.", a.counts.violations));
    if (a.not_covered_ns > 0.001 * a.total_ns)
      line(fmt::format("{} in MPI: nothing that was kept stands for it.", human_time(seconds_of_ns(a.not_covered_ns))));
    if (a.unknown_ns > 0.001 * a.total_ns)
      line(fmt::format("{} in calls with messages: nothing that was kept says how much of it they have waited.",
                       human_time(seconds_of_ns(a.unknown_ns))));
    double untold_ns = 0;
    for (const auto& of : a.untold) untold_ns += of.severity.ns;
    if (!a.is_sampled && untold_ns > 0.001 * a.total_ns)
      line(fmt::format("{} in calls that may have waited: the events do not tell for how long.",
                       human_time(seconds_of_ns(untold_ns))));
    if (a.merged_strata > 0)
      line(fmt::format("{} held few kept iterations, and were put to others.",
                       plural(static_cast<std::int64_t>(a.merged_strata), "stratum", "strata")));
    if (a.counts.gaps > 0)
      line(fmt::format(
          "At {} events are missing{}.", plural(static_cast<std::int64_t>(a.counts.gaps), "place", "places"),
          a.seen_share < 1 && !a.is_sampled
              ? fmt::format("; what is said is of the rest, {} % of the time in MPI", percent(a.seen_share, 1))
              : ""));
  }

  void tree(const TakeRow& take) const {
    std::map<std::string, std::vector<const PatternResult*>> children;
    std::map<std::string, bool> is_shown;
    for (const PatternResult& of : shown_.analysis.patterns)
      if (shown_.has(of) && of.all.ns > 0) is_shown[of.about.name] = true;
    for (const PatternResult& of : shown_.analysis.patterns)
      if (is_shown.contains(of.about.name))
        children[is_shown.contains(of.about.parent) ? of.about.parent : ""].push_back(&of);
    for (auto& [parent, of] : children)
      std::ranges::stable_sort(of, std::greater<>{}, [](const PatternResult* p) { return p->all.ns; });
    const std::function<void(const std::string&, std::size_t)> below = [&](const std::string& parent,
                                                                           std::size_t depth) {
      for (const PatternResult* of : children[parent]) {
        take(row_of(*of, depth));
        below(of->about.name, depth + 1);
      }
    };
    below("", 0);
  }

  Row row_of(const PatternResult& of, std::size_t depth) const {
    std::string mostly;
    if (!of.names.empty()) mostly = fmt::format("{}: ", fmt::join(of.names, ", "));
    if (!of.by_node.empty()) mostly += readable_path(of.by_node[0].node);
    if (of.by_location.size() > 1 && of.about.name != "time")
      mostly += fmt::format("{}{}", mostly.empty() ? "" : ", ", shown_.place(of.by_location[0].location));
    return {{seconds_of_ns(of.all.ns), of.all.error_ns > 0 ? Cell(seconds_of_ns(of.all.error_ns)) : Cell(),
             shown_.share(of.all.ns), std::string(2 * depth, ' ') + of.about.name, mostly}};
  }

  const PatternsShown& shown_;
};

}  // namespace

std::string place_of(const trace::LocationOfTrace& of) {
  if (of.rank < 0) return of.name;
  return of.thread == 0 ? fmt::format("rank {}", of.rank) : fmt::format("rank {}, thread {}", of.rank, of.thread);
}

void print_analysis(const patterns::Analysis& analysis, std::span<const trace::LocationOfTrace> locations,
                    const patterns::Naming& naming, const PatternOptions& options, const Terminal& terminal,
                    const Sink& out) {
  const PatternsShown shown{analysis, locations, naming, options};
  if (options.format == Format::Text) return out(PatternsPage(terminal, shown).render());
  if (options.format == Format::Json) {
    std::vector<Table> tables{summary_table(shown), patterns_table(shown)};
    if (analysis.causes) tables.push_back(causes_summary_table(shown)), tables.push_back(causes_table(shown));
    if (analysis.critical_path)
      tables.push_back(critical_path_summary_table(shown)), tables.push_back(critical_path_table(shown));
    return write_json(tables, out);
  }
  if (analysis.causes) return options.table_format->write(causes_table(shown), out);
  if (analysis.critical_path) return options.table_format->write(critical_path_table(shown), out);
  options.table_format->write(patterns_table(shown), out);
}

}  // namespace refrain::report
