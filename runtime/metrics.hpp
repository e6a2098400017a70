#pragma once
/// REFRAIN_METRICS: chooses the requested metrics that can be counted here, and reads them.

#include "config/configuration.hpp"

namespace refrain::runtime {

/// Fills measurement::extra_metrics. A metric that cannot be counted is left out, and rank 0 says so in one line. Does
/// nothing without the option. Call it before the first location is made.
void choose_metrics(const config::Configuration& configuration);

}  // namespace refrain::runtime
