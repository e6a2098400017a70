#pragma once
/// What Score-P and Scalasca call metrics and regions, as CubeGUI and its Advisor look for them.

#include <string_view>

#include "offline/export/run.hpp"

namespace refrain::exports {

struct ScalascaMetric {
  const char* ours;
  const char* name;  ///< unique
  const char* title;
};

/// Null: they have no such metric.
const ScalascaMetric* scalasca_metric(std::string_view ours);
/// Of a region: "mpi", "compiler", "user", "unknown".
const char* scalasca_paradigm(RunNode::Kind kind);
/// "barrier", "point2point", "function".
const char* scalasca_role(const RunNode& node);

}  // namespace refrain::exports
