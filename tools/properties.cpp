/// `refrain properties`: performance properties of an experiment or of a run in a database, ranked by severity.

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "offline/database/evaluation.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/load_run.hpp"
#include "tools/progress_line.hpp"
#include "tools/property_commands.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

constexpr const char* properties_name = "properties";
constexpr std::size_t usual_rows = 20;

struct PropertiesRequest {
  std::string experiment;  ///< empty: a run in the database
  std::string database = usual_database, program, version, basis, format = "text";
  std::optional<std::int64_t> run;
  std::vector<std::string> files, only;
  double threshold = 0.05;
  int limit = usual_rows;
  bool all = false;  ///< also contexts with nearly the same severity as an inner context
};

std::string sentence(const database::Evaluation& evaluation, double threshold) {
  const database::Found* bottleneck = bottleneck_of(evaluation);
  if (bottleneck == nullptr) return "No property was found: there is no bottleneck.";
  const database::Found& most = *bottleneck;
  return most.severity > threshold
             ? fmt::format(
                   "The bottleneck is {} of {}: {:.1f} % of the time of {}, a problem, as it is more than {:.3g} %.",
                   most.property->name, context_text(most, evaluation), 100 * most.severity, evaluation.basis,
                   100 * threshold)
             : fmt::format(
                   "No problem: the most severe property is {} of {}, {:.2f} % of the time of {}, and {:.3g} % would "
                   "be one.",
                   most.property->name, context_text(most, evaluation), 100 * most.severity, evaluation.basis,
                   100 * threshold);
}

using Rows = std::vector<const database::Found*>;

/// Without `all` only the innermost of nested contexts with nearly the same severity.
Rows rows_of(const database::Evaluation& evaluation, bool all) {
  Rows rows;
  for (const database::Found& of : evaluation.found)
    if (all || !of.is_outer) rows.push_back(&of);
  return rows;
}

/// The properties as columns for JSON and CSV, and for text and Markdown, which describe the context in words.
report::Table properties_table(const database::Evaluation& evaluation, Rows rows) {
  using report::columns;
  return {.name = "properties",
          .columns = columns("name, context", report::ForPrograms) + columns("severity: severity %, confidence") +
                     columns("property, objects: context", report::ForPeople),
          .rows = [&evaluation, rows = std::move(rows)](const report::TakeRow& take) {
            for (const database::Found* of : rows)
              take({{of->property->name, of->context, of->severity, of->confidence, of->property->name,
                     context_text(*of, evaluation)}});
          }};
}

std::vector<report::Table> document_of(const database::Evaluation& evaluation, double threshold) {
  using report::columns;
  const auto& run = evaluation.run;
  std::vector<report::Table> tables{object_of("",
                                              columns("run, program, version, experiment, basis, threshold, sentence"),
                                              {{run.run, run.program, run.version, run.experiment, evaluation.basis,
                                                threshold, sentence(evaluation, threshold)}})};
  if (const database::Found* of = bottleneck_of(evaluation))
    tables.push_back(
        object_of("bottleneck", columns("name, context, severity, confidence, problem"),
                  {{of->property->name, of->context, of->severity, of->confidence, of->severity > threshold}}));
  tables.push_back(properties_table(evaluation, rows_of(evaluation, true)));
  tables.push_back({"not_evaluated", columns("name, why"),
                    report::rows_of(evaluation.not_evaluated, [](const database::NotEvaluated& of) -> report::Row {
                      return {{of.name, of.why}};
                    })});
  return tables;
}

/// Cuts the rows to the requested number and returns how many are left.
std::size_t limited(const PropertiesRequest& request, Rows& rows) {
  if (request.limit > 0) rows.resize(std::min(rows.size(), static_cast<std::size_t>(request.limit)));
  return rows.size();
}

void print_text(const database::Evaluation& evaluation, const PropertiesRequest& request) {
  const auto& run = evaluation.run;
  show("run {} of {}, version {}, {} process{}: {}\n\n{}\n", run.run, run.program, run.version, run.processes,
       run.processes == 1 ? "" : "es", run.experiment, sentence(evaluation, request.threshold));
  Rows rows = rows_of(evaluation, request.all);
  const std::size_t found = rows.size(), outer = evaluation.found.size() - found, shown = limited(request, rows);
  if (shown > 0) {
    show("\n");
    print_tables({properties_table(evaluation, std::move(rows))}, report::Format::Text, report::detect_terminal(stdout),
                 write_to_stdout);
  }
  if (shown < found) show("... and {} more (--limit 0 shows all)\n", found - shown);
  if (outer > 0)
    show("{} context{} around these, with nearly the same severities: --all\n", outer, outer == 1 ? "" : "s");
  if (!evaluation.not_evaluated.empty()) show("\nNot evaluated:\n");
  for (const database::NotEvaluated& of : evaluation.not_evaluated) show("  {}: {}\n", of.name, of.why);
}

/// Loads the experiment into a database in memory. Missing parts are reported and set `code`.
std::unique_ptr<database::Connection> open_experiment(const PropertiesRequest& request, const properties::Model& model,
                                                      int& code) {
  auto connection = database::Connection::open(":memory:", true);
  const Loaded loaded = load_experiment(request.experiment, *connection, model, "", "", [](const std::string&) {});
  for (const std::string& note : loaded.notes)
    code = complain(properties_name, exit_damaged, fmt::format("{}: {}", request.experiment, note));
  return connection;
}

int run(const PropertiesRequest& request) {
  const auto program = read_specifications(request.files);
  if (!program) return exit_usage;
  for (const std::string& wanted : request.only)
    if (program->property(wanted) == nullptr)
      return complain(properties_name, exit_usage,
                      fmt::format("--property {}: there is none of this name; there are {}", wanted,
                                  fmt::join(property_names(*program), ", ")));
  int code = exit_ok;
  const auto connection = request.experiment.empty() ? database::Connection::open(request.database, false)
                                                     : open_experiment(request, *program->model, code);
  database::Store store(*connection, *program->model);
  store.check();
  database::EvaluationRequest evaluation;
  evaluation.run = store.last_run({request.program, request.version, request.run});
  evaluation.basis = request.basis;
  evaluation.only = request.only;
  ProgressLine line;
  evaluation.progress = [&](std::size_t done, std::size_t all) {
    line.show([&] { return fmt::format("evaluating: {} of {} properties", done, all); });
  };
  const database::Evaluation result = evaluate(*connection, *program, evaluation);
  line.end();
  const report::Format format = report::format_of(request.format);
  if (format == report::Format::Text) {
    print_text(result, request);
    return code;
  }
  Rows rows = rows_of(result, true);
  limited(request, rows);
  print_tables(format == report::Format::Json ? document_of(result, request.threshold)
                                              : std::vector{properties_table(result, std::move(rows))},
               format, {}, write_to_stdout);
  return code;
}

}  // namespace

void add_properties(Command root, Invocation& invocation) {
  auto request = std::make_shared<PropertiesRequest>();
  Command command =
      root.add("properties", "Evaluate performance properties of an experiment, or of a run in a database");
  Option experiment =
      command
          .option("experiment", request->experiment,
                  "Experiment directory, profile of CUBE (.cubex), Caliper or TAU, or OTF2 archive; no database is "
                  "needed")
          .type("EXPERIMENT");
  add_database_option(command, request->database).excludes(experiment);
  command.option("--program", request->program, "Only runs of this program").type("NAME").excludes(experiment);
  command.option("--version", request->version, "Only runs of this version").type("NAME").excludes(experiment);
  command.option("--run", request->run, "This run (default: the last one that was added)")
      .type("N")
      .excludes(experiment);
  command.option("--properties", request->files, "Further specifications").type("FILE").repeated();
  command.option("--property", request->only, "Only this property; may be repeated").type("PROPERTY").repeated();
  command.option("--basis", request->basis, "The region whose time severities are shares of (default: main)")
      .type("REGION");
  command.option("--threshold", request->threshold, "A property above this severity is a problem")
      .type("S")
      .shows_default();
  command.option("--limit", request->limit, "Rows of a table; 0: all").type("N").shows_default();
  command.flag(
      "--all", request->all,
      "Each context, also those whose severity is nearly that of contexts inside; other formats than text have all");
  command.option("--format", request->format, "How to print").one_of(report::format_names()).shows_default();
  command.when_chosen(
      [request, &invocation] { invocation.exit_code = guarded(properties_name, [&] { return run(*request); }); });
}

}  // namespace refrain::tools
