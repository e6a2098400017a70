/// `refrain scaling`: how the time of regions changes with the number of processes over a version's runs in a database;
/// or the efficiencies of experiment directories (pop_scaling.hpp).

#include "offline/database/scaling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include "offline/experiment/experiment.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/pop_scaling.hpp"
#include "tools/property_commands.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

constexpr const char* scaling_name = "scaling";

struct ScalingRequest {
  std::string database = usual_database, program, version, format = "text";
  std::vector<std::string> words;    ///< experiment directories, or names of regions in the database
  std::vector<std::string> regions;  ///< in addition to the run; for experiment directories
  bool is_weak = false;
  bool efficiencies = false;  ///< show efficiencies of runs in the database
  double min_share_percent = 1;
};

std::vector<report::Column> columns_of_sizes() {
  auto spread = report::columns("deviation_s: deviation");
  spread[0].is_optional = true;
  return report::columns("processes, runs, seconds") + spread + report::columns("speedup, efficiency") +
         report::columns("efficiency_error", report::ForPrograms) + report::columns("lost_s: lost");
}

report::Row row_of(const database::ScalingRow& of) {
  using report::Cell;
  return {{of.processes, of.runs, of.seconds, of.runs > 1 ? Cell(of.deviation_s) : Cell(), of.speedup, of.efficiency,
           of.efficiency_error > 0 ? Cell(of.efficiency_error) : Cell(), of.lost_s}};
}

/// A row for each region and number of processes.
report::Table flat_table(const database::Scaling& scaling) {
  return {.name = "regions",
          .columns = report::columns("region") + columns_of_sizes(),
          .rows =
              [&scaling](const report::TakeRow& take) {
                for (const auto& region : scaling.regions)
                  for (const auto& of : region.rows) {
                    report::Row row = row_of(of);
                    row.cells.insert(row.cells.begin(), region.name);
                    take(row);
                  }
              },
          .before = {{fmt::format("{}, version {}: time of a process, against {} process{}", scaling.program,
                                  scaling.version, scaling.fewest, scaling.fewest == 1 ? "" : "es")},
                     {}}};
}

std::vector<report::Table> document_of(const database::Scaling& scaling) {
  report::Table regions{"regions", report::columns("region"),
                        report::rows_of(scaling.regions, [](const database::ScalingRegion& of) -> report::Row {
                          return {{of.name}, {{"by_processes", columns_of_sizes(), report::rows_of(of.rows, row_of)}}};
                        })};
  regions.line_depth = 3;
  return {object_of("", report::columns("program, version, fewest_processes"),
                    {{scaling.program, scaling.version, scaling.fewest}}),
          std::move(regions)};
}

/// Handles experiment directories. Nothing: no word is an experiment directory, so the database is meant.
std::optional<int> run_directories(const ScalingRequest& request) {
  const auto first = std::ranges::find_if(request.words, is_experiment);
  if (first == request.words.end()) {
    if (!request.efficiencies && request.is_weak)
      return complain(scaling_name, exit_usage, "--weak requires experiment directories or --efficiency");
    if (request.regions.empty()) return std::nullopt;
    return complain(scaling_name, exit_usage, "--region requires experiment directories");
  }
  const auto other = std::ranges::find_if_not(request.words, is_experiment);
  if (other != request.words.end())
    return complain(scaling_name, exit_usage,
                    fmt::format("{} is no experiment directory, and {} is: regions of directories go with --region",
                                *other, *first));
  return print_pop_scaling(scaling_name,
                           {request.words, request.regions, request.is_weak, report::format_of(request.format)});
}

int print_efficiencies(database::Connection& connection, const database::StoredRun& run, const ScalingRequest& request,
                       report::Format format) {
  if (!request.words.empty())
    return complain(scaling_name, exit_usage, "--efficiency is of whole runs: it takes no regions");
  const auto runs = database::sized_runs(connection, run);
  if (runs.empty())
    return complain(scaling_name, exit_usage,
                    connection.name() + ": no useful time was measured in the runs of this version");
  print_pop_table({run.program, request.is_weak, {{"", scaling_points(runs, request.is_weak)}}}, format);
  return exit_ok;
}

int run(const ScalingRequest& request) {
  if (const auto code = run_directories(request)) return *code;
  const auto connection = database::Connection::open(request.database, false);
  const properties::Program program = properties::compile({properties::builtin_model()});
  database::Store store(*connection, *program.model);
  store.check();
  const report::Format format = report::format_of(request.format);
  const database::StoredRun last = store.last_run({request.program, request.version, {}});
  if (request.efficiencies) return print_efficiencies(*connection, last, request, format);
  const database::Scaling scaling =
      database::scaling_of(*connection, last, request.words, request.min_share_percent / 100);
  print_tables(format == report::Format::Json ? document_of(scaling) : std::vector{flat_table(scaling)}, format,
               report::detect_terminal(stdout), write_to_stdout);
  return exit_ok;
}

}  // namespace

void add_scaling(Command root, Invocation& invocation) {
  auto request = std::make_shared<ScalingRequest>();
  Command command = root.add("scaling", "Efficiencies, time, speedup and cost over numbers of processes");
  command
      .option("run", request->words,
              "Experiment directories, for their efficiencies; or regions of the runs in the database, instead of all "
              "that have time enough")
      .type("EXPERIMENT");
  command
      .option("--region", request->regions,
              "Of experiment directories: also this marked region or function; may be repeated")
      .type("NAME")
      .repeated();
  command.flag("--efficiency", request->efficiencies,
               "Of runs in the database: their efficiencies instead of times of regions");
  command.flag("--weak", request->is_weak, "Of efficiencies: the problem grows with the processes");
  add_database_option(command, request->database);
  command.option("--program", request->program, "Only runs of this program").type("NAME");
  command.option("--version", request->version, "This version (default: that of the last run that was added)")
      .type("NAME");
  command.option("--min-share", request->min_share_percent, "Percent of a run below which a region is left out")
      .type("PERCENT")
      .shows_default();
  command.option("--format", request->format, "How to print").one_of(report::format_names()).shows_default();
  command.when_chosen(
      [request, &invocation] { invocation.exit_code = guarded(scaling_name, [&] { return run(*request); }); });
}

}  // namespace refrain::tools
