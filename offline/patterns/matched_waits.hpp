#pragma once
/// Waiting for late senders from messages that were sampled one by one (trace/matched_messages.hpp): for programs whose
/// iterations, or stretches, are too large to be kept, and those without either.

#include <optional>
#include <vector>

#include "offline/patterns/analysis.hpp"

namespace refrain::patterns {

struct MatchedWait {
  std::uint32_t node;
  double ns = 0, error_ns = 0;  ///< of the run
  std::uint64_t messages = 0;   ///< in the sample
};

/// Of call paths that have received messages of the sample, ascending by node. What one message of the sample has
/// waited on average, times the number of messages that the profile has there. Reads all events. None: nothing was
/// sampled so. `as_level`: of a trace with all events, as if one of 2^as_level messages had been sampled.
std::vector<MatchedWait> matched_waits(const trace::Trace& trace, const Naming& naming,
                                       std::optional<unsigned> as_level = {});

}  // namespace refrain::patterns
