/// `refrain view EXPERIMENT [OTHER...]`: writes the explorer, one HTML file with the data in it.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <spawn.h>
#include <unistd.h>

#include "offline/experiment/folder.hpp"
#include "offline/experiment/whole_file.hpp"
#include "offline/explorer/anonymous.hpp"
#include "offline/explorer/foreign.hpp"
#include "offline/explorer/from_experiment.hpp"
#include "offline/explorer/page.hpp"
#include "offline/report/found.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "offline/trace/otf2_archive.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/explorer_properties.hpp"
#include "tools/progress_line.hpp"
#include "tools/read_run.hpp"
#include "tools/subcommands.hpp"
#include "tools/which_experiment.hpp"

namespace refrain::tools {
namespace {

namespace fs = std::filesystem;
constexpr const char* view_name = "view";

struct ViewRequest {
  std::string experiment, output;
  std::vector<std::string> others;
  double megabytes = 20;
  bool anonymous = false, open = false;
};

/// A file in the working directory, named after the first experiment.
std::string usual_output(const std::string& experiment) {
  fs::path path = experiment::full_name(experiment);
  if (path.extension() == ".otf2") path = path.parent_path();  // "traces.otf2" would say nothing
  return path.filename().string() + ".html";
}

explorer::Run run_of_experiment(const std::string& path, std::size_t bytes, int& code) {
  constexpr std::size_t most_properties = 50;
  explorer::Request request;
  request.bytes = bytes;
  const auto experiment = experiment::Experiment::open(path);
  symbols::Symbolizer symbolizer;
  ProgressLine line;
  symbols::use_names(*experiment, symbolizer, {.progress = line.naming(path + ": ")});
  request.found = report::found_in(*experiment, line.searching(path + ": "));
  if (!request.found.not_searched.empty())
    request.lacks.push_back({"overview", "Events were not searched for waiting: " + request.found.not_searched});
  request.properties = [&](const analysis::CallTree& tree, const std::vector<report::NodeWait>& waits) {
    try {
      return properties_of(experiment, tree, waits, most_properties);
    } catch (const std::exception& error) {  // the rest of a damaged experiment is still shown
      request.lacks.push_back({"overview", fmt::format("Properties could not be evaluated: {}", error.what())});
      return std::vector<explorer::FoundProperty>();
    }
  };
  request.progress = [&](std::size_t done, std::size_t all) {
    line.show([&] { return fmt::format("{}: {} of {} ranks", path, done, all); });
  };
  explorer::Run run = explorer::run_of(experiment, symbolizer, request);
  code = std::max(code, tell_damage(view_name, *experiment->damage_log()));
  for (const std::string& damage : experiment->damage()) run.lacks.push_back({"overview", damage});
  return run;
}

explorer::Run run_of_archive(const fs::path& anchor, std::size_t bytes, int& code) {
  const auto trace = trace::Trace::open_archive(anchor);
  ProgressLine line;
  explorer::Run run = explorer::run_of_archive(*trace, bytes, line.searching());
  code = std::max(code, tell_damage(view_name, trace->damage()));
  return run;
}

/// Reads an experiment, a profile of another tool, or an OTF2 archive.
explorer::Run read_run(const std::string& path, std::size_t bytes, int& code) {
  if (!is_foreign(path)) return run_of_experiment(path, bytes, code);
  const auto anchor = trace::find_otf2_anchor(path);
  return anchor ? run_of_archive(*anchor, bytes, code) : explorer::run_of_profile(path, bytes);
}

/// Opens the file in the desktop's browser; a user without one still has the name of the file.
void open_in_browser(const std::string& path) {
  std::string program = "xdg-open", file = fs::absolute(path).string();
  char* const words[] = {program.data(), file.data(), nullptr};
  pid_t process = 0;
  if (const int error = posix_spawnp(&process, program.c_str(), nullptr, nullptr, words, environ); error != 0)
    complain(view_name, exit_ok, fmt::format("--open: xdg-open: {}", std::strerror(error)));
}

int run(ViewRequest request) {
  if (!explorer::has_page())
    return complain(
        view_name, exit_usage,
        "this build has no page: install npm and run scripts/build, or build from a source archive, which has the page "
        "(scripts/dist)");
  if (!find_experiment(view_name, request.experiment)) return exit_usage;
  int code = exit_ok;
  std::vector<std::string> paths{request.experiment};
  paths.insert(paths.end(), request.others.begin(), request.others.end());
  constexpr double bytes_of_megabyte = 1e6;
  const auto bytes =
      static_cast<std::size_t>(request.megabytes * bytes_of_megabyte / static_cast<double>(paths.size()));
  std::vector<explorer::Run> runs;
  for (const std::string& path : paths) runs.push_back(read_run(path, bytes, code));
  if (request.anonymous) explorer::make_anonymous(runs);
  if (request.output.empty()) request.output = usual_output(request.experiment);
  experiment::NewFile file(request.output);
  explorer::write_page(explorer::embedded_page, runs, [&](std::string_view text) { file.write(text); });
  file.finish();
  if (file.is_standard_output()) return code;
  show("{}: {:.1f} MB\n", request.output, static_cast<double>(file.size()) / bytes_of_megabyte);
  if (request.open) open_in_browser(request.output);
  return code;
}

}  // namespace

void add_view(Command root, Invocation& invocation) {
  auto request = std::make_shared<ViewRequest>();
  Command command = root.add("view", "Write the explorer: one HTML file that opens in any browser");
  add_experiment(command, request->experiment,
                 "Experiment directory, profile of CUBE (.cubex), Caliper or TAU, or OTF2 archive");
  command.option("other", request->others, "Further ones, which the first one is compared with").type("EXPERIMENT");
  command.option("-o,--output", request->output, "File to write, - for standard output (default: EXPERIMENT.html here)")
      .type("FILE");
  command.option("--size", request->megabytes, "MB that the data may take in the file; what is cut is said in it")
      .type("MB")
      .check([](const std::string& text) { return std::atof(text.c_str()) >= 1 ? "" : text + ": at least 1"; })
      .shows_default();
  command.flag("--anonymous", request->anonymous,
               "Replace names of functions, machines and files, and leave out the command");
  command.flag("--open", request->open, "Open it in the browser");
  command.footer(
      "Exit status: 0 done, 1 wrong usage or not written, 2 the experiment cannot be read, 4 done, but a part of it is "
      "damaged;\n"
      "what is missing is named.");
  command.when_chosen(
      [request, &invocation] { invocation.exit_code = guarded(view_name, [&] { return run(*request); }); });
}

}  // namespace refrain::tools
