#pragma once
/// What the sentences of findings share.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "offline/findings/facts.hpp"

namespace refrain::findings {

std::string times_text(double ratio);  ///< "2.1 times", "12 times"
/// "rank 3", "ranks 0-3, 7", "17 ranks". Ascending.
std::string ranks_text(std::span<const std::int32_t> ranks);
/// "10, 20, 30, ...".
std::string list_text(std::span<const std::size_t> numbers);

// Of a finding in the iterations of a loop.

/// Seconds of one rank as a share of the time of all.
double share_of(const Facts& facts, const LoopFacts& loop, double seconds);
/// Words that show its iterations.
std::vector<std::string> more_of(const Facts& facts, const LoopFacts& loop, const char* metric = nullptr);
/// "loop step". What few of many ranks tell is scaled to all of them, which is said.
std::string name_of(const LoopFacts& loop);

}  // namespace refrain::findings
