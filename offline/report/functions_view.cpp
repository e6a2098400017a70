// Time by function.
#include <algorithm>

#include "offline/analysis/functions.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/metric_columns.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

using format::MetricId;
using run::PathKind;

/// Text has fewer columns than the tables, in another order, and readable names.
std::vector<Column> function_columns(const Document& d, bool has_errors) {
  std::vector<Column> all = columns("function, kind, exclusive_s, inclusive_s");
  add_count_columns(all);
  add_asked_for_columns(all, d.tree, Everywhere, {"metrics", "exclusive"});
  all = std::move(all) + columns("exclusive_standard_error_s, inclusive_standard_error_s, precision");
  for (Column& column : all) column.in = InTables;
  all = std::move(all) + columns("exclusive_share: excl %", InText);
  all.push_back({"exclusive_error", Kind::Text, has_errors ? InText : 0U, "+- %"});
  return std::move(all) + columns(
                              "exclusive_s: time, inclusive_share: incl %, inclusive_s: time, visits: MPI calls, "
                              "samples, bytes_sent: sent, bytes_received: received, function",
                              InText);
}

Row row_of_function(const Document& d, const analysis::FunctionTotals& f, const analysis::ReadableNames& names) {
  Row row{{f.name, name_of(f.kind), f.exclusive_s, f.inclusive_s}};
  add_counts(row, f.exclusive);
  add_asked_for(row, d.tree, f.exclusive);
  for (const double error : {f.exclusive_error_s, f.inclusive_error_s})
    row.cells.push_back(run::has_standard_error(f.name) ? Cell(error) : Cell());
  row.cells.emplace_back(precision_of(d, f.kind, f.name));
  const double wall_s = d.tree.totals.wall_s;
  row.cells.insert(
      row.cells.end(),
      {f.exclusive_s / wall_s, error_in_percent(f.exclusive_error_s, wall_s), f.exclusive_s, f.inclusive_s / wall_s,
       f.inclusive_s, f.exclusive[MetricId::Visits], f.exclusive[MetricId::Samples], f.exclusive[MetricId::BytesSent],
       f.exclusive[MetricId::BytesReceived], names.of(f.name)});
  row.look = f.kind == PathKind::Mpi ? Look::Mpi : f.kind == PathKind::Other ? Look::Other : Look::Plain;
  if (f.kind != PathKind::Other) row.weight = {f.exclusive_s, 0};
  return row;
}

}  // namespace

std::vector<Table> functions_tables(const Document& d) {
  const auto functions = std::make_shared<const std::vector<analysis::FunctionTotals>>(function_totals(d.tree));
  const bool has_errors = std::ranges::any_of(*functions, [](const auto& f) { return f.exclusive_error_s > 0; });
  Table table{"functions", function_columns(d, has_errors), [&d, functions](const TakeRow& take) {
                analysis::ReadableNames names;
                for (const auto& f : *functions) names.add(f.name);
                for (const auto& f : *functions) take(row_of_function(d, f, names));
              }};
  table.row_name = "function";
  table.row_names = "functions";
  return {std::move(table)};
}

}  // namespace refrain::report
