#pragma once
/// Requests that are open while events are read. A program may free requests, and a trace may end before they complete,
/// so what is known of them has to be forgotten some time: the older half, once there are too many. Those that are
/// still open are mostly among the younger ones, and the user counts what was forgotten.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace refrain::trace {

/// How many may be open in a trace of so many locations.
constexpr std::size_t most_open_requests(std::size_t locations) {
  constexpr std::size_t least = std::size_t{1} << 20, of_a_location = std::size_t{1} << 12;
  return std::max(least, of_a_location * locations);
}

/// Removes half of the items of a map, those with the lowest age_of(item), an integer. `forget` is told of each before.
template <class Map, class AgeOf, class Forget>
void forget_older_half(Map& map, const AgeOf& age_of, const Forget& forget) {
  const std::size_t half = map.size() / 2;
  if (half == 0) return;
  std::vector<std::int64_t> ages;
  ages.reserve(map.size());
  for (const auto& item : map) ages.push_back(static_cast<std::int64_t>(age_of(item)));
  const auto middle = ages.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(ages.begin(), middle, ages.end());
  const std::int64_t limit = *middle;
  auto equal = static_cast<std::size_t>(std::count_if(ages.begin(), middle, [&](auto age) { return age == limit; }));
  std::erase_if(map, [&](const auto& item) {
    const auto age = static_cast<std::int64_t>(age_of(item));
    const bool is_old = age < limit || (age == limit && equal > 0);
    if (!is_old) return false;
    equal -= age == limit;
    forget(item);
    return true;
  });
}

}  // namespace refrain::trace
