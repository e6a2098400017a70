#pragma once
/// Lists of ranks on the command line, as in 0,4-7.

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::tools {

/// In ascending order, each once. `texts`: "3" or "2-5" each. Throws report::UsageError.
std::vector<std::int32_t> parse_ranks(const std::vector<std::string>& texts);

}  // namespace refrain::tools
