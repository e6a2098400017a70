#include "tools/which_experiment.hpp"

#include <fmt/format.h>

#include "offline/experiment/newest.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/start.hpp"

namespace refrain::tools {

Option add_experiment(Command command, std::string& experiment, const char* description) {
  return command.option("experiment", experiment, fmt::format("{} (default: the newest one here)", description))
      .type("EXPERIMENT");
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
