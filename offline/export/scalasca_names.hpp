#pragma once
/// Score-P's and Scalasca's names of metrics and regions, which CubeGUI and its Advisor look up.

#include <string_view>

#include "offline/export/run.hpp"

namespace refrain::exports {

struct ScalascaMetric {
  const char* ours;
  const char* name;  ///< unique
  const char* title;
};

/// Null when they have no such metric.
const ScalascaMetric* scalasca_metric(std::string_view ours);
/// Paradigm of a region: "mpi", "compiler", "user", "unknown".
const char* scalasca_paradigm(RunNode::Kind kind);
/// Role of a region, such as "barrier", "point2point" or "function".
const char* scalasca_role(const RunNode& node);

}  // namespace refrain::exports
