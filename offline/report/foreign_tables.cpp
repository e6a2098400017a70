// What tables and pages say about a run of another tool.
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "offline/report/columns.hpp"
#include "offline/report/foreign_run.hpp"

namespace refrain::report {
namespace {

/// Columns that follow from the times of call paths. Other columns are known if the tool has counted them.
constexpr std::string_view known_of_all[] = {"id",
                                             "parent",
                                             "path",
                                             "kind",
                                             "name",
                                             "function",
                                             "rank",
                                             "on_rank",
                                             "thread",
                                             "exclusive_s",
                                             "inclusive_s",
                                             "inclusive_min_s",
                                             "inclusive_mean_s",
                                             "inclusive_max_s",
                                             "wall_s",
                                             "mpi_s",
                                             "user_s",
                                             "exclusive_share",
                                             "inclusive_share",
                                             "share",
                                             "time_s",
                                             "callers",
                                             "of_function"};

bool is_known(const Column& column, const ForeignRun& run) {
  if (!column.group.empty() && column.group[0] == "metrics") return true;  // metrics that the run has
  if (std::ranges::find(known_of_all, column.name) != std::end(known_of_all)) return true;
  const bool is_calls = column.name == "mpi_calls";
  return std::ranges::any_of(run.counted, [&](format::MetricId metric) {
    return column.name == format::row_of(metric).name || (is_calls && metric == format::MetricId::Visits);
  });
}

constexpr std::pair<std::string_view, const char*> kinds_of_foreign[] = {{"otf2", "OTF2 archive"},
                                                                         {"cubex", "profile of CUBE"},
                                                                         {"caliper", "profile of Caliper"},
                                                                         {"tau", "profile of TAU"}};

std::vector<std::string> unknown_of(const ForeignRun& run) {
  std::vector<std::string> all;
  const auto add = [&](const char* what, std::initializer_list<format::MetricId> metrics) {
    if (std::ranges::none_of(metrics, [&](format::MetricId metric) { return run.has(metric); })) all.emplace_back(what);
  };
  add("calls of MPI", {format::MetricId::Visits});
  add("bytes that it moved", {format::MetricId::BytesSent, format::MetricId::BytesReceived});
  for (const char* what : {"waiting", "time off the CPU", "iterations", "errors", "the cost of measuring"})
    all.emplace_back(what);
  return all;
}

}  // namespace

const char* ForeignRun::kind() const {
  const auto at = std::ranges::find(kinds_of_foreign, source, [](const auto& of) { return of.first; });
  return at == std::end(kinds_of_foreign) ? "profile" : at->second;
}

std::string ForeignRun::title() const { return fmt::format("{}: {}", path, kind()); }

std::string ForeignRun::sentence_of_unknown() const {
  return fmt::format("Not known: {}.", fmt::join(unknown_of(*this), ", "));
}

Table known_part(Table table, const ForeignRun& run) {
  std::vector<bool> known;
  for (Column& column : table.columns) {
    known.push_back(is_known(column, run));
    if (!known.back()) column.in &= ForPrograms;
  }
  if (table.rows)
    table.rows = [rows = std::move(table.rows), known = std::move(known)](const TakeRow& take) {
      rows([&](const Row& all) {
        Row row = all;
        row.tables.clear();
        for (std::size_t i = 0; i < known.size(); ++i)
          if (!known[i]) row.cells[i] = {};
        take(row);
      });
    };
  return table;
}

Table foreign_table(const ForeignRun& run) {
  std::vector<std::string> notes = run.notes;
  return object_of("experiment", columns("directory, source, ranks, state, unknown, notes"),
                   {{run.path, run.source, static_cast<std::int64_t>(run.ranks.size()),
                     std::string(run.is_complete ? "complete" : "incomplete"), unknown_of(run), std::move(notes)}});
}

}  // namespace refrain::report
