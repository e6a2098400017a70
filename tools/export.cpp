/// `refrain export EXPERIMENT --format otf2`: the events of an experiment for other tools.

#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "offline/export/otf2.hpp"
#include "tools/complaints.hpp"
#include "tools/exit_codes.hpp"
#include "tools/subcommands.hpp"
#include "tools/trace_command.hpp"

namespace refrain::tools {
namespace {

struct Request {
  std::string experiment, format = "otf2", output, regions = "mpi";
  std::vector<std::string> ranks;
};

/// In the working directory, with the experiment's name.
std::filesystem::path usual_directory(const std::string& experiment) {
  std::filesystem::path path = std::filesystem::absolute(experiment).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string() + "-otf2";
}

int run(const Request& request) {
  return with_trace("export", request.experiment, request.ranks, [&](const trace::Trace& trace) {
    const std::filesystem::path directory =
        request.output.empty() ? usual_directory(request.experiment) : std::filesystem::path(request.output);
    analysis::Symbolizer symbolizer;
    const exports::Otf2Summary done =
        exports::write_otf2(trace, symbolizer, {directory, request.regions == "callpath"});
    fmt::print("{}: {} events of {} locations\n", (directory / "traces.otf2").string(), done.events,
               trace.locations().size());
    if (done.left_out > 0)
      complain("export", exit_ok,
               fmt::format("{} communications are not in it: OTF2 has no record for them, or their communicator is "
                           "not known",
                           done.left_out));
  });
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
  command.footer(
      "Exit status: 0 done, 1 wrong usage or not written, 2 the experiment cannot be read, 4 done, but a "
      "part of it is damaged; what is missing is named.");
  command.when_chosen([request, &invocation] { invocation.exit_code = run(*request); });
}

}  // namespace refrain::tools
