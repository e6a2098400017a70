/// `refrain export EXPERIMENT --format FORMAT`, also called refrain-export: writes an experiment for other tools. If a
/// launcher starts several processes, they write an OTF2 archive together.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>

#include "offline/experiment/folder.hpp"
#include "offline/export/formats.hpp"
#include "offline/export/otf2.hpp"
#include "offline/export/process_group.hpp"
#include "offline/export/run_of_experiment.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/run_efficiency.hpp"
#include "tools/subcommands.hpp"
#include "tools/together.hpp"
#include "tools/trace_command.hpp"
#include "tools/which_experiment.hpp"

namespace refrain::tools {
namespace {

constexpr const char* command_name = "export";
constexpr const char* call_path_regions = "callpath";

struct ExportRequest {
  std::vector<std::string> experiments, ranks;
  std::string format = "otf2", output, regions = "mpi", loop;
  std::optional<double> from_s, until_s;
  std::optional<std::int64_t> iteration;
  int patience = 120;
};

/// A file in the working directory, named after the experiment.
std::filesystem::path usual_output(const std::string& experiment, const char* ending) {
  return std::filesystem::path(experiment::full_name(experiment)).filename().string() + ending;
}

std::filesystem::path output_of(const ExportRequest& request) {
  if (request.output.ends_with('/')) return experiment::full_name(request.output);
  if (!request.output.empty()) return request.output;
  return usual_output(request.experiments[0], exports::find_format(request.format)->ending);
}

/// `processes`: null if this process works alone.
int write_archive(const ExportRequest& request, exports::ProcessGroup* processes) {
  return with_trace(command_name, request.experiments[0], request.ranks, [&](const trace::Trace& trace) {
    const std::filesystem::path directory = output_of(request);
    symbols::Symbolizer symbolizer;
    symbols::use_names(trace.experiment(), symbolizer);
    const exports::Otf2Summary done =
        exports::write_otf2(trace, symbolizer, {directory, request.regions == call_path_regions, processes});
    if (processes && !processes->is_first()) return;
    show("{}: {} events of {} locations\n", (directory / "traces.otf2").string(), done.events,
         trace.locations().size());
    if (done.left_out > 0)
      complain(
          command_name, exit_ok,
          fmt::format("{} communications are not in it: OTF2 has no record for them, or their communicator or their "
                      "other side is not known",
                      done.left_out));
  });
}

/// Writes the archive with all processes that the launcher started.
int write_archive(const ExportRequest& request) {
  const exports::PlaceInJob place = exports::place_in_job();
  if (place.size == 1) return write_archive(request, nullptr);
  // The directory is made after all processes have met: one that exists belongs to another job, whose meeting place
  // must not be touched.
  try {
    exports::must_not_exist(output_of(request));
  } catch (const exports::ExportError& error) {
    return place.rank == 0 ? complain(command_name, exit_usage, error.what()) : exit_ok;
  }
  std::filesystem::path meeting = output_of(request);
  meeting += ".processes";
  return work_together(command_name, meeting, place, std::chrono::seconds(request.patience),
                       [&](exports::ProcessGroup& processes) { return write_archive(request, &processes); });
}

void tell_written(const std::filesystem::path& path, const std::string& contents) {
  if (path != "-") show("{}: {}\n", path.string(), contents);
}

void tell_lacking(const exports::Format& format) {
  complain(command_name, exit_ok, fmt::format("{} has no place for {}", format.name, format.cannot));
}

/// Times that exceed 64 bits are clamped.
std::int64_t nanoseconds_of(double seconds) {
  constexpr double ns_per_second = 1e9, most_s = 9e9;
  return std::llround(std::clamp(seconds, -most_s, most_s) * ns_per_second);
}

int write_events(const exports::Format& format, const ExportRequest& request) {
  exports::EventChoice choice{.iteration = request.iteration};
  if (request.from_s) choice.from_ns = nanoseconds_of(*request.from_s);
  if (request.until_s) choice.until_ns = nanoseconds_of(*request.until_s);
  return with_trace(command_name, request.experiments[0], request.ranks, [&](const trace::Trace& trace) {
    exports::OutputFile out(output_of(request));
    format.write_events(trace, choice, out);
    out.finish();
    tell_written(out.path(), fmt::format("events of {} locations", trace.locations().size()));
    tell_lacking(format);
  });
}

int write_profile(const exports::Format& format, const ExportRequest& request) {
  int code = exit_ok;
  exports::OutputFile out(output_of(request));
  std::size_t call_paths = 0, locations = 0;
  for (const std::string& name : request.experiments) {
    if (is_archive(command_name, name)) return exit_usage;
    const auto experiment = experiment::Experiment::open(name);
    std::optional<exports::IterationOfLoop> iteration;
    if (request.iteration) iteration = {request.loop, *request.iteration};
    const auto run = exports::run_of_experiment(experiment, REFRAIN_VERSION, iteration);
    format.write_run(*run, out);
    call_paths += run->nodes().size();
    locations += run->locations().size();
    code = std::max(code, tell_damage(command_name, *experiment->damage_log()));
  }
  out.finish();
  tell_written(out.path(), fmt::format("{} call paths of {} locations", call_paths, locations));
  tell_lacking(format);
  return code;
}

int write_efficiencies(const exports::Format& format, const std::string& name, const std::filesystem::path& path) {
  if (is_archive(command_name, name)) return exit_usage;
  const std::vector<RunEfficiency> all = run_efficiencies(command_name, name, {""}, true);
  exports::EfficienciesOfRun run{"Refrain " REFRAIN_VERSION, all.front().started_s, {}};
  for (const RunEfficiency& of : all)
    if (of.efficiency)
      run.parts.push_back({of.region, *of.efficiency, of.useful_s, of.mpi_s, of.instructions, of.cycles});
  if (!all.front().efficiency) return complain(command_name, exit_usage, name + ": no useful time was measured");
  exports::OutputFile out(path);
  format.write_efficiencies(run, out);
  out.finish();
  tell_written(out.path(), fmt::format("efficiencies of the run{}", run.parts.size() > 1 ? " and its loops" : ""));
  if (const auto ranks = static_cast<std::int64_t>(all.front().efficiency->processes); ranks < all.front().processes)
    complain(command_name, exit_ok,
             fmt::format("{}: of {} of {} ranks; the others could not be read", name, ranks, all.front().processes));
  return all.front().is_damaged ? exit_damaged : exit_ok;
}

/// Writes a file for each experiment. Stops at the first one that cannot be written.
int write_efficiencies(const exports::Format& format, const ExportRequest& request) {
  const bool are_several = request.experiments.size() > 1;
  if (are_several) check_named_once(request.experiments);
  int code = exit_ok;
  for (const std::string& name : request.experiments) {
    const int one =
        write_efficiencies(format, name, are_several ? usual_output(name, format.ending) : output_of(request));
    if (one != exit_ok && one != exit_damaged) return one;
    code = std::max(code, one);
  }
  tell_lacking(format);
  return code;
}

/// Complaint about an option that the format does not take; empty: there is none.
std::string wrong_options(const exports::Format& format, const ExportRequest& request) {
  const bool is_archive_format = format.is_directory();
  const auto wrong = [&](const char* option, const char* formats) {
    return fmt::format("{} requires --format {}", option, formats);
  };
  if (request.regions == call_path_regions && !is_archive_format) return wrong("--regions callpath", "otf2");
  if (!request.ranks.empty() && (format.write_run || format.write_efficiencies))
    return wrong("--rank", "otf2, perfetto, chrome or paraver");
  if ((request.from_s || request.until_s) && !format.write_events)
    return wrong(request.from_s ? "--from" : "--until", "perfetto, chrome or paraver");
  if (request.iteration && (is_archive_format || format.write_efficiencies))
    return fmt::format("--iteration does not go with {}", format.name);
  if (!request.loop.empty() && (!request.iteration || !format.write_run))
    return "--loop requires --iteration and a format of profiles";
  if (request.experiments.size() > 1 && !format.takes_several && !format.write_efficiencies)
    return fmt::format("{} takes one experiment; extrap and talp take several", format.name);
  if (request.experiments.size() > 1 && format.write_efficiencies && !request.output.empty())
    return fmt::format("-o: {} writes a file of each of several experiments, with their names, here", format.name);
  if (request.output == "-" && is_archive_format) return "-o -: otf2 is a directory";
  return "";
}

int run(const ExportRequest& request) {
  const exports::Format& format = *exports::find_format(request.format);
  if (const std::string wrong = wrong_options(format, request); !wrong.empty())
    return complain(command_name, exit_usage, wrong);
  if (format.is_directory()) return write_archive(request);
  if (exports::place_in_job().rank != 0) return exit_ok;  // the first process writes it alone
  if (format.write_events) return write_events(format, request);
  return guarded(command_name, [&] {
    return format.write_efficiencies ? write_efficiencies(format, request) : write_profile(format, request);
  });
}

}  // namespace

void add_export(Command root, Invocation& invocation) {
  auto request = std::make_shared<ExportRequest>();
  std::vector<std::string> names;
  std::string table;
  for (const exports::Format& format : exports::formats()) {
    names.emplace_back(format.name);
    table += fmt::format("  {:<11}{}\n", format.name, format.holds);
  }
  Command command = root.add(command_name, "Write an experiment in a format of other tools");
  command
      .option("experiment", request->experiments,
              "Experiment directory; several with --format extrap, or with talp, a file of each")
      .type("EXPERIMENT")
      .required();
  command.option("--format", request->format, "Format to write").one_of(names).shows_default();
  command
      .option("-o,--output", request->output,
              "File, of otf2 the directory, to make; - is standard output (default: EXPERIMENT and an ending of the "
              "format, here)")
      .type("FILE");
  command
      .option("--regions", request->regions,
              "Of otf2, what is entered and left: MPI functions and marks, or also the functions on their call paths")
      .one_of({"mpi", call_path_regions})
      .shows_default();
  command.option("--rank", request->ranks, "Events of these ranks alone, as in 0,4-7; may be repeated")
      .type("LIST")
      .separated_by(',');
  command
      .option("--iteration", request->iteration,
              "This iteration, counted from 0, instead of the run; not of otf2 and talp")
      .type("NUMBER");
  command.option("--loop", request->loop, "Of profiles with --iteration, the loop; needed where several are marked")
      .type("NAME");
  command.option("--from", request->from_s, "Of perfetto, chrome and paraver, events from this time on")
      .type("SECONDS");
  command.option("--until", request->until_s, "Of perfetto, chrome and paraver, events up to this time")
      .type("SECONDS");
  command
      .option("--patience", request->patience,
              "When several processes write together: how long one may be silent before it is taken for dead")
      .type("SECONDS")
      .check([](const std::string& value) { return std::atoi(value.c_str()) > 0 ? "" : "must be at least 1"; })
      .shows_default();
  command.footer("Formats:\n" + table +
                 "mpirun -n N refrain-export EXPERIMENT (or srun) writes the same archive of OTF2 with N processes.\n"
                 "Exit status: 0 done, 1 wrong usage or not written, 2 the experiment cannot be read, 4 done, but a "
                 "part of it is damaged; what is missing is named.");
  command.when_chosen([request, &invocation] { invocation.exit_code = run(*request); });
}

}  // namespace refrain::tools
