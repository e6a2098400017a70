/// `refrain scaling`: how the time of regions changes with the number of processes, over the runs of a version.

#include "offline/database/scaling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>

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

void print_text(const database::Scaling& scaling) {
  show("{}, version {}: time of a process, against {} process{}\n", scaling.program, scaling.version, scaling.fewest,
       scaling.fewest == 1 ? "" : "es");
  std::size_t width = 6;
  for (const auto& region : scaling.regions) width = std::max(width, region.name.size());
  show("\n{:<{}}  {:>9}  {:>5}  {:>12}  {:>8}  {:>12}  {:>12}\n", "region", width, "processes", "runs", "seconds",
       "speedup", "efficiency %", "lost seconds");
  for (const auto& region : scaling.regions)
    for (const auto& row : region.rows)
      show("{:<{}}  {:>9}  {:>5}  {:>12.4f}  {:>8.2f}  {:>12.1f}  {:>12.4f}\n",
           &row == &region.rows.front() ? region.name : "", width, row.processes, row.runs, row.seconds, row.speedup,
           100 * row.efficiency, row.lost_s);
}

void print_json(const database::Scaling& scaling) {
  print_json_object(3, [&](report::JsonWriter& json) {
    json.member("program", scaling.program);
    json.member("version", scaling.version);
    json.member("fewest_processes", scaling.fewest);
    json.member_array("regions", [&] {
      for (const auto& region : scaling.regions)
        json.object([&] {
          json.member("region", region.name);
          json.member_array("by_processes", [&] {
            for (const auto& row : region.rows)
              json.object([&] {
                json.member("processes", row.processes);
                json.member("runs", row.runs);
                json.member("seconds", row.seconds);
                json.member("speedup", row.speedup);
                json.member("efficiency", row.efficiency);
                json.member("lost_s", row.lost_s);
              });
          });
        });
    });
  });
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
    if (request.format == "json") print_json(scaling);
    else print_text(scaling);
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
  command.option("--format", request->format, "How to print").one_of({"text", "json"}).shows_default();
  command.when_chosen([request, &invocation] { invocation.exit_code = run(*request); });
}

}  // namespace refrain::tools
