#include "offline/experiment/rank_pass.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "offline/experiment/made_ahead.hpp"

namespace refrain::experiment {

unsigned threads_for_reading() {
  constexpr unsigned usual = 8, most = 256;
  unsigned threads = 0;
  if (const char* text = std::getenv(threads_variable)) std::from_chars(text, text + std::strlen(text), threads);
  if (threads == 0) threads = std::min(std::thread::hardware_concurrency(), usual);
  return std::clamp(threads, 1U, most);
}

void for_each_rank(const Experiment& experiment, std::span<const std::size_t> places, Depth depth,
                   const std::function<void(const RankHandle& rank)>& use) {
  constexpr std::size_t worth_a_thread = 16;
  // Iterations take much memory.
  const bool is_worth_it = depth == Depth::Run && places.size() >= worth_a_thread;
  const unsigned threads = is_worth_it ? threads_for_reading() : 1;
  MadeAhead<RankHandle> ahead(places.size(), threads - 1,
                              [&](std::size_t number) { return experiment.rank(places[number], depth); });
  for (std::size_t i = 0; i < places.size(); ++i) use(ahead.next());
}

void for_each_rank(const Experiment& experiment, const std::function<bool(std::int32_t rank)>& wanted, Depth depth,
                   const std::function<void(const Rank& rank)>& use) {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < experiment.ranks().size(); ++place)
    if (!wanted || wanted(experiment.ranks()[place])) places.push_back(place);
  for_each_rank(experiment, places, depth, [&](const RankHandle& rank) {
    if (rank) use(*rank);
  });
}

}  // namespace refrain::experiment
