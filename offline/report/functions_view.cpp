// Time by function.
#include <algorithm>

#include "offline/analysis/functions.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/report/metric_columns.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

using analysis::PathKind;
using format::MetricId;

/// Text has fewer columns than the tables, in another order, and readable names.
std::vector<Column> columns_of(const Document& d, bool has_errors) {
  std::vector<Column> columns = {{"function", Kind::Text, InTables},
                                 {"kind", Kind::Text, InTables},
                                 {"exclusive_s", Kind::Seconds, InTables},
                                 {"inclusive_s", Kind::Seconds, InTables}};
  const std::size_t first_count = columns.size();
  add_count_columns(columns);
  add_asked_for_columns(columns, d.tree, InTables, {"metrics", "exclusive"});
  for (std::size_t c = first_count; c < columns.size(); ++c) columns[c].in = InTables;
  for (const char* name : {"exclusive_standard_error_s", "inclusive_standard_error_s"})
    columns.push_back({name, Kind::Seconds, InTables});
  columns.push_back({"precision", Kind::Text, InTables});
  columns.insert(columns.end(), {{"exclusive_share", Kind::Share, InText, "excl %"},
                                 {"exclusive_error", Kind::Text, has_errors ? InText : 0U, "+- %"},
                                 {"exclusive_s", Kind::Seconds, InText, "time"},
                                 {"inclusive_share", Kind::Share, InText, "incl %"},
                                 {"inclusive_s", Kind::Seconds, InText, "time"},
                                 {"visits", Kind::Count, InText, "MPI calls"},
                                 {"samples", Kind::Count, InText},
                                 {"bytes_sent", Kind::Bytes, InText, "sent"},
                                 {"bytes_received", Kind::Bytes, InText, "received"},
                                 {"function", Kind::Text, InText}});
  return columns;
}

Row row_of_function(const Document& d, const analysis::FunctionTotals& f, const analysis::ReadableNames& names) {
  Row row{{f.name, name_of(f.kind), f.exclusive_s, f.inclusive_s}};
  add_counts(row, f.exclusive);
  add_asked_for(row, d.tree, f.exclusive);
  for (const double error : {f.exclusive_error_s, f.inclusive_error_s})
    row.cells.push_back(analysis::has_standard_error(f.name) ? Cell(error) : Cell());
  row.cells.emplace_back(precision_of(d, f.kind, f.name));
  const double wall_s = d.tree.totals.wall_s;
  row.cells.insert(row.cells.end(), {f.exclusive_s / wall_s, error_in_percent(f.exclusive_error_s, wall_s),
                                     f.exclusive_s, f.inclusive_s / wall_s, f.inclusive_s,
                                     f.exclusive[MetricId::Visits], f.exclusive[MetricId::Samples],
                                     f.exclusive[MetricId::BytesSent], f.exclusive[MetricId::BytesReceived],
                                     names.of(f.name)});
  row.look = f.kind == PathKind::Mpi ? Look::Mpi : f.kind == PathKind::Other ? Look::Other : Look::Plain;
  if (f.kind != PathKind::Other) row.weight = {f.exclusive_s, 0};
  return row;
}

std::vector<Table> functions_tables(const Document& d) {
  const auto functions = std::make_shared<const std::vector<analysis::FunctionTotals>>(function_totals(d.tree));
  const bool has_errors = std::ranges::any_of(*functions, [](const auto& f) { return f.exclusive_error_s > 0; });
  Table table{"functions", columns_of(d, has_errors), [&d, functions](const TakeRow& take) {
                analysis::ReadableNames names;
                for (const auto& f : *functions) names.add(f.name);
                for (const auto& f : *functions) take(row_of_function(d, f, names));
              }};
  table.row_name = "function";
  table.row_names = "functions";
  return {std::move(table)};
}

}  // namespace

const View functions_view{.option = "--flat",
                          .subject = "",
                          .help = "By function instead of by call path",
                          .knows = {Ask::CallpathDepth, Ask::MinShare, Ask::Iteration, Ask::Cluster, Ask::Loop,
                                    Ask::Thread, Ask::Sort, Ask::Limit, Ask::Columns},
                          .tables = functions_tables,
                          .beside = {"--iterations", "--clusters", "--iteration", "--cluster"}};

}  // namespace refrain::report
