#pragma once
/// Lists of ranks on the command line, as in 0,4-7.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace refrain::tools {

/// Returns the ranks in ascending order, each once. Each of `texts` is "3" or "2-5". Throws report::UsageError.
std::vector<std::int32_t> parse_ranks(const std::vector<std::string>& texts);

/// Ranks and threads of a list in which a rank may be followed by one of its threads, as in 0.1,4-7. A rank without a
/// thread means all of its threads.
struct RanksAndThreads {
  std::vector<std::int32_t> ranks;
  std::vector<std::pair<std::int32_t, std::int32_t>> threads;  ///< ascending; none for a rank named without a thread
};
RanksAndThreads parse_ranks_and_threads(const std::vector<std::string>& texts);

}  // namespace refrain::tools
