#pragma once
/// COSY: evaluates properties for a run and ranks them by severity (Gerndt and Esser 1999, sections 3 and 4).

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "offline/database/store.hpp"
#include "offline/properties/program.hpp"

namespace refrain::database {

/// A property that holds in a context.
struct Found {
  const properties::Property* property = nullptr;
  std::vector<std::pair<std::string, std::string>> context;  ///< parameters and the names of their objects
  double severity = 0, confidence = 0;
  /// Contexts directly inside (regions and call paths that this one calls or contains) have nearly all of its severity.
  bool is_outer = false;
};

struct NotEvaluated {
  std::string name, why;
};

struct Evaluation {
  StoredRun run;
  std::string basis;
  std::vector<Found> found;  ///< most severe first
  std::vector<NotEvaluated> not_evaluated;
};

struct EvaluationRequest {
  StoredRun run;
  std::string basis;              ///< a region's name; empty: main, or else the region with most time
  std::vector<std::string> only;  ///< names of properties; empty: all
  std::function<void(std::size_t done, std::size_t all)> progress = [](std::size_t, std::size_t) {};
};

/// The objects of a context, without the run and the basis, which every context has.
std::vector<std::string> objects_of(const Found& found, const Evaluation& evaluation);
/// objects_of() as text: "solve, main"; "the run" when there are none.
std::string context_text(const Found& found, const Evaluation& evaluation);

/// The most severe property that is more than a hint (a confidence of 0.5 or more). If another one that refines it
/// explains at least half of its severity, in the same region, that one is taken instead, and so on. Null when none has
/// a severity above 0.
const Found* bottleneck_of(const Evaluation& evaluation);

/// Conditions for the parameters of a property: the first TestRun is the run, and a Region named Basis is the basis.
/// Other runs are those of the same program; other objects are those of the run, or of its version.
properties::Contexts contexts_of(const properties::Property& property, const properties::Model& model,
                                 const StoredRun& run, std::int64_t basis);

/// Throws DatabaseError, also when there is no such basis.
Evaluation evaluate(Connection& connection, const properties::Program& program, const EvaluationRequest& request);

}  // namespace refrain::database
