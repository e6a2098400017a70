#include "tools/which_experiment.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <set>

#include "offline/experiment/newest.hpp"
#include "offline/report/request.hpp"
#include "offline/trace/otf2_archive.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/start.hpp"

namespace refrain::tools {

Option add_experiment(Command command, std::string& experiment, const char* description) {
  return command.option("experiment", experiment, fmt::format("{} (default: the newest one here)", description))
      .type("EXPERIMENT");
}

void check_named_once(const std::vector<std::string>& paths) {
  std::set<std::filesystem::path> known;
  for (const std::string& path : paths) {
    std::error_code error;  // a missing file is rejected by its reader
    const std::filesystem::path file = trace::find_otf2_anchor(path).value_or(path);
    std::filesystem::path canonical = std::filesystem::weakly_canonical(file, error);
    if (!canonical.has_filename()) canonical = canonical.parent_path();
    if (!error && !known.insert(std::move(canonical)).second) throw report::UsageError(path + " is named twice");
  }
}

bool find_experiment(const char* command, std::string& experiment) {
  if (!experiment.empty()) return true;
  const auto newest = experiment::newest_experiment(".");
  if (!newest) {
    complain(command, exit_usage,
             "no experiment is named, and there is none here; refrain run -- mpirun -n 2 ./app makes one");
    return false;
  }
  experiment = newest->lexically_normal().string();
  if (experiment != ".") say("refrain {}: {}, the newest experiment here", command, quoted({experiment}));
  return true;
}

}  // namespace refrain::tools
