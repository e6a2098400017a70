#include "tools/pop_scaling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "format/profile_file.hpp"
#include "offline/analysis/human_units.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "offline/report/request.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/run_efficiency.hpp"
#include "tools/which_experiment.hpp"

namespace refrain::tools {
namespace {

using analysis::Measured;
using analysis::ScalingPoint;
using report::Cell;

std::optional<Measured> counter(const ScalingPoint& of, Measured ScalingPoint::Counters::*member) {
  return of.counters ? std::optional((*of.counters).*member) : std::nullopt;
}

/// A factor of the table, shown with its error.
struct PopColumn {
  const char *name, *words;
  int depth;  ///< in the tree of factors
  std::optional<Measured> (*of)(const ScalingPoint& of);
};
constexpr PopColumn pop_columns[] = {
    {"global", "global efficiency", 0, [](const ScalingPoint& of) { return std::optional(of.global); }},
    {"parallel", "parallel efficiency", 1, [](const ScalingPoint& of) { return std::optional(of.parallel); }},
    {"load_balance", "load balance", 2, [](const ScalingPoint& of) { return std::optional(of.load_balance); }},
    {"communication", "communication", 2, [](const ScalingPoint& of) { return std::optional(of.communication); }},
    {"serialisation", "serialisation", 3, [](const ScalingPoint& of) { return of.serialisation; }},
    {"transfer", "transfer", 3, [](const ScalingPoint& of) { return of.transfer; }},
    {"computation_scaling", "computation scaling", 1,
     [](const ScalingPoint& of) { return std::optional(of.computation_scaling); }},
    {"instruction_scaling", "instruction scaling", 2,
     [](const ScalingPoint& of) { return counter(of, &ScalingPoint::Counters::instruction_scaling); }},
    {"ipc_scaling", "IPC scaling", 2,
     [](const ScalingPoint& of) { return counter(of, &ScalingPoint::Counters::ipc_scaling); }},
    {"frequency_scaling", "frequency scaling", 2,
     [](const ScalingPoint& of) { return counter(of, &ScalingPoint::Counters::frequency_scaling); }}};

std::vector<report::Column> columns_of_points() {
  auto all = report::columns("processes, runs, elapsed_s, elapsed_deviation_s, speedup");
  for (const PopColumn& column : pop_columns) {
    all.push_back({.name = column.name, .kind = report::Kind::Share});
    all.push_back({.name = std::string(column.name) + "_error", .kind = report::Kind::Share});
  }
  for (const char* name : {"ipc", "frequency_hz"}) all.push_back({.name = name, .kind = report::Kind::Number});
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

std::string name_of(const PopPart& part) { return part.region.empty() ? "(run)" : part.region; }

std::string percent_of(const std::optional<Measured>& value) {
  if (!value) return "n/a";
  const std::string text = fmt::format("{:.1f}", 100 * value->value);
  return value->error > 0 ? fmt::format("{} +- {:.1f}", text, 100 * value->error) : text;
}

/// A row for each factor that is known for any size; the columns are the sizes, which are the same for all parts.
std::vector<report::Row> rows_for_people(const PopPart& part) {
  std::vector<report::Row> rows;
  const auto add = [&](std::string words, const auto& text_of) {
    report::Row& row = rows.emplace_back(report::Row{{std::move(words)}});
    for (const ScalingPoint& point : part.points) row.cells.emplace_back(text_of(point));
  };
  const auto any = [&](const auto& is_so) { return std::ranges::any_of(part.points, is_so); };
  add("runs", [](const ScalingPoint& of) { return fmt::format("{}", of.runs); });
  add("elapsed", [](const ScalingPoint& of) { return analysis::human_time(of.elapsed_s); });
  if (any([](const ScalingPoint& of) { return of.runs > 1; }))
    add("deviation of runs", [](const ScalingPoint& of) {
      return of.runs > 1 ? analysis::human_time(of.elapsed_deviation_s) : std::string();
    });
  add("speedup", [](const ScalingPoint& of) { return fmt::format("{:.2f}", of.speedup); });
  for (const PopColumn& column : pop_columns)
    if (any([&](const ScalingPoint& of) { return column.of(of).has_value(); }))
      add(std::string(static_cast<std::size_t>(2 * column.depth), ' ') + column.words + " %",
          [&](const ScalingPoint& of) { return percent_of(column.of(of)); });
  return rows;
}

std::vector<report::Column> columns_of_sizes(const PopPart& part) {
  std::vector<report::Column> all{{.name = "processes", .kind = report::Kind::Words}};
  for (const ScalingPoint& point : part.points)
    all.push_back({.name = fmt::format("{}", point.processes), .align = report::Align::Right});
  return all;
}

/// The POP table: factors in rows, sizes in columns.
std::vector<report::Table> tables_as_text(const std::vector<PopPart>& parts) {
  std::vector<report::Table> tables;
  for (const PopPart& part : parts) {
    tables.push_back(
        {"efficiencies", columns_of_sizes(part), [rows = rows_for_people(part)](const report::TakeRow& take) {
           for (const report::Row& row : rows) take(row);
         }});
    tables.back().before = {{name_of(part), report::Note::Strong}};
    tables.back().after = {{}};
  }
  return tables;
}

/// The POP tables of all parts as one table.
report::Table table_as_markdown(const std::vector<PopPart>& parts) {
  std::vector<report::Row> rows;
  for (const PopPart& part : parts)
    for (report::Row& row : rows_for_people(part)) {
      row.cells.insert(row.cells.begin(), name_of(part));
      rows.push_back(std::move(row));
    }
  return {"efficiencies", report::columns("region") + columns_of_sizes(parts[0]),
          [rows = std::move(rows)](const report::TakeRow& take) {
            for (const report::Row& row : rows) take(row);
          }};
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
  for (const PopPart& part : parts)
    if (part.is_sampled)
      notes.push_back({part.region + ": useful time comes from samples: it is time on a CPU, and has errors."});
  notes.push_back(
      {"Global efficiency = parallel efficiency x computation scaling; of parallel efficiency and its factors "
       "see docs/efficiency.md. Above 80 % is acceptable (POP).",
       report::Note::Faint});
  return notes;
}

}  // namespace

bool is_experiment(const std::string& word) { return experiment::has_file(word, format::manifest_name); }

int print_pop_scaling(const char* command, const PopScalingRequest& request) {
  check_named_once(request.runs);
  std::string program;
  std::vector<std::string> regions{""};
  regions.insert(regions.end(), request.regions.begin(), request.regions.end());
  std::vector<std::vector<analysis::SizedRun>> runs(regions.size());
  std::vector<bool> is_sampled(regions.size());
  bool is_damaged = false;
  for (const std::string& name : request.runs) {
    const std::vector<RunEfficiency> all = run_efficiencies(command, name, regions);
    for (std::size_t r = 0; r < regions.size(); ++r) {
      const RunEfficiency& of = all[r];
      if (program.empty()) program = of.program;
      if (of.is_sampled) is_sampled[r] = true;
      if (of.is_damaged) is_damaged = true;
      if (of.program != program)
        throw report::UsageError(fmt::format("{} is a run of {}, and {} one of {}: runs of one program are compared",
                                             name, of.program, request.runs[0], program));
      if (!of.efficiency) throw report::UsageError(name + ": no useful time was measured");
      const auto of_all = [&](std::optional<double> sum) { return sum ? *sum * of.all_over_read : sum; };
      runs[r].push_back(
          {of.processes, *of.efficiency, of.useful_s * of.all_over_read, of_all(of.instructions), of_all(of.cycles)});
    }
  }
  PopTable table{program, request.is_weak, {}};
  for (std::size_t r = 0; r < regions.size(); ++r)
    table.parts.push_back({regions[r], scaling_points(runs[r], request.is_weak), is_sampled[r]});
  print_pop_table(table, request.format);
  return is_damaged ? exit_damaged : exit_ok;
}

void print_pop_table(const PopTable& of, report::Format format) {
  const std::vector<PopPart>& parts = of.parts;
  if (format == report::Format::Json) {
    const auto row_of_part = [](const PopPart& part) {
      report::Row row{{name_of(part)}};
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
  if (format == report::Format::Csv) {
    const auto rows = [&](const report::TakeRow& take) {
      for (const PopPart& part : parts)
        for (const ScalingPoint& point : part.points) {
          report::Row row = row_of_point(point);
          row.cells.insert(row.cells.begin(), name_of(part));
          take(row);
        }
    };
    return print_tables({{"efficiencies", report::columns("region") + columns_of_points(), rows}}, format, {},
                        write_to_stdout);
  }
  if (format == report::Format::Markdown) return print_tables({table_as_markdown(parts)}, format, {}, write_to_stdout);
  std::vector<report::Table> tables = tables_as_text(parts);
  std::vector<report::Note>& before = tables.front().before;
  before.insert(before.begin(), {{fmt::format("{}: {} scaling, against {}", of.program, of.is_weak ? "weak" : "strong",
                                              plural_of_processes(parts[0].points[0].processes))},
                                 {}});
  tables.back().after = sentences_of(parts);
  tables.back().after.insert(tables.back().after.begin(), report::Note{});
  print_tables(std::move(tables), format, report::detect_terminal(stdout), write_to_stdout);
}

}  // namespace refrain::tools
