/// `refrain events EXPERIMENT`: prints the events of an experiment or of an OTF2 archive, one after the other.

#include "offline/report/events.hpp"

#include <memory>

#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/subcommands.hpp"
#include "tools/trace_command.hpp"
#include "tools/which_experiment.hpp"

namespace refrain::tools {
namespace {

struct EventsRequest {
  std::string experiment, format = "text";
  std::vector<std::string> ranks;
  report::EventOptions options;
  bool matched = false;
};

int run(EventsRequest& request) {
  if (!find_experiment("events", request.experiment)) return exit_usage;
  request.options.format = report::format_of(request.format);
  return with_trace_or_archive("events", request.experiment, request.ranks, [&](const trace::Trace& trace) {
    if (request.matched) print_matched_messages(trace, request.options, write_to_stdout);
    else print_events(trace, request.options, write_to_stdout);
    flush_stdout();
  });
}

}  // namespace

void add_events(Command root, Invocation& invocation) {
  auto request = std::make_shared<EventsRequest>();
  Command command = root.add("events", "Show the events of an experiment or an OTF2 archive, one after the other");
  add_experiment(command, request->experiment, "Experiment directory, or an OTF2 archive's .otf2");
  command.option("--format", request->format, "How to print").one_of(report::format_names()).shows_default();
  command.option("--rank", request->ranks, "Only these ranks, as in 0,4-7; may be repeated")
      .type("LIST")
      .separated_by(',');
  command.option("--iteration", request->options.iteration, "Only events of this iteration, counted from 0")
      .type("N")
      .grouped();
  command.option("--from", request->options.from_s, "Only events from this time on")
      .type("SECONDS")
      .check(wrong_as_amount);
  command.option("--to", request->options.to_s, "Only events up to this time").type("SECONDS").check(wrong_as_amount);
  command.flag("--matched", request->matched,
               "Messages that were sampled one by one, with both ends: where iterations found no room");
  command.footer(
      "Times are seconds since the begin of the measurement, in the order of time over all ranks and threads. Peers "
      "are "
      "ranks in MPI_COMM_WORLD; of one-sided operations those in the window.\n"
      "An OTF2 archive of another tool is named by its anchor file, or the directory that has it.\n"
      "Exit status: 0 done, 1 wrong usage or not written, 2 it cannot be read, 4 done, but a part of it is "
      "damaged; what is missing is named.");
  command.when_chosen([request, &invocation] { invocation.exit_code = run(*request); });
}

}  // namespace refrain::tools
