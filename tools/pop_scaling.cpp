#include "tools/pop_scaling.hpp"

#include <fmt/format.h>

#include "format/profile_file.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "offline/report/request.hpp"
#include "tools/console.hpp"
#include "tools/run_efficiency.hpp"

namespace refrain::tools {
namespace {

using analysis::Measured;
using analysis::ScalingPoint;
using report::Cell;

std::optional<Measured> counter(const ScalingPoint& of, Measured ScalingPoint::Counters::*member) {
  return of.counters ? std::optional((*of.counters).*member) : std::nullopt;
}

/// A factor of the table, with its error beside it for programs.
struct PopColumn {
  const char *name, *head;
  std::optional<Measured> (*of)(const ScalingPoint& of);
};
constexpr PopColumn pop_columns[] = {
    {"global", "global %", [](const ScalingPoint& of) { return std::optional(of.global); }},
    {"parallel", "parallel %", [](const ScalingPoint& of) { return std::optional(of.parallel); }},
    {"load_balance", "balance %", [](const ScalingPoint& of) { return std::optional(of.load_balance); }},
    {"communication", "communication %", [](const ScalingPoint& of) { return std::optional(of.communication); }},
    {"serialisation", "serialisation %", [](const ScalingPoint& of) { return of.serialisation; }},
    {"transfer", "transfer %", [](const ScalingPoint& of) { return of.transfer; }},
    {"computation_scaling", "computation %",
     [](const ScalingPoint& of) { return std::optional(of.computation_scaling); }},
    {"instruction_scaling", "instructions %",
     [](const ScalingPoint& of) { return counter(of, &ScalingPoint::Counters::instruction_scaling); }},
    {"ipc_scaling", "IPC %", [](const ScalingPoint& of) { return counter(of, &ScalingPoint::Counters::ipc_scaling); }},
    {"frequency_scaling", "frequency %",
     [](const ScalingPoint& of) { return counter(of, &ScalingPoint::Counters::frequency_scaling); }}};

std::vector<report::Column> columns_of_points() {
  auto all = report::columns("processes, runs, elapsed_s: elapsed");
  all = std::move(all) + report::columns("elapsed_deviation_s", report::ForPrograms) + report::columns("speedup");
  for (const PopColumn& column : pop_columns) {
    all.push_back({.name = column.name, .kind = report::Kind::Share, .head = column.head, .is_optional = true});
    all.push_back(
        {.name = std::string(column.name) + "_error", .kind = report::Kind::Share, .in = report::ForPrograms});
  }
  for (const char* name : {"ipc", "frequency_hz"})
    all.push_back({.name = name, .kind = report::Kind::Number, .in = report::ForPrograms});
  return all;
}

report::Row row_of_point(const ScalingPoint& of) {
  report::Row row{
      {of.processes, of.runs, of.elapsed_s, of.runs > 1 ? Cell(of.elapsed_deviation_s) : Cell(), of.speedup}};
  for (const PopColumn& column : pop_columns) {
    const auto value = column.of(of);
    row.cells.push_back(value ? Cell(value->value) : Cell());
    row.cells.push_back(value && value->error > 0 ? Cell(value->error) : Cell());
  }
  for (const auto member : {&ScalingPoint::Counters::ipc, &ScalingPoint::Counters::frequency_hz}) {
    const auto value = counter(of, member);
    row.cells.push_back(value ? Cell(value->value) : Cell());
  }
  return row;
}

std::string plural_of_processes(std::int64_t count) {
  return fmt::format("{} process{}", count, count == 1 ? "" : "es");
}

std::vector<report::Note> sentences_of(const std::vector<PopPart>& parts) {
  std::vector<report::Note> notes;
  for (const PopPart& part : parts) {
    const auto loss = analysis::largest_loss(part.points);
    if (!loss) continue;
    notes.push_back({fmt::format("{}: from {} to {} processes {} loses most, and {:.0f} % of it is left.",
                                 part.region.empty() ? "The run" : part.region, part.points.front().processes,
                                 part.points.back().processes, loss->factor, 100 * loss->left)});
  }
  notes.push_back(
      {"Global efficiency = parallel efficiency x computation scaling; of parallel efficiency and its factors "
       "see docs/efficiency.md. Above 80 % is acceptable (POP).",
       report::Note::Faint});
  return notes;
}

}  // namespace

bool is_experiment(const std::string& word) { return experiment::has_file(word, format::manifest_name); }

void print_pop_scaling(const char* command, const PopScalingRequest& request) {
  std::string program;
  std::vector<std::string> regions{""};
  regions.insert(regions.end(), request.regions.begin(), request.regions.end());
  std::vector<std::vector<analysis::SizedRun>> runs(regions.size());
  for (const std::string& name : request.runs) {
    const std::vector<RunEfficiency> all = run_efficiencies(command, name, regions);
    for (std::size_t r = 0; r < regions.size(); ++r) {
      const RunEfficiency& of = all[r];
      if (program.empty()) program = of.program;
      if (of.program != program)
        throw report::UsageError(fmt::format("{} is a run of {}, and {} one of {}: runs of one program are compared",
                                             name, of.program, request.runs[0], program));
      if (!of.efficiency) throw report::UsageError(name + ": no useful time was measured");
      runs[r].push_back({of.processes, *of.efficiency, of.useful_s, of.instructions, of.cycles});
    }
  }
  PopTable table{program, request.is_weak, {}};
  for (std::size_t r = 0; r < regions.size(); ++r)
    table.parts.push_back({regions[r], scaling_points(runs[r], request.is_weak)});
  print_pop_table(table, request.format);
}

void print_pop_table(const PopTable& of, report::Format format) {
  const std::vector<PopPart>& parts = of.parts;
  if (format == report::Format::Json) {
    const auto row_of_part = [](const PopPart& part) {
      report::Row row{{part.region.empty() ? "(run)" : part.region}};
      row.tables.push_back({"by_processes", columns_of_points(), report::rows_of(part.points, row_of_point)});
      if (const auto loss = analysis::largest_loss(part.points))
        row.tables.push_back(
            object_of("largest_loss", report::columns("factor, left_share"), {{loss->factor, loss->left}}));
      return row;
    };
    report::Table all{"regions", report::columns("region"), report::rows_of(parts, row_of_part)};
    all.line_depth = 3;
    return print_tables(
        {object_of("", report::columns("program, scaling"), {{of.program, of.is_weak ? "weak" : "strong"}}),
         std::move(all)},
        format, {}, write_to_stdout);
  }
  report::Table table{"efficiencies", report::columns("region") + columns_of_points(),
                      [&](const report::TakeRow& take) {
                        for (const PopPart& part : parts)
                          for (const ScalingPoint& point : part.points) {
                            report::Row row = row_of_point(point);
                            row.cells.insert(row.cells.begin(), part.region.empty() ? "(run)" : part.region);
                            take(row);
                          }
                      }};
  table.before = {{fmt::format("{}: {} scaling, against {}", of.program, of.is_weak ? "weak" : "strong",
                               plural_of_processes(parts[0].points[0].processes))},
                  {}};
  table.after = sentences_of(parts);
  print_tables({std::move(table)}, format, report::detect_terminal(stdout), write_to_stdout);
}

}  // namespace refrain::tools
