#pragma once
/// Passes over the ranks of an experiment. While one rank is used, threads read the next ones, or do the larger part of
/// the work with them. The order in which ranks are used and damage is logged is the same with any number of threads.

#include <any>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>

#include "offline/experiment/experiment.hpp"

namespace refrain::experiment {

/// Environment variable: number of threads that read, including the caller's. Default: number of cores, at most 8.
inline constexpr const char* threads_variable = "REFRAIN_THREADS";
unsigned threads_for_reading();

/// Calls `work` with each number below `count` on this many threads, each of which takes the lowest number left.
/// Exceptions are thrown and damage is logged as if one thread had done all in order.
void for_each_in_threads(std::size_t count, unsigned threads, const std::function<void(std::size_t number)>& work);

/// Calls `use` with the ranks at these places in order, on the caller's thread; with null for a rank of which nothing
/// can be read. Throws what `use` throws, and ReadError when the experiment is strict. Memory: eight ranks per thread,
/// without the values of clusters, because Depth::Whole is read by one thread.
void for_each_rank(const Experiment& experiment, std::span<const std::size_t> places, Depth depth,
                   const std::function<void(const RankHandle& rank)>& use);

/// As above, for the wanted ranks (all when `wanted` is empty), except those of which nothing can be read.
void for_each_rank(const Experiment& experiment, const std::function<bool(std::int32_t rank)>& wanted, Depth depth,
                   const std::function<void(const Rank& rank)>& use);

/// The same in two steps: several threads call `make` with each rank, or null, and the caller's thread calls `use` with
/// the results in order. Throws what either of them throws. Memory: a rank and eight results per thread. There are at
/// most `most_threads` threads; 0 and 1: only the caller's.
void for_each_made(const Experiment& experiment, std::span<const std::size_t> places, Depth depth,
                   std::size_t most_threads, const std::function<std::any(const RankHandle& rank)>& make,
                   const std::function<void(std::any made)>& use);

/// As for_each_made(): `use` gets a reference to the result of `make`, which may be of any movable type.
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
