/// `refrain db`: experiments in a database.

#include <algorithm>
#include <cstdio>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <memory>

#include "offline/database/store.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/load_run.hpp"
#include "tools/property_commands.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

constexpr const char* db_name = "db";

struct DbRequest {
  std::string database = usual_database, program, version, target, format = "text";
  std::vector<std::string> experiments, runs;
  bool all = false;
};

const properties::Model& model() {
  static const properties::Program program = properties::compile({properties::builtin_model()});
  return *program.model;
}

int add(const DbRequest& request) {
  const auto connection = database::Connection::open(request.database, true);
  int code = exit_ok;
  bool any = false;
  for (const std::string& experiment : request.experiments) {
    try {
      const Loaded loaded = load_experiment(experiment, *connection, model(), request.program, request.version,
                                            [](const std::string& line) { complain(db_name, exit_ok, line); });
      show("{}: run {}{}\n", experiment, loaded.run, loaded.is_new ? "" : ", which was in the database already");
      any = any || loaded.is_new;
      std::fflush(stdout);
      for (const std::string& note : loaded.notes) complain(db_name, exit_ok, fmt::format("{}: {}", experiment, note));
      if (loaded.is_new && !loaded.notes.empty() && code == exit_ok) code = exit_damaged;
    } catch (const experiment::ReadError& error) {
      code = complain(db_name, exit_unreadable, error.what());
    }
  }
  // If another process is writing, its statistics will do.
  if (any) try {
      connection->analyze();
    } catch (const database::DatabaseError&) {
    }
  return code;
}

report::Table runs_table(const std::vector<database::StoredRun>& runs) {
  using report::columns;
  return {
      .name = "runs",
      .columns = columns("run, program, version, processes, started: started (UTC), elapsed_s: elapsed, experiment") +
                 columns("source", report::InTables),
      .rows = report::rows_of(
          runs,
          [](const database::StoredRun& run) -> report::Row {
            const auto start = static_cast<std::time_t>(run.start_us / 1'000'000);
            return {{run.run, run.program, run.version, run.processes,
                     start == 0 ? std::string("?") : fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(start)),
                     run.elapsed_s, run.experiment, run.source}};
          }),
      .empty = "There are no runs."};
}

int list(const DbRequest& request) {
  const auto connection = database::Connection::open(request.database, false);
  database::Store store(*connection, model());
  store.check();
  const auto runs = store.runs({request.program, request.version, {}});
  print_tables({runs_table(runs)}, report::format_of(request.format), report::detect_terminal(stdout), write_to_stdout);
  return exit_ok;
}

int remove(const DbRequest& request) {
  const auto connection = database::Connection::open(request.database, false);
  database::Store store(*connection, model());
  store.check();
  database::Writing writing(*connection, [&] {
    complain(db_name, exit_ok, fmt::format("{}: waiting for another process that writes", connection->name()));
  });
  std::vector<database::StoredRun> chosen;
  const auto all = store.runs({request.program, request.version, {}});
  for (const std::string& word : request.runs) {
    const std::string directory = experiment::full_name(word);
    const std::size_t before = chosen.size();
    for (const auto& run : all)
      if (std::to_string(run.run) == word || run.experiment == directory) chosen.push_back(run);
    if (chosen.size() == before)
      throw database::DatabaseError(fmt::format("{}: there is no run {}", connection->name(), word));
  }
  if (request.runs.empty() && (!request.program.empty() || !request.version.empty())) chosen = all;
  if (chosen.empty()) throw database::DatabaseError("nothing to remove: name runs, or --program or --version");
  for (const auto& run : chosen) store.remove(run);
  writing.commit();
  for (const auto& run : chosen) show("removed run {}\n", run.run);
  return exit_ok;
}

int copy(const DbRequest& request) {
  const auto from = database::Connection::open(request.database, false);
  from->execute(from->dialect() == properties::Dialect::Sqlite ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ");
  database::Store(*from, model()).check();
  const auto to = database::Connection::open(request.target, true);
  if (to->has_table("refrain_about"))
    throw database::DatabaseError(
        fmt::format("{}: there are experiments in it already; an export needs an empty database", to->name()));
  database::Writing writing(*to, [] {});
  database::Store(*to, model()).prepare();
  std::vector<std::pair<std::string, std::vector<std::string>>> tables{
      {"refrain_runs", {"run", "digest", "added"}}, {"refrain_rows", {"run", "name", "first", "last"}}};
  for (const properties::Table& table : model().tables()) {
    std::vector<std::string> columns{"id"};
    if (table.has_class) columns.emplace_back("class");
    for (const auto& column : table.columns) columns.push_back(column.name);
    tables.emplace_back(table.name, std::move(columns));
  }
  for (const auto& [table, columns] : tables) {
    std::string names;
    for (const std::string& column : columns) names += (names.empty() ? "" : ", ") + properties::quoted_name(column);
    const auto appender = to->append(table, columns);
    from->query(fmt::format("SELECT {} FROM {}", names, properties::quoted_name(table)),
                [&](std::span<const database::Value> row) { appender->row(row); });
    appender->finish();
  }
  writing.commit();
  to->analyze();
  return exit_ok;
}

}  // namespace

void add_db(Command root, Invocation& invocation) {
  auto request = std::make_shared<DbRequest>();
  Command db = root.add("db", "Keep experiments in a database");
  db.needs_command();
  const auto choose = [&](Command command, int (*run)(const DbRequest&)) {
    command.when_chosen(
        [request, run, &invocation] { invocation.exit_code = guarded(db_name, [&] { return run(*request); }); });
  };
  const auto common = [&](Command command) {
    add_database_option(command, request->database);
    command.option("--program", request->program, "Name of the program; it is the executable's otherwise").type("NAME");
    command.option("--version", request->version, "Its version; it is the build-id otherwise").type("NAME");
  };
  Command add_command = db.add("add", "Add experiments; one that is there already is recognised");
  add_command.option("experiment", request->experiments, "Experiment directories, or profiles of other tools")
      .type("EXPERIMENT")
      .required();
  common(add_command);
  choose(add_command, add);
  Command list_command = db.add("list", "List what is in a database");
  common(list_command);
  list_command.option("--format", request->format, "How to print").one_of(report::format_names()).shows_default();
  choose(list_command, list);
  Command remove_command = db.add("remove", "Remove runs: by number or directory, or all of a program or version");
  remove_command.option("run", request->runs, "Runs").type("RUN");
  common(remove_command);
  choose(remove_command, remove);
  Command export_command = db.add("export", "Copy a database into an empty one, of the other kind, too");
  export_command.option("target", request->target, "The empty database").type("DATABASE").required();
  add_database_option(export_command, request->database);
  choose(export_command, copy);
}

}  // namespace refrain::tools
