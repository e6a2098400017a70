#include "tools/load_run.hpp"

#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "offline/database/native_run.hpp"
#include "offline/report/node_waits.hpp"
#include "tools/first_findings.hpp"
#include "tools/progress_line.hpp"

namespace refrain::tools {

Loaded load_experiment(const std::string& directory, database::Connection& connection, const properties::Model& model,
                       const std::string& program, const std::string& version,
                       const std::function<void(const std::string&)>& notify) {
  constexpr std::chrono::seconds most_for_events(60);
  database::Store store(connection, model);
  const std::string digest = database::digest_of_experiment(directory);
  if (connection.has_table("refrain_about"))
    if (const auto known = store.run_with(digest)) return {false, *known, {}};
  const auto experiment = experiment::Experiment::open(directory);
  FirstFindings findings = first_findings(directory, most_for_events, OnSignal::EndsProcess);
  analysis::Symbolizer symbolizer;
  analysis::MinimumWaits minima(experiment->definitions());
  analysis::CallTreeOptions options;
  options.also = [&](const experiment::Rank& rank) { minima.add(rank); };
  ProgressLine line;
  const analysis::CallTree tree = build_call_tree(*experiment, symbolizer, options);
  std::vector<database::NodeWaiting> waiting;
  for (const report::NodeWait& of : report::waits_of(tree, findings.waits, minima.any() ? &minima : nullptr)) {
    database::NodeWaiting& row = waiting.emplace_back();
    if (of.method == report::NodeWait::Method::None) continue;
    row = {of.seconds, of.error_s, of.confidence, of.kind};
  }
  const auto source = database::native_run(experiment, tree, waiting);

  database::Writing writing(
      connection, [&] { notify(fmt::format("{}: waiting for another process that writes", connection.name())); });
  store.prepare();
  // Another process may have been faster.
  if (const auto known = store.run_with(digest)) return {false, *known, {}};
  database::AddOptions of_run;
  of_run.program = program;
  of_run.version = version;
  of_run.added = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  of_run.progress = [&](std::size_t done, std::size_t all) {
    line.show([&] { return fmt::format("{}: {} of {} locations", directory, done, all); });
  };
  database::Added added = add_run(connection, model, *source, of_run);
  writing.commit();
  line.end();
  for (const std::string& damage : experiment->damage()) added.notes.push_back(damage);
  return {true, added.run, std::move(added.notes)};
}

}  // namespace refrain::tools
