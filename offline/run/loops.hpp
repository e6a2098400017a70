#pragma once
/// The marked loops of an experiment: where they are, and how to open one.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "offline/experiment/experiment.hpp"
#include "offline/run/iteration_profile.hpp"

namespace refrain::run {

/// Where a loop of one location is.
struct LoopPlace {
  std::size_t place = 0, location = 0, loop = 0;  ///< in Experiment::ranks(), Rank::locations, Location::loops
  std::int32_t rank = 0, thread = 0;
  std::int64_t iterations = 0;
  std::size_t clusters = 0;
};

/// A loop of one location that has been read.
struct OpenLoop {
  experiment::RankHandle rank;
  const experiment::Location* location = nullptr;
  std::unique_ptr<const IterationProfiles> profiles;

  const experiment::Loop& loop() const { return profiles->loop(); }
  /// Whether the location had no thread in the iteration with this cluster and row, so that there is nothing to show,
  /// not even a zero.
  bool was_absent(std::int32_t cluster, std::span<const std::int64_t> row) const;
};

/// Calls `take` with each loop of a rank that was read with its loops. `place`: index in Experiment::ranks().
void for_each_loop_of(const experiment::Rank& rank, std::size_t place,
                      const std::function<void(const LoopPlace&, const experiment::Loop&)>& take);

/// Calls `take` with each loop, rank by rank, with one rank in memory at a time, without the values of clusters.
/// `ranks`: only these; empty: all.
void for_each_loop(const experiment::Experiment& experiment,
                   const std::function<void(const LoopPlace&, const experiment::Loop&, const experiment::Rank&)>& take,
                   const std::function<bool(std::int32_t rank)>& ranks = {});

/// Null: the loop cannot be read (Experiment::damage()); damage that occurred meanwhile may cost locations and loops.
std::shared_ptr<const OpenLoop> open_loop(const experiment::Experiment& experiment, const LoopPlace& of);
/// Opens a loop of a rank that was read. Without the values of clusters (Depth::Loops), whole iterations still have
/// their values, and times by the time rules are as exact as the log.
std::shared_ptr<const OpenLoop> open_loop(const experiment::Experiment& experiment, experiment::RankHandle rank,
                                          const LoopPlace& of);

}  // namespace refrain::run
