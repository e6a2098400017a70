#pragma once

namespace refrain::tools {

/// Prints to standard output, one metric per line.
void print_metric_names();

}  // namespace refrain::tools
