#include "offline/analysis/cluster_groups.hpp"

#include <algorithm>
#include <cmath>

#include "offline/analysis/iteration_metrics.hpp"
#include "offline/analysis/iteration_shape.hpp"
#include "offline/analysis/iterations.hpp"

namespace refrain::analysis {
namespace {

constexpr std::size_t most_groups = 6, most_blocks = 4;
/// Means that are closer than so many deviations of iterations are taken for one, and so is a twentieth of a mean.
constexpr double most_deviations = 2, least_difference = 0.05;
constexpr double nearly_all_of_them = 0.95;

/// Sum, and sum of squares of the distances from the mean.
struct Moments {
  double count = 0, mean = 0, squares = 0;

  double deviation() const { return count > 0 ? std::sqrt(squares / count) : 0; }
  Moments& operator+=(const Moments& other) {
    const double all = count + other.count;
    if (!(all > 0)) return *this;
    const double apart = other.mean - mean;
    squares += other.squares + apart * apart * count * other.count / all;
    mean += apart * other.count / all;
    count = all;
    return *this;
  }
};

struct Candidate {
  std::vector<std::size_t> clusters;
  bool is_rest = false;
  Moments wall, mpi;
};

/// How much values of iterations scatter without any phases: by how much each differs from the one some places before
/// it, of the distance where that is least, which for phases that take turns is their period; of all these differences
/// the lower quarter, which is of equal phases. Of long loops from windows of iterations all over it.
class Scatter {
 public:
  explicit Scatter(std::int64_t iterations)
      : spacing_(std::max<std::int64_t>(window, iterations / (most_values / window) + 1)) {}
  void add(std::int64_t iteration, double value) {
    if (!std::isfinite(value) || iteration % spacing_ >= window) return;
    if (values_.empty() || iteration % spacing_ == 0) values_.emplace_back();
    values_.back().push_back(value);
  }
  double deviation() const {
    constexpr std::size_t most_lag = 8, fewest = 8;
    constexpr double quarter_of_normal = 0.4506;  // of the distance of two normal values, in their deviations
    double least = -1;
    for (std::size_t lag = 1; lag <= most_lag; ++lag) {
      std::vector<double> apart;
      for (const std::vector<double>& of : values_)
        for (std::size_t i = lag; i < of.size(); ++i) apart.push_back(std::abs(of[i] - of[i - lag]));
      if (apart.size() < fewest) break;
      const auto quarter = apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 4);
      std::nth_element(apart.begin(), quarter, apart.end());
      if (least < 0 || *quarter < least) least = *quarter;
    }
    return std::max(least, 0.0) / quarter_of_normal;
  }

 private:
  static constexpr std::int64_t window = 64, most_values = 8192;
  std::int64_t spacing_;
  std::vector<std::vector<double>> values_;  ///< by window
};

/// So far apart means differ by more than iterations scatter.
struct Scales {
  double wall = 0, mpi = 0;
};

Scales scales_of(const IterationProfiles& profiles, double usual_s) {
  Scatter wall(profiles.loop().iterations), mpi(profiles.loop().iterations);
  const auto wall_of = value_of_metric(profiles, "wall"), mpi_of = value_of_metric(profiles, "mpi");
  for_each_iteration(profiles.loop(), [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
    if (wall_of) wall.add(i, wall_of(i, cluster, row));
    if (mpi_of) mpi.add(i, mpi_of(i, cluster, row));
  });
  const auto scale = [&](const Scatter& of) {
    return most_deviations * std::max(of.deviation(), least_difference * usual_s / 2);
  };
  return {scale(wall), scale(mpi)};
}

/// 1 or less: they do not differ by more than iterations scatter.
double distance(const Candidate& a, const Candidate& b, const Scales& scales) {
  const auto apart = [](const Moments& x, const Moments& y, double scale) {
    return scale > 0 ? std::abs(x.mean - y.mean) / scale : x.mean == y.mean ? 0 : 2;
  };
  return std::max(apart(a.wall, b.wall, scales.wall), apart(a.mpi, b.mpi, scales.mpi));
}

std::vector<Candidate> candidates_of(const experiment::Loop& loop, const std::vector<ClusterSummary>& summaries,
                                     double second) {
  const int mpi_column = overall_index(loop, "mpi");
  std::vector<Candidate> candidates;
  for (std::size_t k = 0; k < summaries.size(); ++k) {
    const ClusterSummary& of = summaries[k];
    const auto members = static_cast<double>(loop.clusters[k].members);
    if (!(members > 0)) continue;
    const auto column = static_cast<std::size_t>(mpi_column);
    const bool has_mpi = mpi_column >= 0 && column < loop.clusters[k].squares.size();
    candidates.push_back({{k},
                          false,
                          {members, of.mean_wall_s, of.deviation_wall_s * of.deviation_wall_s * members},
                          {members, of.mean_mpi_s, has_mpi ? loop.clusters[k].squares[column] / second / second : 0}});
  }
  return candidates;
}

/// `candidates`: by wall time; only neighbours are put together, those with the least `cost` first, as long as
/// `goes_on(cost)`.
template <class Cost, class GoesOn>
void merge(std::vector<Candidate>& candidates, const Cost& cost, const GoesOn& goes_on) {
  while (candidates.size() > 1) {
    std::size_t first = 0;
    double least = -1;
    for (std::size_t i = 0; i + 1 < candidates.size(); ++i) {
      const double here = cost(candidates[i], candidates[i + 1]);
      if (least >= 0 && here >= least) continue;
      least = here;
      first = i;
    }
    if (!goes_on(least)) return;
    Candidate& to = candidates[first];
    Candidate& from = candidates[first + 1];
    to.wall += from.wall;
    to.mpi += from.mpi;
    to.is_rest |= from.is_rest;
    to.clusters.insert(to.clusters.end(), from.clusters.begin(), from.clusters.end());
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(first) + 1);
  }
}

/// Those that are alike; where too many are left, those that lose least by it (Ward, "Hierarchical grouping to optimize
/// an objective function", 1963).
void merge_alike(std::vector<Candidate>& candidates, const Scales& scales) {
  std::ranges::stable_sort(candidates, {}, [](const Candidate& of) { return of.wall.mean; });
  const auto apart = [&](const Candidate& a, const Candidate& b) { return distance(a, b, scales); };
  merge(candidates, apart, [](double least) { return least <= 1; });
  const auto lost = [&](const Candidate& a, const Candidate& b) {
    return a.wall.count * b.wall.count / (a.wall.count + b.wall.count) * std::pow(distance(a, b, scales), 2);
  };
  merge(candidates, lost, [&](double) { return candidates.size() > most_groups; });
}

/// Those with little of the time are one, if they are several.
void put_small_together(std::vector<Candidate>& candidates) {
  constexpr double least_share = 0.01;
  double all_s = 0;
  const auto time_of = [](const Candidate& of) { return of.wall.count * of.wall.mean; };
  for (const Candidate& of : candidates) all_s += time_of(of);
  const auto small = std::stable_partition(candidates.begin(), candidates.end(),
                                           [&](const Candidate& of) { return time_of(of) >= least_share * all_s; });
  if (candidates.end() - small < 2) return;
  small->is_rest = true;
  for (auto other = small + 1; other != candidates.end(); ++other) {
    small->wall += other->wall;
    small->mpi += other->mpi;
    small->clusters.insert(small->clusters.end(), other->clusters.begin(), other->clusters.end());
  }
  candidates.erase(small + 1, candidates.end());
}

/// When the iterations of a group are, which come in ascending order. Holds little of them.
class Places {
 public:
  void add(std::int64_t iteration) {
    ++count_;
    last_ = iteration;
    if (first_.size() < most_held) first_.push_back(static_cast<std::size_t>(iteration));
    // Single iterations of others in between do not end a block.
    constexpr std::int64_t most_gap = 3;
    if (!blocks_.empty() && iteration - blocks_.back().of.last <= most_gap) {
      blocks_.back().of.last = iteration;
      ++blocks_.back().count;
    } else if (blocks_.size() < most_held) blocks_.push_back({{iteration, iteration}, 1});
  }

  /// `all`: iterations of the loop.
  ClusterGroup::When when(std::int64_t all) const {
    using When = ClusterGroup::When;
    When when;
    if (count_ == 0) return when;
    when.blocks = {{static_cast<std::int64_t>(first_.front()), last_}};
    if (static_cast<double>(count_) > nearly_all_of_them * static_cast<double>(all)) {
      when.kind = When::Always;
      return when;
    }
    std::vector<Block> blocks = blocks_;
    std::ranges::stable_sort(blocks, std::greater<>{}, [](const Block& of) { return of.of.last - of.of.first; });
    blocks.resize(std::min(blocks.size(), most_blocks));
    std::int64_t held = 0;
    for (const Block& of : blocks) held += of.count;
    if (static_cast<double>(held) >= nearly_all_of_them * static_cast<double>(count_)) {
      when.kind = When::Blocks;
      when.blocks.clear();
      for (const Block& of : blocks) when.blocks.push_back(of.of);
      std::ranges::sort(when.blocks, {}, &When::Block::first);
      return when;
    }
    // Of very many the first ones tell how they come.
    const bool has_all = static_cast<std::int64_t>(first_.size()) == count_;
    const std::size_t extent = has_all ? static_cast<std::size_t>(all) : first_.back() + 1;
    if (const std::size_t period = period_of(first_, extent); period > 0) {
      when.kind = When::Regular;
      when.period = static_cast<std::int64_t>(period);
    }
    return when;
  }

 private:
  struct Block {
    ClusterGroup::When::Block of;
    std::int64_t count;
  };
  static constexpr std::size_t most_held = 2048;
  std::int64_t count_ = 0, last_ = 0;
  std::vector<std::size_t> first_;
  std::vector<Block> blocks_;
};

}  // namespace

std::vector<ClusterGroup> group_clusters(const IterationProfiles& profiles, const CallTree& tree) {
  const experiment::Loop& loop = profiles.loop();
  const auto summaries = summarise_clusters(profiles, tree);
  std::vector<Candidate> candidates = candidates_of(loop, summaries, profiles.constants().ticks_per_second);
  Moments all;
  for (const Candidate& of : candidates) all += of.wall;
  merge_alike(candidates, scales_of(profiles, all.mean));
  put_small_together(candidates);
  std::vector<std::size_t> group_of(summaries.size(), candidates.size());
  for (std::size_t g = 0; g < candidates.size(); ++g)
    for (const std::size_t k : candidates[g].clusters) group_of[k] = g;
  std::vector<Places> places(candidates.size() + 1);
  for_each_iteration(loop, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t>) {
    if (cluster >= 0 && static_cast<std::size_t>(cluster) < group_of.size())
      places[group_of[static_cast<std::size_t>(cluster)]].add(i);
  });
  std::vector<ClusterGroup> groups;
  for (std::size_t g = 0; g < candidates.size(); ++g) {
    Candidate& of = candidates[g];
    ClusterGroup& group = groups.emplace_back();
    std::vector<double> members(summaries.size());
    for (const std::size_t k : of.clusters) {
      members[k] = static_cast<double>(loop.clusters[k].members);
      group.share += summaries[k].share;
    }
    std::ranges::sort(of.clusters);
    group.clusters = std::move(of.clusters);
    group.is_rest = of.is_rest;
    group.members = of.wall.count;
    group.mean_wall_s = of.wall.mean;
    group.deviation_wall_s = of.wall.deviation();
    group.mean_mpi_s = of.mpi.mean;
    group.when = places[g].when(loop.iterations);
    if (candidates.size() > 1 && !of.is_rest) group.differences = differences_of(profiles, tree, members);
  }
  std::ranges::stable_sort(groups, std::greater<>{}, &ClusterGroup::share);
  return groups;
}

}  // namespace refrain::analysis
