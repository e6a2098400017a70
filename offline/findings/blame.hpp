#pragma once
/// Looks for the call path that makes some iterations, or a rank, slower than others.

#include <cstdint>
#include <functional>
#include <optional>

#include "offline/findings/facts.hpp"
#include "offline/findings/finding.hpp"

namespace refrain::findings {

/// Iterations: some, and others that they are compared with; nothing: neither of them.
using Chosen = std::function<std::optional<bool>(std::size_t iteration)>;

/// `of_rank`: of this one, by its place in LoopFacts::ranks; nothing: of the one that has most more. `excess_s`: how
/// much longer a chosen iteration is than the others, wall time; what is much less is not its cause. 0: whatever the
/// rank has more. Not known where the iterations cannot be read.
Cause blame(const Facts& facts, const LoopFacts& loop, double excess_s, const Chosen& chosen,
            std::optional<std::size_t> of_rank = std::nullopt);

}  // namespace refrain::findings
