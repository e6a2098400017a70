#pragma once
/// A pass over the ranks of an experiment. While one of them is used, threads read the next ones. The order in which
/// ranks are used, and in which damage is noted, is the same with any number of threads.

#include <cstddef>
#include <functional>
#include <span>

#include "offline/experiment/experiment.hpp"

namespace refrain::experiment {

/// The variable that says how many threads read, with the caller's; without it as many as there are cores, 8 at most.
inline constexpr const char* threads_variable = "REFRAIN_THREADS";

/// Calls `use` with the ranks at these places, one after the other, on the caller's thread; with null for one of which
/// nothing can be read. Throws what `use` throws, and ReadError when the experiment is strict. Memory: eight ranks
/// for each thread; without what is in clusters, as Depth::Whole is read by one thread.
void for_each_rank(const Experiment& experiment, std::span<const std::size_t> places, Depth depth,
                   const std::function<void(const RankHandle& rank)>& use);

/// The same of the ranks that are wanted, `wanted` empty: of all; but for those of which nothing can be read.
void for_each_rank(const Experiment& experiment, const std::function<bool(std::int32_t rank)>& wanted, Depth depth,
                   const std::function<void(const Rank& rank)>& use);

}  // namespace refrain::experiment
