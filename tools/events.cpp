/// `refrain events EXPERIMENT`: the events of an experiment, one after the other.

#include "offline/report/events.hpp"

#include <cstdio>
#include <fmt/format.h>
#include <memory>

#include "offline/experiment/experiment.hpp"
#include "tools/exit_codes.hpp"
#include "tools/rank_list.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

struct Request {
  std::string experiment, format = "text";
  std::vector<std::string> ranks;
  report::EventOptions options;
};

int complain(int code, const std::string& what) {
  fmt::print(stderr, "refrain events: {}\n", what);
  return code;
}

void write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    throw std::runtime_error("standard output cannot be written");
}

int run(Request& request) {
  try {
    report::Options common;
    common.set_format(request.format);
    common.ranks = parse_ranks(request.ranks);
    request.options.format = common.format;
    request.options.table_format = common.table_format;
    const auto experiment = experiment::Experiment::open(request.experiment);
    const auto trace = trace::Trace::open(experiment, [&](std::int32_t rank) { return common.chosen(rank); });
    if (!trace)
      return complain(exit_usage,
                      request.experiment + " has no events; REFRAIN_TRACE=all keeps them when it is measured");
    print_events(*trace, request.options, write_out);
    if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
    if (experiment->damages() == 0) return exit_ok;
    for (const std::string& line : experiment->damage()) complain(exit_damaged, line);
    return exit_damaged;
  } catch (const experiment::ReadError& error) {
    return complain(exit_unreadable, error.what());
  } catch (const std::exception& error) {
    return complain(exit_usage, error.what());
  }
}

}  // namespace

void add_events(Command root, Invocation& invocation) {
  auto request = std::make_shared<Request>();
  Command command = root.add("events", "Show the events of an experiment, one after the other");
  command.option("experiment", request->experiment, "Experiment directory").type("EXPERIMENT").required();
  command.option("--format", request->format, "How to print").one_of(report::format_names()).shows_default();
  command.option("--rank", request->ranks, "Only these ranks, as in 0,4-7; may be repeated")
      .type("LIST")
      .separated_by(',');
  command.option("--iteration", request->options.iteration, "Only events of this iteration, counted from 0")
      .type("N")
      .grouped();
  command.option("--from", request->options.from_s, "Only events from this time on").type("SECONDS");
  command.option("--to", request->options.to_s, "Only events up to this time").type("SECONDS");
  command.footer(
      "Times are seconds since the begin of the measurement, in the order of time over all ranks and threads. Peers "
      "are "
      "ranks in MPI_COMM_WORLD; of one-sided operations those in the window.\n"
      "Exit status: 0 done, 1 wrong usage or not written, 2 the experiment cannot be read, 4 done, but a part of it is "
      "damaged; what is missing is named.");
  command.when_chosen([request, &invocation] { invocation.exit_code = run(*request); });
}

}  // namespace refrain::tools
