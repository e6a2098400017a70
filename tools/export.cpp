/// `refrain export EXPERIMENT --format otf2`, also called refrain-export: the events of an experiment for other tools.
/// When a launcher starts several processes they do it together.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "offline/export/otf2.hpp"
#include "offline/export/process_group.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/subcommands.hpp"
#include "tools/together.hpp"
#include "tools/trace_command.hpp"

namespace refrain::tools {
namespace {

struct Request {
  std::string experiment, format = "otf2", output, regions = "mpi";
  std::vector<std::string> ranks;
  int patience = 120;
};

/// Without -o in the working directory, with the experiment's name.
std::filesystem::path directory_of(const Request& request) {
  std::filesystem::path path =
      std::filesystem::absolute(request.output.empty() ? request.experiment : request.output).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (request.output.empty()) return path.filename().string() + "-otf2";
  return request.output.ends_with('/') ? path : std::filesystem::path(request.output);
}

/// `processes`: null for this one alone.
int export_events(const Request& request, exports::ProcessGroup* processes) {
  return with_trace("export", request.experiment, request.ranks, [&](const trace::Trace& trace) {
    const std::filesystem::path directory = directory_of(request);
    symbols::Symbolizer symbolizer;
    symbols::use_names(trace.experiment(), symbolizer);
    const exports::Otf2Summary done =
        exports::write_otf2(trace, symbolizer, {directory, request.regions == "callpath", processes});
    if (processes && !processes->is_first()) return;
    show("{}: {} events of {} locations\n", (directory / "traces.otf2").string(), done.events,
         trace.locations().size());
    if (done.left_out > 0)
      complain(
          "export", exit_ok,
          fmt::format("{} communications are not in it: OTF2 has no record for them, or their communicator or their "
                      "other side is not known",
                      done.left_out));
  });
}

int run(const Request& request) {
  const exports::PlaceInJob place = exports::place_in_job();
  if (place.size == 1) return export_events(request, nullptr);
  // Nobody makes it before all have met: another job is at it, and its meeting place must not be touched.
  try {
    exports::must_not_exist(directory_of(request));
  } catch (const exports::ExportError& error) {
    return place.rank == 0 ? complain("export", exit_usage, error.what()) : exit_ok;
  }
  std::filesystem::path meeting = directory_of(request);
  meeting += ".processes";
  return work_together("export", meeting, place, std::chrono::seconds(request.patience),
                       [&](exports::ProcessGroup& processes) { return export_events(request, &processes); });
}

}  // namespace

void add_export(Command root, Invocation& invocation) {
  auto request = std::make_shared<Request>();
  Command command = root.add("export", "Write the events of an experiment for other tools");
  command.option("experiment", request->experiment, "Experiment directory").type("EXPERIMENT").required();
  command.option("--format", request->format, "What to write").one_of({"otf2"}).shows_default();
  command.option("-o,--output", request->output, "Directory to make (default: EXPERIMENT-otf2 here)").type("DIRECTORY");
  command
      .option("--regions", request->regions,
              "What is entered and left: MPI functions and marks, or also the functions on their call paths")
      .one_of({"mpi", "callpath"})
      .shows_default();
  command.option("--rank", request->ranks, "Only these ranks, as in 0,4-7; may be repeated")
      .type("LIST")
      .separated_by(',');
  command
      .option("--patience", request->patience,
              "When several processes write together: how long one may be silent before it is taken for dead")
      .type("SECONDS")
      .check([](const std::string& value) { return std::atoi(value.c_str()) > 0 ? "" : "must be at least 1"; })
      .shows_default();
  command.footer(
      "mpirun -n N refrain-export EXPERIMENT (or srun) writes the same archive with N processes.\n"
      "Exit status: 0 done, 1 wrong usage or not written, 2 the experiment cannot be read, 4 done, but a "
      "part of it is damaged; what is missing is named.");
  command.when_chosen([request, &invocation] { invocation.exit_code = run(*request); });
}

}  // namespace refrain::tools
