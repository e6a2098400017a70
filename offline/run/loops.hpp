#pragma once
/// The marked loops of an experiment: where they are, and one that is read.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "offline/experiment/experiment.hpp"
#include "offline/run/iteration_profile.hpp"

namespace refrain::run {

/// A loop of one location.
struct LoopPlace {
  std::size_t place = 0, location = 0, loop = 0;  ///< in Experiment::ranks(), Rank::locations, Location::loops
  std::int32_t rank = 0, thread = 0;
  std::int64_t iterations = 0;
  std::size_t clusters = 0;
};

/// The same, read.
struct OpenLoop {
  experiment::RankHandle rank;
  const experiment::Location* location = nullptr;
  std::unique_ptr<const IterationProfiles> profiles;

  const experiment::Loop& loop() const { return profiles->loop(); }
  /// Whether the location had no thread in an iteration of these, so that there is nothing to show: not even a zero.
  bool was_absent(std::int32_t cluster, std::span<const std::int64_t> row) const;
};

/// Calls `take` with each loop of a rank that was read with its loops; `place`: in Experiment::ranks().
void for_each_loop_of(const experiment::Rank& rank, std::size_t place,
                      const std::function<void(const LoopPlace&, const experiment::Loop&)>& take);

/// Rank by rank, of which one is in memory at a time, without what clusters have. `ranks`: only these; empty: all.
void for_each_loop(const experiment::Experiment& experiment,
                   const std::function<void(const LoopPlace&, const experiment::Loop&, const experiment::Rank&)>& take,
                   const std::function<bool(std::int32_t rank)>& ranks = {});

struct SlowIteration {
  std::int64_t number = 0;
  double wall_s = 0;
};
/// Those that the location has kept by number; none: they are not known.
std::vector<SlowIteration> slowest_iterations(const experiment::Loop& loop, const experiment::Rank& rank);

/// Null: it cannot be read (Experiment::damage()). What has become damaged meanwhile may cost locations and loops.
std::shared_ptr<const OpenLoop> open_loop(const experiment::Experiment& experiment, const LoopPlace& of);
/// The same of a rank that is read. Without what its clusters have (Depth::Loops) whole iterations have their values,
/// and times that follow from rules are as exact as the log.
std::shared_ptr<const OpenLoop> open_loop(const experiment::Experiment& experiment, experiment::RankHandle rank,
                                          const LoopPlace& of);

}  // namespace refrain::run
