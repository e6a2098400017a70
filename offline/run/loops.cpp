#include "offline/run/loops.hpp"

#include <utility>
#include <vector>

#include "offline/experiment/rank_pass.hpp"

namespace refrain::run {

bool OpenLoop::was_absent(std::int32_t cluster, std::span<const std::int64_t> row) const {
  if (cluster >= 0) return false;
  const int wall = profiles->columns()[format::MetricId::Wall];
  return wall >= 0 && row[static_cast<std::size_t>(wall)] == 0;
}

void for_each_loop(const experiment::Experiment& experiment,
                   const std::function<void(const LoopPlace&, const experiment::Loop&, const experiment::Rank&)>& take,
                   const std::function<bool(std::int32_t rank)>& ranks) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < experiment.ranks().size(); ++place)
    if (!ranks || ranks(experiment.ranks()[place])) places.push_back(place);
  auto place = places.begin();
  for_each_rank(experiment, places, experiment::Depth::Loops, [&](const experiment::RankHandle& rank) {
    const std::size_t of_rank = *place++;
    for (std::size_t l = 0; rank && l < rank->locations.size(); ++l)
      for (std::size_t number = 0; number < rank->locations[l].loops.size(); ++number) {
        const experiment::Loop& loop = rank->locations[l].loops[number];
        take({of_rank, l, number, rank->rank, rank->locations[l].thread, loop.iterations, loop.clusters.size()}, loop,
             *rank);
      }
  });
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
