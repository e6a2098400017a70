#pragma once
/// Lists of ranks on the command line, as in 0,4-7.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace refrain::tools {

/// In ascending order, each once. `texts`: "3" or "2-5" each. Throws report::UsageError.
std::vector<std::int32_t> parse_ranks(const std::vector<std::string>& texts);

/// The same, where a rank may have one of its threads with it, as in 0.1,4-7. Of a rank that is named without a thread
/// all are meant.
struct RanksAndThreads {
  std::vector<std::int32_t> ranks;
  std::vector<std::pair<std::int32_t, std::int32_t>> threads;  ///< ascending; of ranks that no thread is named of: none
};
RanksAndThreads parse_ranks_and_threads(const std::vector<std::string>& texts);

}  // namespace refrain::tools
