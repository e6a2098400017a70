#include "offline/run/loops.hpp"

#include <utility>
#include <vector>

#include "offline/experiment/rank_pass.hpp"
#include "offline/run/rows.hpp"

namespace refrain::run {

bool OpenLoop::was_absent(std::int32_t cluster, std::span<const std::int64_t> row) const {
  if (cluster >= 0) return false;
  const int wall = profiles->columns()[format::MetricId::Wall];
  return wall >= 0 && row[static_cast<std::size_t>(wall)] == 0;
}

void for_each_loop_of(const experiment::Rank& rank, std::size_t place,
                      const std::function<void(const LoopPlace&, const experiment::Loop&)>& take) {
  for (std::size_t l = 0; l < rank.locations.size(); ++l) {
    const experiment::Location& location = rank.locations[l];
    for (std::size_t number = 0; number < location.loops.size(); ++number) {
      const experiment::Loop& loop = location.loops[number];
      take({place, l, number, rank.rank, location.thread, loop.iterations, loop.clusters.size()}, loop);
    }
  }
}

void for_each_loop(const experiment::Experiment& experiment,
                   const std::function<void(const LoopPlace&, const experiment::Loop&, const experiment::Rank&)>& take,
                   const std::function<bool(std::int32_t rank)>& ranks) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < experiment.ranks().size(); ++place)
    if (!ranks || ranks(experiment.ranks()[place])) places.push_back(place);
  std::size_t next = 0;
  for_each_rank(experiment, places, experiment::Depth::Loops, [&](const experiment::RankHandle& rank) {
    const std::size_t place = places[next++];
    if (rank) for_each_loop_of(*rank, place, [&](const LoopPlace& of, const auto& loop) { take(of, loop, *rank); });
  });
}

std::vector<SlowIteration> slowest_iterations(const experiment::Loop& loop, const experiment::Rank& rank) {
  const Clock clock(rank.ticks_per_second);
  std::vector<SlowIteration> slowest;
  for (const format::TimedIteration& of : loop.slowest)
    slowest.push_back({static_cast<std::int64_t>(of.number), static_cast<double>(clock.ns(of.wall)) / 1e9});
  return slowest;
}

std::shared_ptr<const OpenLoop> open_loop(const experiment::Experiment& experiment, const LoopPlace& of) {
  return open_loop(experiment, experiment.rank(of.place, experiment::Depth::Whole), of);
}

std::shared_ptr<const OpenLoop> open_loop(const experiment::Experiment& experiment, experiment::RankHandle rank,
                                          const LoopPlace& of) {
  const auto open = std::make_shared<OpenLoop>();
  open->rank = std::move(rank);
  if (!open->rank || of.location >= open->rank->locations.size() ||
      of.loop >= open->rank->locations[of.location].loops.size())
    return nullptr;
  open->location = &open->rank->locations[of.location];
  open->profiles =
      std::make_unique<const IterationProfiles>(experiment.definitions(), *open->rank, *open->location, of.loop);
  return open;
}

}  // namespace refrain::run
