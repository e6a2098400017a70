#pragma once
/// REFRAIN_METRICS: which of the metrics asked for can be counted here, and how they are read.

#include "config/configuration.hpp"

namespace refrain::runtime {

/// Fills measurement::extra_metrics. What cannot be counted is told in one line each (on rank 0) and left out. Without
/// the option nothing happens. Before the first location.
void choose_metrics(const config::Configuration& configuration);

}  // namespace refrain::runtime
