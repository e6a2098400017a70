#include "tools/read_run.hpp"

#include <algorithm>
#include <filesystem>

#include "offline/database/profile_run.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/report/found.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "offline/symbols/names.hpp"
#include "tools/progress_line.hpp"

namespace refrain::tools {
namespace {

/// Whether call paths with all frames equal those with the usual names.
bool has_nothing_to_fold(const experiment::Experiment& experiment) {
  const analysis::ModuleFold fold = report::usual_names().fold;
  return std::ranges::none_of(experiment.definitions().modules, [&](const experiment::ProfileModule& of) {
    return fold.folds(symbols::base_name(of.path));
  });
}

}  // namespace

std::vector<database::NodeWaiting> waiting_of(const std::vector<report::NodeWait>& waits) {
  std::vector<database::NodeWaiting> waiting;
  for (const report::NodeWait& of : waits) {
    database::NodeWaiting& row = waiting.emplace_back();
    if (of.method != report::NodeWait::Method::None) row = {of, of.confidence, of.kind, of.by_rank};
  }
  return waiting;
}

bool is_foreign(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  if (fs::is_directory(status) || !fs::exists(status)) return database::source_of(name) != nullptr;
  return !fs::is_regular_file(status) || !experiment::is_packed(name);
}

std::shared_ptr<ReadRun> read_run(const std::string& name, RunNames names) {
  auto run = std::make_shared<ReadRun>();
  if (is_foreign(name)) {
    run->source = database::profile_run(name);
    return run;
  }
  run->experiment = experiment::Experiment::open(name);
  const experiment::Experiment& experiment = *run->experiment;
  symbols::Symbolizer symbolizer;
  symbols::use_names(experiment, symbolizer);
  analysis::CallTreeOptions options;
  if (names == RunNames::Usual) options = report::usual_names();
  report::SeenRanks seen(experiment);
  seen.look_at(options);
  run->tree = build_call_tree(experiment, symbolizer, options);
  const bool are_usual = names == RunNames::Usual || has_nothing_to_fold(experiment);
  ProgressLine line;
  const report::UsualProfile profile{run->tree, seen};
  const report::Found found = report::found_in(experiment, line.searching(name + ": "), are_usual ? &profile : nullptr);
  line.end();
  const analysis::MinimumWaits* const minima = seen.minima.any() ? &seen.minima : nullptr;
  run->waiting = waiting_of(report::waits_of(run->tree, found.waits(are_usual), minima));
  run->findings = found.findings;
  run->not_searched = found.not_searched;
  run->source = database::native_run(run->experiment, run->tree, run->waiting);
  return run;
}

}  // namespace refrain::tools
