#pragma once

namespace refrain::tools {

/// To standard output, one metric a line.
void print_metric_names();

}  // namespace refrain::tools
