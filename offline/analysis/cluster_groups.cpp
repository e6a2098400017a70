#include "offline/analysis/cluster_groups.hpp"

#include <algorithm>
#include <cmath>

#include "offline/analysis/iteration_shape.hpp"
#include "offline/analysis/sampled_difference.hpp"
#include "offline/run/iteration_metrics.hpp"
#include "offline/run/iterations.hpp"
#include "statistics/statistics.hpp"

namespace refrain::analysis {
namespace {

using statistics::Moments;

constexpr std::size_t most_groups = 6, most_blocks = 4;
/// Means that differ by less than this many deviations of iterations, or by less than a twentieth of the loop's mean,
/// count as equal.
constexpr double most_deviations = 2, least_difference = 0.05;
constexpr double nearly_all_of_them = 0.95;

/// Iterations of a cluster: all of them, or those between two of the times at which the cluster is cut.
struct Piece {
  std::size_t cluster, part;
  auto operator<=>(const Piece&) const = default;
};

struct Candidate {
  std::vector<Piece> pieces;
  bool is_rest = false;
  Moments wall, mpi;
};

/// How much the values of iterations scatter within a phase. Compares each iteration with the one at a fixed distance
/// before it, for the distance at which they differ least (the period of phases that take turns), and takes the lower
/// quarter of these differences, which is of equal phases. Long loops are sampled in windows all over the loop, as far
/// as the log keeps all iterations: means of groups scatter less.
class Scatter {
 public:
  explicit Scatter(const experiment::Loop& loop)
      : iterations_(loop.thinning.level > 0 ? loop.thinning.from : loop.iterations),
        spacing_(std::max<std::int64_t>(window, iterations_ / (most_values / window) + 1)) {}
  void add(std::int64_t iteration, double value) {
    if (!std::isfinite(value) || iteration >= iterations_ || iteration % spacing_ >= window) return;
    if (values_.empty() || iteration % spacing_ == 0) values_.emplace_back();
    values_.back().push_back(value);
  }
  double deviation() const {
    constexpr std::size_t most_lag = 8, fewest = 8;
    constexpr double quarter = 0.25;
    double least = -1;
    for (std::size_t lag = 1; lag <= most_lag; ++lag) {
      std::vector<double> apart;
      for (const std::vector<double>& of : values_)
        for (std::size_t i = lag; i < of.size(); ++i) apart.push_back(std::abs(of[i] - of[i - lag]));
      if (apart.size() < fewest) break;
      if (const double of_lag = statistics::quantile(apart, quarter); least < 0 || of_lag < least) least = of_lag;
    }
    return std::max(least, 0.0) / statistics::quarter_of_distance;
  }

 private:
  static constexpr std::int64_t window = 64, most_values = 8192;
  std::int64_t iterations_, spacing_;
  std::vector<std::vector<double>> values_;  ///< by window
};

/// Means farther apart than this differ by more than iterations scatter.
struct Scales {
  double wall = 0, mpi = 0;
};

Scales scales_of(const run::IterationProfiles& profiles, double usual_s) {
  Scatter wall(profiles.loop()), mpi(profiles.loop());
  const auto wall_of = run::value_of_metric(profiles, "wall"), mpi_of = run::value_of_metric(profiles, "mpi");
  run::for_each_iteration(profiles.loop(),
                          [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
                            if (wall_of) wall.add(i, wall_of(i, cluster, row));
                            if (mpi_of) mpi.add(i, mpi_of(i, cluster, row));
                          });
  const auto scale = [&](const Scatter& of) {
    return most_deviations * std::max(of.deviation(), least_difference * usual_s / 2);
  };
  return {scale(wall), scale(mpi)};
}

/// At 1 or less, the candidates do not differ by more than iterations scatter.
double distance(const Candidate& a, const Candidate& b, const Scales& scales) {
  const auto apart = [](const Moments& x, const Moments& y, double scale) {
    return scale > 0 ? std::abs(x.mean - y.mean) / scale : x.mean == y.mean ? 0 : 2;
  };
  return std::max(apart(a.wall, b.wall, scales.wall), apart(a.mpi, b.mpi, scales.mpi));
}

/// Cuts clusters that hold iterations of quite different times because on-line clustering had no room for more of them.
class Cuts {
 public:
  Cuts(const run::IterationProfiles& profiles, const std::vector<ClusterSummary>& summaries, double least_gap)
      : wall_of_(run::value_of_metric(profiles, "wall")), cuts_(summaries.size()) {
    std::vector<std::vector<double>> values(summaries.size());
    std::vector<std::int64_t> seen(summaries.size());
    const std::int64_t mixed =
        std::ranges::count_if(summaries, [&](const auto& of) { return is_mixed(of, least_gap); });
    if (mixed == 0 || !wall_of_) return;
    const auto is_wanted = [&](std::size_t k) { return is_mixed(summaries[k], least_gap); };
    for_each_of(profiles, is_wanted, [&](std::size_t k, std::int64_t, double wall_s, std::span<const std::int64_t>) {
      if (!is_wanted(k)) return;
      const std::int64_t step = summaries[k].cluster->members / (most_values / mixed + 1) + 1;
      if (seen[k]++ % step == 0) values[k].push_back(wall_s);
    });
    for (std::size_t k = 0; k < values.size(); ++k) cuts_[k] = gaps_of(std::move(values[k]), least_gap);
  }
  bool any() const {
    return std::ranges::any_of(cuts_, [](const std::vector<double>& of) { return !of.empty(); });
  }
  bool is_cut(std::size_t k) const { return !cuts_[k].empty(); }
  std::size_t parts(std::size_t k) const { return cuts_[k].size() + 1; }
  std::size_t part_of(std::size_t k, double wall_s) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(cuts_[k], wall_s) - cuts_[k].begin());
  }
  /// Calls `use(cluster, iteration, wall time, row of the log)`. The wall time is 0, in the first part, if it is not
  /// known or the cluster is not cut.
  template <class Use>
  void for_each(const run::IterationProfiles& profiles, const Use& use) const {
    for_each_of(
        profiles, [this](std::size_t k) { return is_cut(k); }, use);
  }

 private:
  static constexpr std::int64_t most_values = 16384;  ///< held at most, of all clusters together

  template <class IsWallWanted, class Use>
  void for_each_of(const run::IterationProfiles& profiles, const IsWallWanted& is_wall_wanted, const Use& use) const {
    run::for_each_iteration(profiles.loop(),
                            [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
                              if (cluster < 0 || static_cast<std::size_t>(cluster) >= cuts_.size()) return;
                              const auto k = static_cast<std::size_t>(cluster);
                              const double wall_s = wall_of_ && is_wall_wanted(k) ? wall_of_(i, cluster, row) : 0;
                              use(k, i, std::isfinite(wall_s) ? wall_s : 0, row);
                            });
  }
  static bool is_mixed(const ClusterSummary& of, double least_gap) {
    return of.cluster->members > 1 && of.deviation_wall_s > least_gap / 2;
  }
  /// Returns cuts in the middle of the largest gaps.
  static std::vector<double> gaps_of(std::vector<double> values, double least_gap) {
    constexpr std::size_t most_cuts = 8;
    std::ranges::sort(values);
    std::vector<std::pair<double, double>> gaps;  // width, middle
    for (std::size_t i = 1; i < values.size(); ++i)
      if (const double gap = values[i] - values[i - 1]; gap > least_gap)
        gaps.emplace_back(gap, (values[i] + values[i - 1]) / 2);
    std::ranges::sort(gaps, std::greater<>{});
    gaps.resize(std::min(gaps.size(), most_cuts));
    std::vector<double> cuts;
    for (const auto& [gap, middle] : gaps) cuts.push_back(middle);
    std::ranges::sort(cuts);
    return cuts;
  }

  run::IterationValue wall_of_;
  std::vector<std::vector<double>> cuts_;  ///< by cluster, ascending
};

std::vector<Candidate> candidates_of(const run::IterationProfiles& profiles,
                                     const std::vector<ClusterSummary>& summaries, const Cuts& cuts) {
  const experiment::Loop& loop = profiles.loop();
  const double tick_s = profiles.seconds(1);
  const int mpi_column = run::overall_index(loop, "mpi");
  std::vector<std::vector<Candidate>> parts(summaries.size());
  bool any_cut = false;
  for (std::size_t k = 0; k < summaries.size(); ++k) {
    const ClusterSummary& of = summaries[k];
    const auto members = static_cast<double>(loop.clusters[k].members);
    if (!(members > 0)) continue;
    for (std::size_t part = 0; cuts.is_cut(k) && part < cuts.parts(k); ++part)
      parts[k].push_back({{{k, part}}, false, {}, {}});
    any_cut |= cuts.is_cut(k);
    if (cuts.is_cut(k)) continue;
    const auto column = static_cast<std::size_t>(mpi_column);
    const bool has_mpi = mpi_column >= 0 && column < loop.clusters[k].squares.size();
    parts[k].push_back({{{k, 0}},
                        false,
                        {members, of.mean_wall_s, of.deviation_wall_s * of.deviation_wall_s * members},
                        {members, of.mean_mpi_s, has_mpi ? loop.clusters[k].squares[column] * tick_s * tick_s : 0}});
  }
  if (any_cut) {
    const auto mpi_of = run::value_of_metric(profiles, "mpi");
    cuts.for_each(profiles, [&](std::size_t k, std::int64_t i, double wall_s, std::span<const std::int64_t> row) {
      if (!cuts.is_cut(k)) return;
      Candidate& to = parts[k][cuts.part_of(k, wall_s)];
      const double mpi_s = mpi_of ? mpi_of(i, static_cast<std::int32_t>(k), row) : 0;
      to.wall += Moments{1, wall_s, 0};
      if (std::isfinite(mpi_s)) to.mpi += Moments{1, mpi_s, 0};
    });
    // The log of a long loop may have another number of iterations with the label of a cluster than it has members.
    for (std::size_t k = 0; k < parts.size(); ++k) {
      double logged = 0;
      for (const Candidate& part : parts[k]) logged += part.wall.count;
      if (!cuts.is_cut(k) || logged == 0) continue;
      const double factor = static_cast<double>(loop.clusters[k].members) / logged;
      for (Candidate& part : parts[k])
        for (Moments* of : {&part.wall, &part.mpi}) of->count *= factor, of->squares *= factor;
    }
  }
  std::vector<Candidate> candidates;
  for (std::vector<Candidate>& of : parts)
    for (Candidate& part : of)
      if (part.wall.count > 0) candidates.push_back(std::move(part));
  return candidates;
}

/// Merges neighbours in `candidates`, which are sorted by wall time: the pair with the least `cost` first, as long as
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
    to.pieces.insert(to.pieces.end(), from.pieces.begin(), from.pieces.end());
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(first) + 1);
  }
}

/// Merges candidates that are alike, then, while too many are left, the pair that loses least by it (Ward,
/// "Hierarchical grouping to optimize an objective function", 1963).
void merge_alike(std::vector<Candidate>& candidates, const Scales& scales) {
  std::ranges::stable_sort(candidates, {}, [](const Candidate& of) { return of.wall.mean; });
  const auto apart = [&](const Candidate& a, const Candidate& b) { return distance(a, b, scales); };
  merge(candidates, apart, [](double least) { return least <= 1; });
  const auto lost = [&](const Candidate& a, const Candidate& b) {
    return a.wall.count * b.wall.count / (a.wall.count + b.wall.count) * std::pow(distance(a, b, scales), 2);
  };
  merge(candidates, lost, [&](double) { return candidates.size() > most_groups; });
}

/// Merges the candidates that have little of the time, if there are several.
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
    small->pieces.insert(small->pieces.end(), other->pieces.begin(), other->pieces.end());
  }
  candidates.erase(small + 1, candidates.end());
}

/// Finds where the iterations of a group lie. They are added in ascending order, and few of them are held.
class Places {
 public:
  void add(std::int64_t iteration) {
    ++count_;
    last_ = iteration;
    if (first_.size() < most_held) first_.push_back(static_cast<std::size_t>(iteration));
    // Single iterations of other groups in between do not end a block.
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
    // If there are too many to hold, the first ones tell the period.
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

/// Differences of a group that has a part of a cluster, from the times of iterations and from their samples: values of
/// a cluster are those of all its iterations.
std::vector<ClusterDifference> differences_of_parts(const CallTree& tree, const Candidate& own, const Candidate& others,
                                                    const SampledTimes& samples,
                                                    const SampledTimes& samples_of_others) {
  constexpr double most_of_it = 0.5;
  std::vector<ClusterDifference> all;
  const double wall_s = own.wall.mean - others.wall.mean, mpi_s = own.mpi.mean - others.mpi.mean,
               user_s = samples.user_s() - samples_of_others.user_s();
  const auto is_most = [&](double part_s) {
    return part_s * wall_s > 0 && std::abs(part_s) > most_of_it * std::abs(wall_s);
  };
  if (is_most(user_s)) {
    const std::uint32_t node = user_s > 0 ? node_of_difference(tree, samples, samples_of_others, user_s)
                                          : node_of_difference(tree, samples_of_others, samples, -user_s);
    if (node != 0) all.push_back({node, "time", true, samples.seconds(node), samples_of_others.seconds(node)});
  }
  if (is_most(mpi_s)) all.push_back({0, "mpi", true, own.mpi.mean, others.mpi.mean});
  all.push_back({0, "wall", true, own.wall.mean, others.wall.mean});
  return all;
}

}  // namespace

std::vector<ClusterGroup> group_clusters(const run::IterationProfiles& profiles, const CallTree& tree) {
  const experiment::Loop& loop = profiles.loop();
  const auto summaries = summarise_clusters(profiles, tree);
  double all_s = 0, count = 0;
  for (std::size_t k = 0; k < summaries.size(); ++k) {
    all_s += summaries[k].mean_wall_s * static_cast<double>(loop.clusters[k].members);
    count += static_cast<double>(loop.clusters[k].members);
  }
  const Scales scales = scales_of(profiles, count > 0 ? all_s / count : 0);
  const Cuts cuts(profiles, summaries, scales.wall);
  std::vector<Candidate> candidates = candidates_of(profiles, summaries, cuts);
  merge_alike(candidates, scales);
  put_small_together(candidates);
  std::vector<std::vector<std::size_t>> group_of;  // by cluster and part
  for (std::size_t k = 0; k < summaries.size(); ++k) group_of.emplace_back(cuts.parts(k), candidates.size());
  std::vector<std::vector<double>> members(candidates.size(), std::vector<double>(summaries.size()));
  for (std::size_t g = 0; g < candidates.size(); ++g)
    for (const Piece& of : candidates[g].pieces) {
      group_of[of.cluster][of.part] = g;
      if (!cuts.is_cut(of.cluster)) members[g][of.cluster] = static_cast<double>(loop.clusters[of.cluster].members);
    }
  std::vector<Places> places(candidates.size() + 1);
  std::vector<SampledTimes> samples(cuts.any() ? candidates.size() : 0, SampledTimes(tree.nodes.size()));
  const auto user_of = run::value_of_metric(profiles, "user");
  const bool has_samples = cuts.any() && user_of && profiles.samples_stride() > 0;
  cuts.for_each(profiles, [&](std::size_t k, std::int64_t i, double wall_s, std::span<const std::int64_t> row) {
    const std::size_t g = group_of[k][cuts.is_cut(k) ? cuts.part_of(k, wall_s) : 0];
    places[g].add(i);
    if (g >= members.size()) return;
    if (const auto* kept = has_samples ? profiles.recorded_samples(i) : nullptr)
      if (const double user_s = user_of(i, static_cast<std::int32_t>(k), row); std::isfinite(user_s))
        samples[g].add(tree, user_s, *kept);
  });
  std::vector<ClusterGroup> groups;
  for (std::size_t g = 0; g < candidates.size(); ++g) {
    Candidate& of = candidates[g];
    ClusterGroup& group = groups.emplace_back();
    for (const Piece& piece : of.pieces) group.clusters.push_back(piece.cluster);
    std::ranges::sort(group.clusters);
    group.clusters.erase(std::ranges::unique(group.clusters).begin(), group.clusters.end());
    group.is_rest = of.is_rest;
    group.members = of.wall.count;
    group.share = all_s > 0 ? of.wall.count * of.wall.mean / all_s : 0;
    group.mean_wall_s = of.wall.mean;
    group.deviation_wall_s = of.wall.deviation();
    group.mean_mpi_s = of.mpi.mean;
    group.when = places[g].when(loop.iterations);
    if (candidates.size() < 2 || of.is_rest) continue;
    if (std::ranges::none_of(of.pieces, [&](const Piece& piece) { return cuts.is_cut(piece.cluster); })) {
      group.differences = differences_of(profiles, tree, members[g]);
      continue;
    }
    Candidate others{{}, false, {}, {}};
    SampledTimes samples_of_others(tree.nodes.size());
    for (std::size_t other = 0; other < candidates.size(); ++other) {
      if (other == g) continue;
      others.wall += candidates[other].wall;
      others.mpi += candidates[other].mpi;
      samples_of_others.add(samples[other]);
    }
    group.differences = differences_of_parts(tree, of, others, samples[g], samples_of_others);
  }
  std::ranges::stable_sort(groups, std::greater<>{}, &ClusterGroup::share);
  return groups;
}

}  // namespace refrain::analysis
