#pragma once
/// `refrain info names EXPERIMENT`: which function names an experiment has, and where they come from.

#include <string>

namespace refrain::tools {

/// `format`: text or json. Returns an exit code. Throws experiment::ReadError.
int print_names(const std::string& experiment, const std::string& format);

}  // namespace refrain::tools
