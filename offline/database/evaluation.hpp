#pragma once
/// COSY: properties evaluated for a run, ranked by severity (Gerndt and Esser 1999, section 3 and 4).

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
  std::vector<std::pair<std::string, std::string>> context;  ///< parameters and what their objects are called
  double severity = 0, confidence = 0;
  /// Contexts directly inside (regions and call paths that it calls or contains) have nearly all of its severity.
  bool is_outer = false;
};

struct NotEvaluated {
  std::string name, why;
};

struct Evaluation {
  StoredRun run;
  std::string basis;
  std::vector<Found> found;  ///< the most severe ones first
  std::vector<NotEvaluated> not_evaluated;
};

struct EvaluationRequest {
  StoredRun run;
  std::string basis;              ///< a region's name; empty: main, or else the region with most time
  std::vector<std::string> only;  ///< names of properties; empty: all
  std::function<void(std::size_t done, std::size_t all)> progress = [](std::size_t, std::size_t) {};
};

/// The objects of its context, without the run and the basis, which all have.
std::vector<std::string> objects_of(const Found& found, const Evaluation& evaluation);
/// These as in "solve, main"; "the run" when there are none.
std::string context_text(const Found& found, const Evaluation& evaluation);

/// The most severe property of those that are more than a hint (a confidence of 0.5 or more); but when another one that
/// refines it explains at least half of it, in the same region, that one, and so on. Null: none has a severity above 0.
const Found* bottleneck_of(const Evaluation& evaluation);

/// The first parameter that is a TestRun is the run, a Region of the name Basis the basis. Other runs are those of the
/// same program; other objects are those of the run, or of its version.
properties::Contexts contexts_of(const properties::Property& property, const properties::Model& model,
                                 const StoredRun& run, std::int64_t basis);

/// Throws DatabaseError, also when there is no such basis.
Evaluation evaluate(Connection& connection, const properties::Program& program, const EvaluationRequest& request);

}  // namespace refrain::database
