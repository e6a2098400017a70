#include "offline/explorer/places.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace refrain::explorer {
namespace {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Distances from the median in multiples of the median distance: no unit, and no single thread decides what is far.
std::vector<double> distances_of(std::span<const Thread> threads, double Thread::*time) {
  std::vector<double> values;
  for (const Thread& thread : threads) values.push_back(thread.*time);
  const double median = median_of(values);
  for (double& value : values) value = std::abs(value - median);
  const double usual = median_of(values);
  if (usual > 0)
    for (double& value : values) value /= usual;
  return values;
}

/// The `count` threads that are farthest from the median.
std::vector<bool> outliers_of(std::span<const Thread> threads, std::size_t count) {
  const auto user = distances_of(threads, &Thread::user_s), mpi = distances_of(threads, &Thread::mpi_s);
  std::vector<std::size_t> sorted(threads.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::stable_sort(sorted, std::greater<>{}, [&](std::size_t i) { return std::max(user[i], mpi[i]); });
  std::vector<bool> is_one(threads.size());
  for (std::size_t i = 0; i < std::min(count, sorted.size()); ++i) is_one[sorted[i]] = true;
  return is_one;
}

}  // namespace

std::vector<double> choose_threads(std::span<const Thread> threads, std::size_t most) {
  if (threads.size() <= most) return std::vector<double>(threads.size(), 1);
  const std::vector<bool> is_outlier = outliers_of(threads, most / 2);
  std::vector<double> weights(threads.size());
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (is_outlier[i]) weights[i] = 1;
    else rest.push_back(i);
  }
  const std::size_t spread = most - most / 2;
  for (std::size_t i = 0; i < spread; ++i)
    weights[rest[i * rest.size() / spread]] = static_cast<double>(rest.size()) / static_cast<double>(spread);
  return weights;
}

std::size_t room_for_values(std::size_t bytes) {
  constexpr double share = 0.55, bytes_of_value = 1.7;  // two bytes, compressed, in base64
  return static_cast<std::size_t>(share * static_cast<double>(bytes) / bytes_of_value);
}

std::size_t room_for_places(std::size_t values, std::size_t rows) {
  constexpr std::size_t least = 128;
  return std::max(values / std::max<std::size_t>(rows, 1), least);
}

Lack lack_of_threads(std::size_t threads) {
  return {"trees", fmt::format("{} threads do not fit into the file one by one: those that differ most in user code or "
                               "in MPI do, the others are groups of neighbours (--size).",
                               threads)};
}

Grouping group_places(std::span<const Thread> threads, std::size_t most) {
  std::map<std::string, std::size_t> hosts;
  for (const Thread& thread : threads) hosts.try_emplace(thread.host, hosts.size());
  std::vector<std::size_t> sorted(threads.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::stable_sort(sorted, {}, [&](std::size_t i) {
    return std::tuple(hosts.at(threads[i].host), threads[i].rank, threads[i].thread);
  });

  Grouping grouping;
  grouping.place_of.resize(threads.size());
  grouping.is_grouped = threads.size() > most;
  const auto alone = grouping.is_grouped ? outliers_of(threads, most / 2) : std::vector<bool>(threads.size(), true);
  const std::size_t groups = std::max<std::size_t>(most - most / 2, 1);
  const std::size_t size = grouping.is_grouped ? (threads.size() - most / 2 + groups - 1) / groups : 1;
  std::size_t open = 0;  // index of the group that is being filled, plus 1; 0: none
  for (const std::size_t i : sorted) {
    const Thread& of = threads[i];
    const bool fits = open > 0 && !alone[i] && grouping.places[open - 1].host == of.host &&
                      grouping.places[open - 1].locations < static_cast<std::int64_t>(size);
    if (!fits) grouping.places.push_back({of.host, of.rank, of.thread, 1, of.rank, {}});
    const std::size_t place = fits ? open - 1 : grouping.places.size() - 1;
    if (fits) {
      ++grouping.places[place].locations;
      grouping.places[place].last_rank = of.rank;
    } else if (!alone[i]) {
      open = place + 1;
    }
    grouping.place_of[i] = static_cast<std::uint32_t>(place);
  }
  return grouping;
}

}  // namespace refrain::explorer
