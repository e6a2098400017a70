#include "tools/load_run.hpp"

#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "offline/database/native_run.hpp"
#include "tools/progress_line.hpp"
#include "tools/read_run.hpp"

namespace refrain::tools {

Loaded load_experiment(const std::string& name, database::Connection& connection, const properties::Model& model,
                       const std::string& program, const std::string& version,
                       const std::function<void(const std::string&)>& notify) {
  std::shared_ptr<ReadRun> run;
  // Reading is the expensive part: an experiment that is in the database already is only identified by its files.
  if (is_foreign(name)) run = read_run(name, RunNames::AllFrames);
  const std::string digest = run ? run->source->digest() : database::digest_of_experiment(name);
  database::Store store(connection, model);
  if (connection.has_table("refrain_about"))
    if (const auto known = store.run_with(digest)) return {false, *known, {}};
  if (!run) run = read_run(name, RunNames::AllFrames);

  database::Writing writing(
      connection, [&] { notify(fmt::format("{}: waiting for another process that writes", connection.name())); });
  store.prepare();
  // Another process may have added it in the meantime.
  if (const auto known = store.run_with(digest)) return {false, *known, {}};
  ProgressLine line;
  database::AddOptions options;
  options.program = program;
  options.version = version;
  options.added = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  options.progress = [&](std::size_t done, std::size_t all) {
    line.show([&] { return fmt::format("{}: {} of {} locations", name, done, all); });
  };
  database::Added added = add_run(connection, model, *run->source, options);
  writing.commit();
  line.end();
  if (run->experiment)
    for (const std::string& damage : run->experiment->damage()) added.notes.push_back(damage);
  return {true, added.run, std::move(added.notes)};
}

}  // namespace refrain::tools
