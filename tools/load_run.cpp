#include "tools/load_run.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "offline/database/cubex_run.hpp"
#include "offline/database/native_run.hpp"
#include "offline/report/found.hpp"
#include "offline/report/node_waits.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "offline/symbols/names.hpp"
#include "tools/progress_line.hpp"

namespace refrain::tools {

namespace {

/// What to put into the database, read before it is locked.
struct Reading {
  std::string name;
  std::function<std::string()> digest;
  std::function<std::unique_ptr<database::RunSource>()> read;
  std::function<std::vector<std::string>()> damage = [] { return std::vector<std::string>(); };
};

Loaded load(const Reading& reading, database::Connection& connection, const properties::Model& model,
            const std::string& program, const std::string& version,
            const std::function<void(const std::string&)>& notify) {
  database::Store store(connection, model);
  const std::string digest = reading.digest();
  if (connection.has_table("refrain_about"))
    if (const auto known = store.run_with(digest)) return {false, *known, {}};
  const auto source = reading.read();

  database::Writing writing(
      connection, [&] { notify(fmt::format("{}: waiting for another process that writes", connection.name())); });
  store.prepare();
  // Another process may have been faster.
  if (const auto known = store.run_with(digest)) return {false, *known, {}};
  ProgressLine line;
  database::AddOptions options;
  options.program = program;
  options.version = version;
  options.added = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  options.progress = [&](std::size_t done, std::size_t all) {
    line.show([&] { return fmt::format("{}: {} of {} locations", reading.name, done, all); });
  };
  database::Added added = add_run(connection, model, *source, options);
  writing.commit();
  line.end();
  for (const std::string& damage : reading.damage()) added.notes.push_back(damage);
  return {true, added.run, std::move(added.notes)};
}

/// An experiment of Refrain, with what its events and durations of calls tell of waiting.
class Native {
 public:
  explicit Native(const std::string& directory) : directory_(directory) {}

  Reading reading() {
    return {directory_, [this] { return database::digest_of_experiment(directory_); }, [this] { return read(); },
            [this] { return experiment_->damage(); }};
  }

 private:
  std::unique_ptr<database::RunSource> read() {
    experiment_ = experiment::Experiment::open(directory_);
    analysis::Symbolizer symbolizer;
    symbols::use_names(*experiment_, symbolizer);
    const report::Found found = report::found_in(*experiment_);
    analysis::MinimumWaits minima(experiment_->definitions());
    analysis::CallTreeOptions options;
    options.also = [&](const experiment::Rank& rank) { minima.add(rank); };
    tree_ = build_call_tree(*experiment_, symbolizer, options);
    for (const report::NodeWait& of :
         report::waits_of(tree_, found.waits(are_usual_names()), minima.any() ? &minima : nullptr)) {
      database::NodeWaiting& row = waiting_.emplace_back();
      if (of.method != report::NodeWait::Method::None) row = {of.seconds, of.error_s, of.confidence, of.kind};
    }
    return database::native_run(experiment_, tree_, waiting_);
  }

  /// Databases have all frames of language runtimes.
  bool are_usual_names() const {
    const analysis::ModuleFold fold = report::usual_names().fold;
    return std::ranges::none_of(experiment_->definitions().modules, [&](const experiment::ProfileModule& of) {
      return fold.folds(symbols::base_name(of.path));
    });
  }

  std::string directory_;
  std::shared_ptr<const experiment::Experiment> experiment_;
  analysis::CallTree tree_;
  std::vector<database::NodeWaiting> waiting_;
};

}  // namespace

Loaded load_experiment(const std::string& name, database::Connection& connection, const properties::Model& model,
                       const std::string& program, const std::string& version,
                       const std::function<void(const std::string&)>& notify) {
  if (std::error_code error; std::filesystem::is_regular_file(name, error)) {
    std::unique_ptr<database::RunSource> source = database::cubex_run(name);
    const std::string digest = source->facts().digest;
    return load({name, [&] { return digest; }, [&] { return std::move(source); }}, connection, model, program, version,
                notify);
  }
  Native native(name);
  return load(native.reading(), connection, model, program, version, notify);
}

}  // namespace refrain::tools
