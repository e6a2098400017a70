#pragma once
/// The iterations of a loop: their exact vectors and their clusters, from the log of one location.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::run {

/// Index of a metric of whole iterations by name (format/metrics.def), -1 when the file does not have it.
int overall_index(const experiment::Loop& loop, std::string_view name);

using TakeIteration =
    std::function<void(std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row)>;

/// Calls `take` for every iteration of the log in order. `row` is by Loop::metrics, with 0 for metrics that are not
/// kept, and is valid during the call. The log is read piece by piece, with one piece in memory at a time. Returns the
/// number of iterations read: fewer than Loop::iterations if some were lost; those of a damaged piece are left out.
///
/// An iteration that the log does not keep (Loop::thinning) has the mean of those of its group that are not kept, so
/// sums over a group are exact, and the cluster of the kept one; but -1 if that cluster has a single member, so that no
/// other iteration can be in it.
std::int64_t for_each_iteration(const experiment::Loop& loop, const TakeIteration& take);

/// Calls `take` for one iteration, and reads no more than that needs. False: there is no iteration of this number.
bool with_iteration(const experiment::Loop& loop, std::int64_t iteration, const TakeIteration& take);

/// How many iterations share the vector of this one: the log keeps one of several, and has the sum over the others. 1:
/// it has a vector of its own.
std::int64_t sharing_vector(const experiment::Loop& loop, std::int64_t iteration);

}  // namespace refrain::run
