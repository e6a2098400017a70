#pragma once
/// The iterations of a loop: their exact vectors and their clusters, from the log of one location.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "archive/profile.hpp"

namespace refrain::analysis {

/// Index of an overall metric by name (measurement/overall.def), -1 when the file does not have it.
int overall_index(const archive::Loop& loop, std::string_view name);

/// Calls `take(iteration, cluster, row)` for every iteration of the log in order; `row` is by Loop::metrics, the
/// metrics that are not kept being 0, and valid during the call. Nothing is held but one block, however long the log.
/// Returns the number of iterations read: fewer than Loop::iterations when the log is damaged.
std::int64_t for_each_iteration(
    const archive::Loop& loop,
    const std::function<void(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row)>& take);

}  // namespace refrain::analysis
