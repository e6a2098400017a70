#pragma once
/// A pass over the ranks of an experiment. While one of them is used, threads read the next ones, or do the larger part
/// of the work with them. The order in which ranks are used, and in which damage is noted, is the same with any number
/// of threads.

#include <any>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>

#include "offline/experiment/experiment.hpp"

namespace refrain::experiment {

/// The variable that says how many threads read, with the caller's; without it as many as there are cores, 8 at most.
inline constexpr const char* threads_variable = "REFRAIN_THREADS";
unsigned threads_for_reading();

/// Calls `work` with the numbers below `count`, by so many threads, each of which takes the lowest one that is left.
/// What they throw is thrown, and the damage that they find is noted, as if one thread had done all in order.
void for_each_in_threads(std::size_t count, unsigned threads, const std::function<void(std::size_t number)>& work);

/// Calls `use` with the ranks at these places, one after the other, on the caller's thread; with null for one of which
/// nothing can be read. Throws what `use` throws, and ReadError when the experiment is strict. Memory: eight ranks for
/// each thread; without what clusters have, as Depth::Whole is read by one thread.
void for_each_rank(const Experiment& experiment, std::span<const std::size_t> places, Depth depth,
                   const std::function<void(const RankHandle& rank)>& use);

/// The same of the ranks that are wanted, `wanted` empty: of all; but for those of which nothing can be read.
void for_each_rank(const Experiment& experiment, const std::function<bool(std::int32_t rank)>& wanted, Depth depth,
                   const std::function<void(const Rank& rank)>& use);

/// The same in two steps: `make` is called with each rank, or null, by several threads at a time, and `use` takes what
/// it has returned, one after the other, on the caller's thread. Throws what either of them throws. Memory: a rank and
/// eight results for each of the threads, which are `most_threads` at most; 0 and 1: the caller's alone.
void for_each_made(const Experiment& experiment, std::span<const std::size_t> places, Depth depth,
                   std::size_t most_threads, const std::function<std::any(const RankHandle& rank)>& make,
                   const std::function<void(std::any made)>& use);

/// `use` gets a reference to the result of `make`, which may be of any type that can be moved.
template <class Make, class Use>
void make_and_use(const Experiment& experiment, std::span<const std::size_t> places, Depth depth,
                  std::size_t most_threads, const Make& make, const Use& use) {
  using Made = std::invoke_result_t<const Make&, const RankHandle&>;
  for_each_made(
      experiment, places, depth, most_threads,
      [&](const RankHandle& rank) { return std::any(std::make_shared<Made>(make(rank))); },
      [&](const std::any& made) { use(*std::any_cast<const std::shared_ptr<Made>&>(made)); });
}

}  // namespace refrain::experiment
