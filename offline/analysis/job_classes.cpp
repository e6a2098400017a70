#include "offline/analysis/job_classes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "format/hashing.hpp"

namespace refrain::analysis {
namespace {

template <std::size_t dimensions>
using Point = std::array<double, dimensions>;

Point<4> means_of(const JobIteration& of, double unit) {
  return {of.wall / unit, of.mpi / unit, of.user / unit, of.slowest / unit};
}
Point<projections> differences_of(const JobIteration& of, double unit) {
  Point<projections> point;
  for (std::size_t d = 0; d < projections; ++d) point[d] = static_cast<double>(of.differences[d]) / unit;
  return point;
}

template <std::size_t dimensions>
struct Centre {
  using Vector = Point<dimensions>;
  double count = 0;
  Vector sum{}, mean{};
  std::array<Vector, dimensions> products{};  ///< sums of the products of each two dimensions

  void add(const Vector& point) {
    ++count;
    for (std::size_t d = 0; d < dimensions; ++d) {
      sum[d] += point[d];
      for (std::size_t e = 0; e < dimensions; ++e) products[d][e] += point[d] * point[e];
    }
    take_mean();
  }
  void add(const Centre& other) {
    count += other.count;
    for (std::size_t d = 0; d < dimensions; ++d) {
      sum[d] += other.sum[d];
      for (std::size_t e = 0; e < dimensions; ++e) products[d][e] += other.products[d][e];
    }
    take_mean();
  }
  void take_mean() {
    for (std::size_t d = 0; d < dimensions; ++d) mean[d] = sum[d] / count;
  }
  double distance_squared(const Vector& point) const {
    double distance = 0;
    for (std::size_t d = 0; d < dimensions; ++d) distance += (mean[d] - point[d]) * (mean[d] - point[d]);
    return distance;
  }
  double distance(const Centre& other) const { return std::sqrt(distance_squared(other.mean)); }
  /// Root of the mean squared distance of its members.
  double scatter() const {
    double variance = 0;
    for (std::size_t d = 0; d < dimensions; ++d) variance += std::max(products[d][d] / count - mean[d] * mean[d], 0.0);
    return std::sqrt(variance);
  }
  /// Variance of its members along `direction`.
  double variance(const Vector& direction) const {
    double squares = 0, along = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      along += direction[d] * mean[d];
      for (std::size_t e = 0; e < dimensions; ++e) squares += direction[d] * direction[e] * products[d][e];
    }
    return std::max(squares / count - along * along, 0.0);
  }
};

/// How far the mean of n chosen values lies from the mean of N by chance, in deviations: the n that lie furthest out in
/// a direction are sqrt(2 ln(N / n)) away in it. If n is small, all dimensions add to the distance.
double by_chance(double all, double chosen, std::size_t dimensions) {
  return std::sqrt(2 * std::log(all / chosen)) + std::sqrt(static_cast<double>(dimensions) / chosen);
}

/// Centres that may be merged.
template <std::size_t dimensions>
class Centres {
 public:
  explicit Centres(std::size_t most) : most_(most) {}

  /// Adds the point to a centre. Returns the number of the centre, which stays valid when it is merged (found()).
  std::uint32_t put(const Point<dimensions>& point) {
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
  /// The centres that are left, the largest first.
  std::vector<std::uint32_t> by_size() const {
    std::vector<std::uint32_t> sorted = open_;
    std::ranges::stable_sort(sorted, [&](auto a, auto b) { return all_[a].count > all_[b].count; });
    return sorted;
  }

 private:
  static constexpr double least_apart = 0.05;  ///< of the mean wall time: smaller distances are of no interest
  /// Gap between projections, in deviations of both. With 0, halves of a normal distribution would nearly touch; what
  /// drifts for long stays longest at its two ends.
  static constexpr double gap = 1.75;
  struct Pair {
    std::uint32_t a, b;
    double distance;
  };
  /// Whether there is a gap between two centres.
  bool are_apart(const Centre<dimensions>& a, const Centre<dimensions>& b, double distance) const {
    if (distance <= least_apart) return false;
    double all = 0;
    for (const std::uint32_t i : open_) all += all_[i].count;
    const double least = std::min(a.count, b.count);
    // Classes by means: one for each level, even if one level passes into the other.
    if constexpr (dimensions != projections)
      return distance > (1 + std::sqrt(2 * std::log(all / least))) * (a.scatter() + b.scatter());
    // Projections have the noise of all places in each dimension.
    Point<dimensions> direction;
    for (std::size_t d = 0; d < dimensions; ++d) direction[d] = (b.mean[d] - a.mean[d]) / distance;
    // A few members tell little of how they scatter, and those nearest to each other scatter least. So few members are
    // taken to scatter like all others, and these, as far as they are few, like all together.
    constexpr double few = 4;
    Centre<dimensions> together;
    for (const std::uint32_t i : open_) together.add(all_[i]);
    double within = few * together.variance(direction);
    for (const std::uint32_t i : open_) within += all_[i].count * all_[i].variance(direction);
    within /= all - static_cast<double>(open_.size()) + few;
    const auto scatter = [&](const Centre<dimensions>& of) {
      return std::sqrt((of.count * of.variance(direction) + few * within) / (of.count + few));
    };
    return distance > (gap + by_chance(all, least, dimensions)) * (scatter(a) + scatter(b));
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
  std::vector<Centre<dimensions>> all_;
  std::vector<std::uint32_t> joined_, open_;  ///< what each centre was merged into; the centres that are left
};

constexpr std::size_t most_centres = 64;

/// Divides the members of a class by differences between places. All parts but the largest get new numbers.
void divide(std::span<const JobIteration> iterations, double unit, std::uint32_t wanted, std::uint32_t most_parts,
            JobClasses& classes) {
  Centres<projections> centres(most_centres);
  std::vector<std::pair<std::size_t, std::uint32_t>> members;
  for (std::size_t i = 0; i < iterations.size(); ++i)
    if (classes.of[i] == wanted && std::isfinite(iterations[i].wall) && std::isfinite(iterations[i].differences[0]))
      members.emplace_back(i, centres.put(differences_of(iterations[i], unit)));
  centres.join_until(most_parts);
  const std::vector<std::uint32_t> parts = centres.by_size();
  for (const auto& [i, centre] : members) {
    const auto part = std::ranges::find(parts, centres.found(centre)) - parts.begin();
    if (part > 0) classes.of[i] = classes.count + static_cast<std::uint32_t>(part) - 1;
  }
  classes.count += static_cast<std::uint32_t>(std::max<std::size_t>(parts.size(), 1)) - 1;
}

/// Renumbers the classes: the one with most iterations first.
void sort_by_size(JobClasses& classes) {
  std::vector<std::size_t> sizes(classes.count);
  for (const std::uint32_t of : classes.of) ++sizes[of];
  std::vector<std::uint32_t> sorted(classes.count), place(classes.count);
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::ranges::stable_sort(sorted, std::greater<>{}, [&](std::uint32_t of) { return sizes[of]; });
  for (std::uint32_t i = 0; i < classes.count; ++i) place[sorted[i]] = i;
  for (std::uint32_t& of : classes.of) of = place[of];
}

}  // namespace

PlaceSigns::PlaceSigns(std::uint64_t place) {
  std::uint64_t bits = format::mixed(place);
  for (Projected* of : {&wall_, &mpi_, &user_})
    for (float& sign : *of) {
      sign = (bits & 1) != 0 ? 1.0F : -1.0F;
      bits >>= 1;
    }
}

PlaceSigns& PlaceSigns::operator+=(const PlaceSigns& other) {
  for (std::size_t i = 0; i < projections; ++i) {
    wall_[i] += other.wall_[i];
    mpi_[i] += other.mpi_[i];
    user_[i] += other.user_[i];
  }
  return *this;
}

void set_differences(JobIteration& of, const PlaceSigns& all, std::size_t places) {
  all.add(-of.wall, -of.mpi, -of.user, of.differences);
  const double scale = std::sqrt(static_cast<double>(projections) * static_cast<double>(places));
  for (float& sum : of.differences) sum = static_cast<float>(static_cast<double>(sum) / scale);
}

JobClasses job_classes(std::span<const JobIteration> iterations, std::uint32_t most) {
  double sum = 0, known = 0;
  for (const JobIteration& of : iterations)
    if (std::isfinite(of.wall)) sum += of.wall, ++known;
  JobClasses classes;
  classes.of.resize(iterations.size());
  if (!(sum > 0)) return classes;
  const double unit = sum / known;
  Centres<4> centres(most_centres);
  std::uint32_t last = 0;
  bool is_first = true;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    if (std::isfinite(iterations[i].wall)) last = centres.put(means_of(iterations[i], unit));
    else if (is_first) continue;  // class 0, which the first known iteration gets, too
    is_first = false;
    classes.of[i] = last;
  }
  centres.join_until(most);
  const std::vector<std::uint32_t> sorted = centres.by_size();
  classes.count = static_cast<std::uint32_t>(sorted.size());
  for (std::uint32_t& of : classes.of)
    of = static_cast<std::uint32_t>(std::ranges::find(sorted, centres.found(of)) - sorted.begin());
  const std::uint32_t by_means = classes.count;
  for (std::uint32_t c = 0; c < by_means; ++c) divide(iterations, unit, c, most - classes.count + 1, classes);
  if (classes.count > by_means) sort_by_size(classes);
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
