#include "offline/report/several.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <utility>

#include "offline/analysis/several_runs.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/report/arrangement.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

using analysis::OverRuns;
using analysis::PathOverRuns;

/// A time of the whole run per rank, over all runs.
struct TotalOverRuns {
  const char *metric, *words;
  OverRuns of;
};

std::vector<TotalOverRuns> totals_over_runs(const std::vector<ComparedRun>& runs) {
  std::vector<TotalOverRuns> totals;
  const auto add = [&](const char* metric, const char* words, const auto& value_of) {
    std::vector<double> values;
    for (const ComparedRun& run : runs) values.push_back(value_of(run));
    totals.push_back({metric, words, analysis::over_runs(values)});
  };
  add("elapsed", "elapsed", [](const ComparedRun& run) { return run.elapsed_s; });
  add("wall", "all threads", [](const ComparedRun& run) { return run.tree.totals.wall_s / run.ranks; });
  add("mpi", "MPI", [](const ComparedRun& run) { return run.tree.totals.mpi_s / run.ranks; });
  add("user", "user code", [](const ComparedRun& run) { return run.tree.totals.user_s / run.ranks; });
  return totals;
}

std::vector<PathOverRuns> sorted_paths(const std::vector<ComparedRun>& runs) {
  std::vector<analysis::RunOfSeveral> trees;
  for (const ComparedRun& run : runs) trees.push_back({&run.tree, run.ranks, run.lacks.empty(), run.has_calls});
  std::vector<PathOverRuns> paths = paths_over_runs(trees);
  std::ranges::stable_sort(paths, std::greater<>{}, [](const PathOverRuns& of) { return of.exclusive_s.mean; });
  return paths;
}

Cell if_some(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

void add_over_runs(Row& row, const OverRuns& of, double whole) {
  row.cells.insert(row.cells.end(), {of.mean, if_some(of.deviation), if_some(of.standard_error), of.least, of.greatest,
                                     whole > 0 ? Cell(of.mean / whole) : Cell()});
}

/// Columns of an OverRuns for programs, whose names begin with `prefix`.
std::vector<Column> columns_over_runs(const std::string& prefix) {
  std::string names;
  for (const char* name : {"mean_s", "deviation_s", "standard_error_s", "least_s", "greatest_s", "share"})
    names += (names.empty() ? "" : ", ") + prefix + name;
  return columns(names, ForPrograms);
}

/// Columns of an OverRuns for people.
std::vector<Column> columns_for_people() {
  return columns(
      "mean_s: mean, standard_error_s: +-, deviation_s: deviation, least_s: least, greatest_s: greatest, "
      "share: %",
      ForPeople);
}

void add_for_people(Row& row, const OverRuns& of, double whole) {
  row.cells.insert(row.cells.end(), {of.mean, if_some(of.standard_error), if_some(of.deviation), of.least, of.greatest,
                                     whole > 0 ? Cell(of.mean / whole) : Cell()});
}

Table runs_table(const std::vector<ComparedRun>& runs) {
  return {"runs", columns("directory, command, source, ranks, ranks_expected, elapsed_s, saw_whole, why"),
          rows_of(runs, [](const ComparedRun& of) -> Row {
            return {{of.name, of.about, of.source, static_cast<std::int64_t>(of.ranks),
                     static_cast<std::int64_t>(of.ranks_expected), of.elapsed_s, of.lacks.empty(),
                     of.lacks.empty() ? Cell() : Cell(of.lacks)}};
          })};
}

Table totals_over_runs_table(const std::vector<TotalOverRuns>& totals, double whole) {
  return {"totals",
          columns("metric, runs", ForPrograms) + columns_over_runs("") + columns_for_people() +
              columns("value: per rank", ForPeople),
          rows_of(totals, [whole](const TotalOverRuns& of) {
            Row row{{std::string(of.metric), static_cast<std::int64_t>(of.of.runs)}};
            add_over_runs(row, of.of, whole);
            add_for_people(row, of.of, whole);
            row.cells.emplace_back(std::string(of.words));
            return row;
          })};
}

Table paths_table(const std::vector<PathOverRuns>& paths, double whole, std::size_t all_runs) {
  std::vector<Column> all = columns("path, kind, runs", ForPrograms) + columns_over_runs("exclusive_") +
                            columns_over_runs("inclusive_") + columns("mpi_calls_mean", ForPrograms) +
                            columns_for_people() + columns("runs", ForPeople) +
                            columns("callers: call path (own time per rank)", ForPeople);
  for (Column& column : all) {
    if (column.name == "mpi_calls_mean") column.kind = Kind::Number;
    if (column.name == "callers") column.kind = Kind::Path;
    if (column.name == "runs" && column.in == ForPeople) column.is_optional = true;
  }
  Table table{"callpaths", std::move(all), [&paths, whole, all_runs](const TakeRow& take) {
                analysis::ReadableNames readable;
                for (const PathOverRuns& of : paths) readable.add(of.names.back());
                for (const PathOverRuns& of : paths) {
                  const auto runs = static_cast<std::int64_t>(of.exclusive_s.runs);
                  Row row{{of.names, std::string(name_of(of.kind)), runs}};
                  add_over_runs(row, of.exclusive_s, whole);
                  add_over_runs(row, of.inclusive_s, whole);
                  row.cells.push_back(of.mpi_calls.runs > 0 ? Cell(of.mpi_calls.mean) : Cell());
                  add_for_people(row, of.exclusive_s, whole);
                  row.cells.push_back(of.exclusive_s.runs < all_runs ? Cell(runs) : Cell());
                  std::vector<std::string> names;
                  for (const std::string& name : of.names) names.push_back(readable.of(name));
                  row.cells.emplace_back(joined_path(names));
                  row.look = of.kind == run::PathKind::Mpi     ? Look::Mpi
                             : of.kind == run::PathKind::Other ? Look::Other
                                                               : Look::Plain;
                  row.weight = {of.exclusive_s.mean, of.exclusive_s.greatest};
                  take(row);
                }
              }};
  table.empty = "No time was measured.";
  return table;
}

class SeveralPage : TextPage {
 public:
  explicit SeveralPage(const Terminal& terminal) : TextPage(terminal) {}

  std::string render(const std::vector<ComparedRun>& runs, const std::vector<std::string>& notes, const Table& totals,
                     const Table& paths, double least_s, double min_share) {
    for (const std::string& note : notes) warning(note);
    if (!notes.empty()) line();
    for (const ComparedRun& run : runs)
      wrapped("", fmt::format("{}, {}, {}, {}", run.name, run.about, ranks_of(run), human_time(run.elapsed_s)), 2);
    line();
    print(totals);
    line();
    Small small{least_s};
    print(paths, &small);
    if (small.count > 0)
      wrapped(" ",
              fmt::format("{} below {} % in each run ({} together): --min-share 0",
                          plural(static_cast<std::int64_t>(small.count), "call path", "call paths"), min_share,
                          human_time(small.seconds)),
              1, style_.faint);
    wrapped("",
            fmt::format("Means over {} runs, with the standard error that follows from how much runs differ. A call "
                        "path that a whole run lacks took no time there.",
                        runs.size()),
            0, style_.faint);
    return std::move(out_);
  }
};

}  // namespace

void render_several(const std::vector<ComparedRun>& runs, const Request& request, const Terminal& terminal,
                    const Sink& out) {
  const std::vector<TotalOverRuns> totals = totals_over_runs(runs);
  const double whole = totals[1].of.mean;  // of all threads: call paths are parts of this
  const std::vector<PathOverRuns> paths = sorted_paths(runs);
  std::vector<const ComparedRun*> all;
  for (const ComparedRun& run : runs) all.push_back(&run);
  std::vector<std::string> notes = notes_on(all);
  const Table of_totals = totals_over_runs_table(totals, whole);
  Table of_paths = arranged(paths_table(paths, whole, runs.size()), request);
  constexpr double percent_of_share = 100;
  const double min_share = request.min_share.value_or(usual_min_share);
  if (request.format == Format::Text)
    return out(SeveralPage(terminal).render(runs, notes, of_totals, of_paths, whole * min_share / percent_of_share,
                                            min_share));
  if (request.format != Format::Json) return print_tables({std::move(of_paths)}, request.format, terminal, out);
  print_tables(
      {runs_table(runs), of_totals, std::move(of_paths), object_of("", columns("notes"), {{std::move(notes)}})},
      request.format, terminal, out);
}

}  // namespace refrain::report
