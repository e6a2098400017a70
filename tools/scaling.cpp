/// `refrain scaling`: how the time of regions changes with the number of processes, over the runs of a version.

#include "offline/database/scaling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/property_commands.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

constexpr const char* name = "scaling";

struct Request {
  std::string database = usual_database, program, version, format = "text";
  std::vector<std::string> regions;
  double min_share_percent = 1;
};

constexpr const char* of_processes = "processes, runs, seconds, speedup, efficiency, lost_s: lost";

report::Row row_of(const database::ScalingRow& of) {
  return {{of.processes, of.runs, of.seconds, of.speedup, of.efficiency, of.lost_s}};
}

/// A row for each region and number of processes.
report::Table flat_table(const database::Scaling& scaling) {
  return {.name = "regions",
          .columns = report::columns("region") + report::columns(of_processes),
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
  report::Table regions{
      "regions", report::columns("region"),
      report::rows_of(scaling.regions, [](const database::ScalingRegion& of) -> report::Row {
        return {{of.name}, {{"by_processes", report::columns(of_processes), report::rows_of(of.rows, row_of)}}};
      })};
  regions.line_depth = 3;
  return {object_of("", report::columns("program, version, fewest_processes"),
                    {{scaling.program, scaling.version, scaling.fewest}}),
          std::move(regions)};
}

int run(const Request& request) {
  try {
    const auto connection = database::Connection::open(request.database, false);
    const properties::Program program = properties::compile({properties::builtin_model()});
    database::Store store(*connection, *program.model);
    store.check();
    const auto runs = store.runs({request.program, request.version, {}});
    if (runs.empty())
      return complain(
          name, exit_usage,
          fmt::format("{}: there is no such run; `refrain db list` shows what there is", connection->name()));
    const database::Scaling scaling =
        database::scaling_of(*connection, *std::ranges::max_element(runs, {}, &database::StoredRun::run),
                             request.regions, request.min_share_percent / 100);
    const report::Format format = report::format_of(request.format);
    print_tables(format == report::Format::Json ? document_of(scaling) : std::vector{flat_table(scaling)}, format,
                 report::detect_terminal(stdout), write_to_stdout);
    return exit_ok;
  } catch (const std::exception& error) {
    return complain(name, exit_usage, error.what());
  }
}

}  // namespace

void add_scaling(Command root, Invocation& invocation) {
  auto request = std::make_shared<Request>();
  Command command = root.add("scaling", "Time, speedup, efficiency and cost of regions over numbers of processes");
  command.option("region", request->regions, "Regions; all that have time enough otherwise").type("REGION");
  add_database_option(command, request->database);
  command.option("--program", request->program, "Only runs of this program").type("NAME");
  command.option("--version", request->version, "This version (default: that of the last run that was added)")
      .type("NAME");
  command.option("--min-share", request->min_share_percent, "Percent of a run below which a region is left out")
      .type("PERCENT")
      .shows_default();
  command.option("--format", request->format, "How to print").one_of(report::format_names()).shows_default();
  command.when_chosen([request, &invocation] { invocation.exit_code = run(*request); });
}

}  // namespace refrain::tools
