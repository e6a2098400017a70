// `refrain analyze`: patterns by severity.
#include "offline/report/patterns_view.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <map>

#include "offline/analysis/short_names.hpp"
#include "offline/patterns/headlines.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

using patterns::Analysis;
using patterns::PatternResult;

double seconds_of_ns(double ns) { return ns / 1e9; }

/// The analysis that is shown; all of it outlives the tables.
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
  return {"by_callpath", columns("path, severity_s, standard_error_s"), [&shown, &all](const TakeRow& take) {
            for (std::size_t i = 0; i < shown.rows(all.size()); ++i) {
              const auto& row = all[i];
              take({{shown.path(row.node), seconds_of_ns(row.severity.ns), seconds_of_ns(row.severity.error_ns)}});
            }
          }};
}

Table by_location_table(const PatternsShown& shown, const PatternResult& of) {
  return {"by_location",
          columns("rank, thread") + columns("severity_s, standard_error_s", InJson) +
              columns("location_severity_s, location_standard_error_s", InCsv),
          [&shown, &of](const TakeRow& take) {
            for (std::size_t i = 0; i < shown.rows(of.by_location.size()); ++i) {
              const auto& row = of.by_location[i];
              const trace::LocationOfTrace& location = shown.locations[row.location];
              Row cells{{std::int64_t{location.rank}, std::int64_t{location.thread}}};
              for (int of_format = 0; of_format < 2; ++of_format) {  // for JSON, then for CSV
                cells.cells.emplace_back(seconds_of_ns(row.severity.ns));
                Cell& error = cells.cells.emplace_back();
                if (row.severity.error_ns != patterns::not_known) error = seconds_of_ns(row.severity.error_ns);
              }
              take(cells);
            }
          }};
}

Table worst_table(const PatternsShown& shown, const PatternResult& of) {
  return {"worst", columns("path, severity_s, rank, thread, begin_s, loop, iteration"),
          rows_of(of.worst, [&shown](const PatternResult::Worst& row) -> Row {
            const trace::LocationOfTrace& location = shown.locations[row.location];
            const bool is_outside = row.loop.empty();
            return {{shown.path(row.node), seconds_of_ns(static_cast<double>(row.ns)), std::int64_t{location.rank},
                     std::int64_t{location.thread}, seconds_of_ns(static_cast<double>(row.enter_ns)),
                     is_outside ? Cell() : Cell(row.loop), is_outside ? Cell() : Cell(row.iteration)}};
          })};
}

Table patterns_table(const PatternsShown& shown) {
  return {"patterns", columns("name, parent, severity_s, share, confidence, stands_for, standard_error_s, names"),
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

/// The cells for kind, paths, rank and thread.
Row activity_row(const PatternsShown& shown, const patterns::NamedActivity& of) {
  const auto path = [&](const std::optional<std::uint32_t>& node) { return node ? Cell(shown.path(*node)) : Cell(); };
  const trace::LocationOfTrace& location = shown.locations[of.location];
  return {{of.is_call ? "call" : "computation", of.is_call ? path(of.before) : Cell(),
           of.is_call ? Cell() : path(of.before), of.is_call ? Cell() : path(of.after), std::int64_t{location.rank},
           std::int64_t{location.thread}}};
}

/// Activities: calls, and computations between two calls. `add(row, result)` adds the cells of the columns `more`.
template <class Result, class Add>
Table activities_table(const PatternsShown& shown, const char* name, const std::vector<Column>& more,
                       const std::vector<Result>& all, const Add& add) {
  return {name, columns("kind, call, after, before, rank, thread") + more,
          rows_of(all, [&shown, add](const Result& of) {
            Row row = activity_row(shown, of.activity);
            add(row, of);
            return row;
          })};
}

/// The causes of waiting; in JSON a computation also has its functions.
Table causes_table(const PatternsShown& shown) {
  const std::vector<Column> more = columns("severity_s, share, direct_s, off_cpu_s");
  return activities_table(
      shown, "causes", more, shown.analysis.causes->all, [&shown](Row& row, const patterns::CauseResult& of) {
        const Cell off_cpu = of.off_cpu_ns > 0 ? Cell(seconds_of_ns(of.off_cpu_ns)) : Cell();
        row.cells.insert(row.cells.end(),
                         {seconds_of_ns(of.ns), shown.share_of_waiting(of.ns), seconds_of_ns(of.direct_ns), off_cpu});
        if (shown.options.format == Format::Json && !of.by_node.empty())
          row.tables.push_back(by_callpath_table(shown, of.by_node));
      });
}

/// The longest chain of activities in which none could begin before the one in front of it.
Table critical_path_table(const PatternsShown& shown) {
  const patterns::CriticalResults& path = *shown.analysis.critical_path;
  return activities_table(shown, "critical_path", columns("time_s, share, imbalance_s"), path.all,
                          [&path](Row& row, const patterns::CriticalResult& of) {
                            row.cells.insert(row.cells.end(), {seconds_of_ns(of.ns), path.ns > 0 ? of.ns / path.ns : 0,
                                                               seconds_of_ns(of.imbalance_ns)});
                          });
}

/// The sentences in front of the patterns, about what is not known of them.
std::vector<Note> doubts(const PatternsShown& shown) {
  const Analysis& a = shown.analysis;
  std::vector<Note> notes;
  const auto add = [&](std::string text) { notes.push_back({std::move(text)}); };
  const auto is_worth_a_word = [&](double ns) { return ns > 0.001 * a.total_ns; };
  std::uint64_t alone = 0;
  for (const std::uint64_t of : a.counts.messages.left_out) alone += of;
  if (alone > 0)
    add(fmt::format("{} of {} sends and receives have no known partner, and are not looked at.", alone,
                    a.counts.messages.sends + a.counts.messages.receives));
  if (a.counts.collectives_left_out > 0)
    add(fmt::format("{} collective operations are not looked at, as not all parts of them are there.",
                    a.counts.collectives_left_out));
  if (a.counts.violations > 0)
    add(fmt::format("{} messages were received before they were sent, by the clocks.", a.counts.violations));
  if (is_worth_a_word(a.not_covered_ns))
    add(fmt::format("{} in MPI: nothing that was kept stands for it.", human_time(seconds_of_ns(a.not_covered_ns))));
  if (is_worth_a_word(a.unknown_ns))
    add(fmt::format("{} in calls with messages: nothing that was kept says how much of it they have waited.",
                    human_time(seconds_of_ns(a.unknown_ns))));
  double untold_ns = 0;
  for (const auto& of : a.untold) untold_ns += of.severity.ns;
  if (!a.is_sampled && is_worth_a_word(untold_ns))
    add(fmt::format("{} in calls that may have waited: the events do not tell for how long.",
                    human_time(seconds_of_ns(untold_ns))));
  if (a.merged_strata > 0)
    add(fmt::format("{} held few kept iterations, and were put to others.",
                    plural(static_cast<std::int64_t>(a.merged_strata), "stratum", "strata")));
  if (a.counts.gaps > 0)
    add(fmt::format(
        "At {} events are missing{}.", plural(static_cast<std::int64_t>(a.counts.gaps), "place", "places"),
        a.seen_share < 1 && !a.is_sampled
            ? fmt::format("; what is said is of the rest, {} % of the time in MPI", percent(a.seen_share, 1))
            : ""));
  return notes;
}

std::string readable_path(const PatternsShown& shown, std::uint32_t node) {
  std::vector<std::string> path = shown.path(node);
  for (std::string& frame : path) frame = analysis::short_name(frame);
  return joined_path(path);
}

/// The patterns that cost anything, each below its parent.
Table pattern_tree_table(const PatternsShown& shown) {
  const auto row_of = [&shown](const PatternResult& of, std::size_t depth) -> Row {
    std::string mostly;
    if (!of.names.empty()) mostly = fmt::format("{}: ", fmt::join(of.names, ", "));
    if (!of.by_node.empty()) mostly += readable_path(shown, of.by_node[0].node);
    if (of.by_location.size() > 1 && of.about.name != "time")
      mostly += fmt::format("{}{}", mostly.empty() ? "" : ", ", shown.place(of.by_location[0].location));
    return {{seconds_of_ns(of.all.ns), of.all.error_ns > 0 ? Cell(seconds_of_ns(of.all.error_ns)) : Cell(),
             shown.share(of.all.ns), std::string(2 * depth, ' ') + of.about.name, mostly}};
  };
  Table table{.name = "patterns",
              .columns = {{"time", Kind::Seconds},
                          {"+-", Kind::Seconds},
                          {"%", Kind::Share},
                          {.name = "pattern", .align = Align::Left},
                          {"mostly", Kind::Path}},
              .rows = [&shown, row_of](const TakeRow& take) {
                std::map<std::string, std::vector<const PatternResult*>> children;
                std::map<std::string, bool> is_shown;
                for (const PatternResult& of : shown.analysis.patterns)
                  if (shown.has(of) && of.all.ns > 0) is_shown[of.about.name] = true;
                for (const PatternResult& of : shown.analysis.patterns)
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
              }};
  const Analysis& a = shown.analysis;
  table.before = doubts(shown);
  table.before.insert(table.before.begin(),
                      {fmt::format("{} of {} {}{}", human_time(seconds_of_ns(a.total_ns)), shown.locations.size(),
                                   shown.locations.size() == 1 ? "location" : "locations",
                                   a.is_sampled ? "; estimated from the iterations that were kept" : "")});
  table.before.push_back({});
  return table;
}

/// The function that takes most of a computation, as far as samples tell.
std::string function_of(const PatternsShown& shown, const patterns::CauseResult& of) {
  const auto names = of.activity.is_call ? std::vector<std::string>() : main_function(of, shown.naming);
  return names.empty() ? "computation" : analysis::short_name(names.back());
}
std::string function_of(const PatternsShown&, const patterns::CriticalResult&) { return "computation"; }

/// That the thread did not run in a call, if that is worth mentioning.
std::string not_on_cpu_of(const patterns::CauseResult& of) {
  constexpr double least = 0.25;
  if (!(of.off_cpu_ns > 0) || of.off_cpu_ns < least * of.ns) return {};
  return fmt::format(", {} % of it not on a CPU", percent(of.off_cpu_ns / of.ns, 1));
}
std::string not_on_cpu_of(const patterns::CriticalResult&) { return {}; }

/// "rank 0: smooth between main > MPI_Recv and main > MPI_Send".
template <class Result>
std::vector<std::string> sentence_of(const PatternsShown& shown, const Result& result) {
  const patterns::NamedActivity& of = result.activity;
  const auto name = [&](const std::optional<std::uint32_t>& node) {
    return node ? readable_path(shown, *node) : std::string("the begin");
  };
  const std::string place = shown.place(of.location) + ": ";
  if (of.is_call) return {place, name(of.before), not_on_cpu_of(result)};
  return {place + function_of(shown, result) + " between ", name(of.before), " and ", name(of.after)};
}

/// The largest results, and the sum of the others. `rest`: time that belongs to none of them, and its name.
template <class Result>
Table largest_table(const PatternsShown& shown, const std::vector<Result>& all, double all_ns, std::string title,
                    std::string head, std::pair<double, std::string> rest = {}) {
  return {.name = "largest",
          .columns = {{"time", Kind::Seconds}, {"%", Kind::Share}, {std::move(head), Kind::Sentence}},
          .rows =
              [&shown, &all, all_ns, rest = std::move(rest)](const TakeRow& take) {
                constexpr std::size_t most = 10;
                constexpr double least_share = 0.005;
                const auto row = [&](double ns, Cell what) {
                  if (ns > 0) take({{seconds_of_ns(ns), all_ns > 0 ? ns / all_ns : 0, std::move(what)}});
                };
                double others_ns = 0;
                std::size_t printed = 0;
                for (const Result& result : all) {
                  if (printed == most || result.ns < least_share * all_ns) {
                    others_ns += result.ns;
                    continue;
                  }
                  ++printed;
                  row(result.ns, sentence_of(shown, result));
                }
                row(others_ns, "others");
                row(rest.first, rest.second);
              },
          .before = {{}, {std::move(title)}, {}}};
}

std::vector<Table> text_tables(const PatternsShown& shown) {
  const Analysis& a = shown.analysis;
  std::vector<Table> tables{pattern_tree_table(shown)};
  if (const auto& causes = a.causes)
    tables.push_back(largest_table(
        shown, causes->all, causes->waiting_ns,
        fmt::format("causes of {} of waiting{}", human_time(seconds_of_ns(causes->waiting_ns)),
                    a.is_sampled       ? " in the iterations that were kept"
                    : a.seen_share < 1 ? " in the events that were kept"
                                       : ""),
        "what has taken longer there than on those that waited", {causes->unexplained_ns, "(nothing that is known)"}));
  if (const auto& path = a.critical_path)
    tables.push_back(largest_table(shown, path->all, path->ns,
                                   fmt::format("critical path of {}", human_time(seconds_of_ns(path->ns))),
                                   "what the end has waited for"));
  return tables;
}

std::vector<Table> document_of(const PatternsShown& shown) {
  const Analysis& a = shown.analysis;
  const auto count = [](std::uint64_t n) { return static_cast<std::int64_t>(n); };
  std::vector<Table> tables{
      object_of(
          "", columns("total_time_s, level, not_covered_s, unknown_s, merged_strata, clock_violations, gaps"),
          {{seconds_of_ns(a.total_ns), count(a.level), seconds_of_ns(a.not_covered_ns), seconds_of_ns(a.unknown_ns),
            count(a.merged_strata), count(a.counts.violations), count(a.counts.gaps)}}),
      patterns_table(shown)};
  if (a.causes) {
    tables.push_back(object_of("", columns("waiting_s, waiting_unexplained_s"),
                               {{seconds_of_ns(a.causes->waiting_ns), seconds_of_ns(a.causes->unexplained_ns)}}));
    tables.push_back(causes_table(shown));
  }
  if (a.critical_path) {
    tables.push_back(object_of("", columns("critical_path_s"), {{seconds_of_ns(a.critical_path->ns)}}));
    tables.push_back(critical_path_table(shown));
  }
  return tables;
}

}  // namespace

std::string place_of(const trace::LocationOfTrace& of) {
  if (of.rank < 0) return of.name;
  return of.thread == 0 ? fmt::format("rank {}", of.rank) : fmt::format("rank {}, thread {}", of.rank, of.thread);
}

void print_analysis(const patterns::Analysis& analysis, std::span<const trace::LocationOfTrace> locations,
                    const patterns::Naming& naming, const PatternOptions& options, const Terminal& terminal,
                    const Sink& out) {
  const PatternsShown shown{analysis, locations, naming, options};
  const auto tables = [&]() -> std::vector<Table> {
    if (options.format == Format::Text) return text_tables(shown);
    if (options.format == Format::Json) return document_of(shown);
    if (analysis.causes) return {causes_table(shown)};
    return {analysis.critical_path ? critical_path_table(shown) : patterns_table(shown)};
  };
  print_tables(tables(), options.format, terminal, out);
}

}  // namespace refrain::report
