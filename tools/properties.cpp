/// `refrain properties`: performance properties of a run, ranked by their severity.

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "offline/database/evaluation.hpp"
#include "tools/complaints.hpp"
#include "tools/console.hpp"
#include "tools/exit_codes.hpp"
#include "tools/progress_line.hpp"
#include "tools/property_commands.hpp"
#include "tools/subcommands.hpp"

namespace refrain::tools {
namespace {

constexpr const char* name = "properties";
constexpr std::size_t usual_rows = 20;

struct Request {
  std::string database = usual_database, program, version, basis, format = "text";
  std::optional<std::int64_t> run;
  std::vector<std::string> files, only;
  double threshold = 0.05;
  int limit = usual_rows;
};

/// "r: solve", without the run and the basis, which all have.
std::string context_text(const database::Found& found, const database::Evaluation& evaluation) {
  std::vector<std::string> parts;
  for (const auto& [parameter, object] : found.context)
    if (parameter != "Basis" && object != evaluation.run.experiment) parts.push_back(object);
  return parts.empty() ? "the run" : fmt::format("{}", fmt::join(parts, ", "));
}

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

void print_text(const database::Evaluation& evaluation, const Request& request) {
  const auto& run = evaluation.run;
  show("run {} of {}, version {}, {} process{}: {}\n\n{}\n", run.run, run.program, run.version, run.processes,
       run.processes == 1 ? "" : "es", run.experiment, sentence(evaluation, request.threshold));
  const std::size_t rows = std::min(
      evaluation.found.size(), request.limit > 0 ? static_cast<std::size_t>(request.limit) : evaluation.found.size());
  std::size_t width = 8;
  for (std::size_t i = 0; i < rows; ++i) width = std::max(width, evaluation.found[i].property->name.size());
  if (rows > 0) show("\n{:>10}  {:>10}  {:<{}}  {}\n", "severity %", "confidence", "property", width, "context");
  for (std::size_t i = 0; i < rows; ++i) {
    const database::Found& of = evaluation.found[i];
    show("{:>10.2f}  {:>10.2f}  {:<{}}  {}\n", 100 * of.severity, of.confidence, of.property->name, width,
         context_text(of, evaluation));
  }
  if (rows < evaluation.found.size()) show("... and {} more (--limit 0 shows all)\n", evaluation.found.size() - rows);
  if (!evaluation.not_evaluated.empty()) show("\nNot evaluated:\n");
  for (const database::NotEvaluated& of : evaluation.not_evaluated) show("  {}: {}\n", of.name, of.why);
}

void print_json(const database::Evaluation& evaluation, double threshold) {
  print_json_object(2, [&](report::JsonWriter& json) {
    const auto members = [&](const database::Found& of) {
      json.member("name", of.property->name);
      json.member_object("context", [&] {
        for (const auto& [parameter, object] : of.context) json.member(parameter, object);
      });
      json.member("severity", of.severity);
      json.member("confidence", of.confidence);
    };

    json.member("run", evaluation.run.run);
    json.member("program", evaluation.run.program);
    json.member("version", evaluation.run.version);
    json.member("experiment", evaluation.run.experiment);
    json.member("basis", evaluation.basis);
    json.member("threshold", threshold);
    json.member("sentence", sentence(evaluation, threshold));
    if (const database::Found* bottleneck = bottleneck_of(evaluation))
      json.member_object("bottleneck", [&] {
        members(*bottleneck);
        json.member("problem", bottleneck->severity > threshold);
      });
    json.member_array("properties", [&] {
      for (const database::Found& of : evaluation.found) json.object([&] { members(of); });
    });
    json.member_array("not_evaluated", [&] {
      for (const database::NotEvaluated& of : evaluation.not_evaluated)
        json.object([&] {
          json.member("name", of.name);
          json.member("why", of.why);
        });
    });
  });
}

int run(const Request& request) {
  try {
    const auto program = read_specifications(request.files);
    if (!program) return exit_usage;
    for (const std::string& wanted : request.only)
      if (program->property(wanted) == nullptr)
        return complain(name, exit_usage,
                        fmt::format("--property {}: there is none of this name; there are {}", wanted,
                                    fmt::join(property_names(*program), ", ")));
    const auto connection = database::Connection::open(request.database, false);
    database::Store store(*connection, *program->model);
    store.check();
    const auto runs = store.runs({request.program, request.version, request.run});
    if (runs.empty())
      return complain(
          name, exit_usage,
          fmt::format("{}: there is no such run; `refrain db list` shows what there is", connection->name()));
    database::EvaluationRequest evaluation;
    evaluation.run = *std::ranges::max_element(runs, {}, &database::StoredRun::run);
    evaluation.basis = request.basis;
    evaluation.only = request.only;
    ProgressLine line;
    evaluation.progress = [&](std::size_t done, std::size_t all) {
      line.show([&] { return fmt::format("evaluating: {} of {} properties", done, all); });
    };
    const database::Evaluation result = evaluate(*connection, *program, evaluation);
    line.end();
    if (request.format == "json") print_json(result, request.threshold);
    else print_text(result, request);
    return exit_ok;
  } catch (const std::exception& error) {
    return complain(name, exit_usage, error.what());
  }
}

}  // namespace

void add_properties(Command root, Invocation& invocation) {
  auto request = std::make_shared<Request>();
  Command command = root.add("properties", "Evaluate performance properties of a run in a database");
  add_database_option(command, request->database);
  command.option("--program", request->program, "Only runs of this program").type("NAME");
  command.option("--version", request->version, "Only runs of this version").type("NAME");
  command.option("--run", request->run, "This run (default: the last one that was added)").type("N");
  command.option("--properties", request->files, "Further specifications").type("FILE").repeated();
  command.option("--property", request->only, "Only this property; may be repeated").type("PROPERTY").repeated();
  command.option("--basis", request->basis, "The region whose time severities are shares of (default: main)")
      .type("REGION");
  command.option("--threshold", request->threshold, "A property above this severity is a problem")
      .type("S")
      .shows_default();
  command.option("--limit", request->limit, "Rows of the text; 0: all").type("N").shows_default();
  command.option("--format", request->format, "How to print").one_of({"text", "json"}).shows_default();
  command.when_chosen([request, &invocation] { invocation.exit_code = run(*request); });
}

}  // namespace refrain::tools
