#include "offline/analysis/job_classes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace refrain::analysis {
namespace {

constexpr std::size_t dimensions = 4;
using Point = std::array<double, dimensions>;

Point point_of(const JobIteration& of, double unit) {
  return {of.wall / unit, of.mpi / unit, of.user / unit, of.slowest / unit};
}

struct Centre {
  double count = 0;
  Point sum{}, squares{};

  void add(const Point& point) {
    ++count;
    for (std::size_t d = 0; d < dimensions; ++d) {
      sum[d] += point[d];
      squares[d] += point[d] * point[d];
    }
  }
  void add(const Centre& other) {
    count += other.count;
    for (std::size_t d = 0; d < dimensions; ++d) {
      sum[d] += other.sum[d];
      squares[d] += other.squares[d];
    }
  }
  double distance_squared(const Point& point) const {
    double distance = 0;
    for (std::size_t d = 0; d < dimensions; ++d) distance += std::pow(sum[d] / count - point[d], 2);
    return distance;
  }
  double distance(const Centre& other) const {
    Point mean;
    for (std::size_t d = 0; d < dimensions; ++d) mean[d] = other.sum[d] / other.count;
    return std::sqrt(distance_squared(mean));
  }
  /// Root of the mean squared distance of its members.
  double scatter() const {
    double variance = 0;
    for (std::size_t d = 0; d < dimensions; ++d)
      variance += std::max(squares[d] / count - std::pow(sum[d] / count, 2), 0.0);
    return std::sqrt(variance);
  }
};

/// Centres that may become one another.
class Centres {
 public:
  explicit Centres(std::size_t most) : most_(most) {}

  /// Which centre the point is of, by a number that stays.
  std::uint32_t put(const Point& point) {
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (const double distance = all_[open_[i]].distance_squared(point); distance < least)
        least = distance, nearest = i;
    if (!open_.empty() && least <= reach_ * reach_) {
      all_[open_[nearest]].add(point);
      return open_[nearest];
    }
    const auto number = static_cast<std::uint32_t>(all_.size());
    all_.emplace_back().add(point);
    joined_.push_back(number);
    open_.push_back(number);
    if (open_.size() > most_) reach_ = std::max(reach_, join_nearest());
    return number;
  }

  void join_until(std::size_t most) {
    while (open_.size() > 1) {
      const auto [a, b, distance] = nearest();
      if (open_.size() <= most && are_apart(all_[a], all_[b], distance)) return;
      join(a, b);
    }
  }

  std::uint32_t found(std::uint32_t number) const {
    while (joined_[number] != number) number = joined_[number];
    return number;
  }
  /// Those that are left, the largest first.
  std::vector<std::uint32_t> by_size() const {
    std::vector<std::uint32_t> sorted = open_;
    std::ranges::stable_sort(sorted, [&](auto a, auto b) { return all_[a].count > all_[b].count; });
    return sorted;
  }

 private:
  static constexpr double least_apart = 0.05;  ///< of the mean wall time: what is less says nothing to anybody
  struct Pair {
    std::uint32_t a, b;
    double distance;
  };
  /// Whether there is a gap between them. Of N values, n lie sqrt(2 ln(N / n)) deviations out by chance.
  bool are_apart(const Centre& a, const Centre& b, double distance) const {
    double all = 0;
    for (const std::uint32_t i : open_) all += all_[i].count;
    const double by_chance = std::sqrt(2 * std::log(all / std::min(a.count, b.count)));
    return distance > least_apart && distance > (1 + by_chance) * (a.scatter() + b.scatter());
  }
  Pair nearest() const {
    Pair best{0, 0, std::numeric_limits<double>::infinity()};
    for (std::size_t i = 0; i < open_.size(); ++i)
      for (std::size_t k = i + 1; k < open_.size(); ++k)
        if (const double distance = all_[open_[i]].distance(all_[open_[k]]); distance < best.distance)
          best = {open_[i], open_[k], distance};
    return best;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    all_[a].add(all_[b]);
    joined_[b] = a;
    std::erase(open_, b);
  }
  double join_nearest() {
    const Pair pair = nearest();
    join(pair.a, pair.b);
    return pair.distance;
  }

  std::size_t most_;
  double reach_ = least_apart / 2;
  std::vector<Centre> all_;
  std::vector<std::uint32_t> joined_, open_;  ///< what each has become; those that are still there
};

}  // namespace

JobClasses job_classes(std::span<const JobIteration> iterations, std::uint32_t most) {
  constexpr std::size_t most_centres = 64;
  double sum = 0, known = 0;
  for (const JobIteration& of : iterations)
    if (std::isfinite(of.wall)) sum += of.wall, ++known;
  JobClasses classes;
  classes.of.resize(iterations.size());
  if (!(sum > 0)) return classes;
  Centres centres(most_centres);
  std::uint32_t last = 0;
  bool is_first = true;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (std::isfinite(iterations[i].wall)) last = centres.put(point_of(iterations[i], sum / known));
    else if (is_first) continue;  // number 0, which the first known one gets, too
    is_first = false;
    classes.of[i] = last;
  }
  centres.join_until(most);
  const std::vector<std::uint32_t> sorted = centres.by_size();
  classes.count = static_cast<std::uint32_t>(sorted.size());
  for (std::uint32_t& of : classes.of)
    of = static_cast<std::uint32_t>(std::ranges::find(sorted, centres.found(of)) - sorted.begin());
  return classes;
}

std::vector<std::pair<std::int64_t, std::int64_t>> runs_of_class(std::span<const std::uint32_t> of,
                                                                 std::uint32_t wanted, std::size_t most) {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  std::int64_t members = 0;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i] != wanted) continue;
    ++members;
    const auto here = static_cast<std::int64_t>(i);
    if (!runs.empty() && runs.back().second == here - 1) runs.back().second = here;
    else runs.emplace_back(here, here);
  }
  const auto length = [](const auto& run) { return run.second - run.first + 1; };
  std::ranges::stable_sort(runs, std::greater<>{}, length);
  if (runs.size() > most) runs.resize(most);
  const std::int64_t held = std::transform_reduce(runs.begin(), runs.end(), std::int64_t{0}, std::plus<>{}, length);
  constexpr std::int64_t tenths = 9, all_tenths = 10;
  if (held * all_tenths < members * tenths) return {};
  std::ranges::sort(runs);
  return runs;
}

}  // namespace refrain::analysis
