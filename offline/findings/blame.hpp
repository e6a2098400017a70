#pragma once
/// Looks for the call path that makes some iterations, or a rank, slower than others.

#include <cstdint>
#include <functional>
#include <optional>

#include "offline/findings/facts.hpp"
#include "offline/findings/finding.hpp"

namespace refrain::findings {

/// True: the iteration is chosen; false: chosen ones are compared with it; nothing: neither.
using Chosen = std::function<std::optional<bool>(std::size_t iteration)>;

/// `of_rank`: looks at this rank, by its index in LoopFacts::ranks; nothing: at the rank with the largest excess.
/// `excess_s`: how much longer a chosen iteration is than the others, in wall time; a much smaller excess of a rank is
/// not its cause. 0: any excess of the rank counts. The cause is not known if the iterations cannot be read.
Cause blame(const Facts& facts, const LoopFacts& loop, double excess_s, const Chosen& chosen,
            std::optional<std::size_t> of_rank = std::nullopt);

}  // namespace refrain::findings
