#pragma once
/// Requests that are open while events are read. A program may free requests, and a trace may end before they complete,
/// so what is known of them has to be forgotten some time: the older half, once there are too many. Those that are
/// still open are mostly among the younger ones, and the user counts what was forgotten.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace refrain::trace {

/// How many may be open in a trace of so many locations.
constexpr std::size_t most_open_requests(std::size_t locations) {
  constexpr std::size_t least = std::size_t{1} << 20, of_a_location = std::size_t{1} << 12;
  return std::max(least, of_a_location * locations);
}

/// Removes half of the items of a map, those with the lowest age_of(item), an integer, of one age those with the lowest
/// keys. `forget` is told of each before.
template <class Map, class AgeOf, class Forget>
void forget_older_half(Map& map, const AgeOf& age_of, const Forget& forget) {
  const auto place_of = [&](const auto& item) {
    return std::pair(static_cast<std::int64_t>(age_of(item)), item.first);
  };
  std::vector<std::pair<std::int64_t, typename Map::key_type>> places;
  places.reserve(map.size());
  for (const auto& item : map) places.push_back(place_of(item));
  const auto middle = places.begin() + static_cast<std::ptrdiff_t>(places.size() / 2);
  std::nth_element(places.begin(), middle, places.end());
  std::erase_if(map, [&](const auto& item) {
    const bool is_old = place_of(item) < *middle;
    if (is_old) forget(item);
    return is_old;
  });
}

}  // namespace refrain::trace
