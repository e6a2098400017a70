// Where the time went, by function.
#include <algorithm>

#include "offline/analysis/functions.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/report/metric_columns.hpp"
#include "offline/report/run_page.hpp"
#include "offline/report/table_page.hpp"
#include "offline/report/units.hpp"
#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

using analysis::PathKind;
using format::MetricId;

Table functions_table(const Document& d) {
  std::vector<Column> columns = {
      {"function", Kind::Text}, {"kind", Kind::Text}, {"exclusive_s", Kind::Seconds}, {"inclusive_s", Kind::Seconds}};
  add_count_columns(columns);
  add_asked_for_columns(columns, d.tree, Everywhere, {"metrics", "exclusive"});
  for (const char* name : {"exclusive_standard_error_s", "inclusive_standard_error_s"})
    columns.push_back({name, Kind::Seconds});
  columns.push_back({"precision"});
  return {"functions", std::move(columns), [&d](const TakeRow& take) {
            for (const auto& f : function_totals(d.tree)) {
              Row row{{f.name, name_of(f.kind), f.exclusive_s, f.inclusive_s}};
              add_counts(row, f.exclusive);
              add_asked_for(row, d.tree, f.exclusive);
              for (const double error : {f.exclusive_error_s, f.inclusive_error_s}) {
                row.cells.emplace_back();
                if (analysis::has_standard_error(f.name)) row.cells.back() = error;
              }
              row.cells.emplace_back(precision_of(d, f.kind, f.name));
              take(row);
            }
          }};
}

class FunctionsPage : public RunPage {
 public:
  FunctionsPage(const Document& document, const Terminal& terminal) : RunPage(document, terminal) {}

  static std::vector<Column> columns(const char* plus_minus, bool has_errors) {
    return {{"exclusive_share", Kind::Share, Everywhere, "excl %"},
            {"exclusive_error", Kind::Text, has_errors ? Everywhere : 0u, std::string(plus_minus) + " %"},
            {"exclusive_s", Kind::Seconds, Everywhere, "time"},
            {"inclusive_share", Kind::Share, Everywhere, "incl %"},
            {"inclusive_s", Kind::Seconds, Everywhere, "time"},
            {"visits", Kind::Count, Everywhere, "MPI calls"},
            {"samples", Kind::Count},
            {"bytes_sent", Kind::Bytes, Everywhere, "sent"},
            {"bytes_received", Kind::Bytes, Everywhere, "received"},
            {"kind", Kind::Text, ForPrograms},
            {"function"}};
  }

 private:
  std::pair<const char*, const char*> folded_names() const override { return {"function", "functions"}; }

  void view() override {
    const auto functions = function_totals(d_.tree);
    analysis::ReadableNames names;
    for (const auto& f : functions) names.add(f.name);
    const bool has_errors = std::ranges::any_of(functions, [](const auto& f) { return f.exclusive_error_s > 0; });
    const Table table{"", columns(glyphs_.plus_minus, has_errors), [&](const TakeRow& take) {
                        for (const auto& f : functions) {
                          const bool is_small = f.exclusive_s < least_time() && f.kind != PathKind::Other;
                          if (is_small && !is_arranged(d_.options)) {
                            fold(1, f.exclusive_s);
                            continue;
                          }
                          take({{f.exclusive_s / wall(), error_in_percent(f.exclusive_error_s, wall()), f.exclusive_s,
                                 f.inclusive_s / wall(), f.inclusive_s, f.exclusive[MetricId::Visits],
                                 f.exclusive[MetricId::Samples], f.exclusive[MetricId::BytesSent],
                                 f.exclusive[MetricId::BytesReceived], name_of(f.kind), names.of(f.name)}});
                        }
                      }};
    if (is_arranged(d_.options)) return print(arranged(table, d_.options));
    print(table, [&](const Row& row) {
      const std::string& kind = std::get<std::string>(row.cells[row.cells.size() - 2]);
      return kind == name_of(PathKind::Mpi) ? style_.mpi : kind == name_of(PathKind::Other) ? style_.faint : "";
    });
  }
};

/// What is printed has fewer columns than the table for programs: who asks for another one gets that table.
bool is_known_on_page(const Options& options) {
  const auto columns = FunctionsPage::columns("+-", true);
  const auto is_known = [&](const std::string& name) {
    return std::ranges::any_of(columns, [&](const Column& of) { return of.name == name || of.head == name; });
  };
  return (options.sort.empty() || is_known(options.sort.substr(options.sort[0] == '-'))) &&
         std::ranges::all_of(options.columns, is_known);
}

std::string functions_page(const Document& document, const Terminal& terminal) {
  if (!is_known_on_page(document.options))
    return table_page(document, terminal, functions_table(document), "No time was measured.");
  return FunctionsPage(document, terminal).render();
}

}  // namespace

const View functions_view{"--flat",
                          [](const Options& options) { return options.flat; },
                          {"--callpath-depth", "--min-share", "--iteration", "--cluster", "--loop", "--thread",
                           "--sort", "--limit", "--columns"},
                          [](const Document& d) { return std::vector{functions_table(d)}; },
                          functions_table,
                          functions_page};

}  // namespace refrain::report
