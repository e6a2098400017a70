#include "tools/explorer_properties.hpp"

#include "offline/database/add_run.hpp"
#include "offline/database/evaluation.hpp"
#include "offline/database/native_run.hpp"
#include "tools/property_commands.hpp"
#include "tools/read_run.hpp"

namespace refrain::tools {

std::vector<explorer::FoundProperty> properties_of(const std::shared_ptr<const experiment::Experiment>& experiment,
                                                   const analysis::CallTree& tree,
                                                   const std::vector<report::NodeWait>& waits, std::size_t most) {
  const auto program = read_specifications({});
  if (!program) return {};
  const std::vector<database::NodeWaiting> waiting = waiting_of(waits);
  const auto connection = database::Connection::open(":memory:", true);
  database::Store store(*connection, *program->model);
  {
    database::Writing writing(*connection, [] {});
    store.prepare();
    const auto source = database::native_run(experiment, tree, waiting);
    database::add_run(*connection, *program->model, *source, {});
    writing.commit();
  }
  database::EvaluationRequest request;
  const auto runs = store.runs();
  if (runs.empty()) return {};
  request.run = runs.front();
  const database::Evaluation evaluation = evaluate(*connection, *program, request);
  std::vector<explorer::FoundProperty> properties;
  for (const database::Found& of : evaluation.found) {
    if (properties.size() == most) break;
    explorer::FoundProperty& to = properties.emplace_back();
    to.name = of.property->name;
    to.severity = of.severity;
    to.confidence = of.confidence;
    to.context = context_text(of, evaluation);
    if (const auto objects = objects_of(of, evaluation); !objects.empty()) to.region = objects.front();
  }
  return properties;
}

}  // namespace refrain::tools
