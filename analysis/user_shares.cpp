#include "analysis/user_shares.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/raking.hpp"

namespace refrain::analysis {
namespace {

using Shares = std::vector<ShareTree::Share>;

double n_log_p(double n, double p) { return n > 0 && p > 0 ? n * std::log(p) : 0; }

/// Of two independent sets of samples on call paths; `expected` stands for `samples` of them. What is gained by not
/// taking them for one, as in share_tree.hpp, less what must be gained.
double surplus_gain(std::span<const UserShares::PathSum> found, const Shares& expected, double samples) {
  double n = 0;
  for (const auto& of : found) n += static_cast<double>(of.samples);
  if (n <= 0 || samples <= 0) return -1;
  double gain = 0;
  std::size_t hit = 0, at = 0;
  const auto compare = [&](double a, double b) {
    if (a <= 0 && b <= 0) return;
    const double both = (a + b) / (n + samples);
    gain += n_log_p(a, a / n) + n_log_p(b, b / samples) - n_log_p(a + b, both);
    ++hit;
  };
  for (const auto& of : found) {
    for (; at < expected.size() && expected[at].path < of.path; ++at) compare(0, samples * expected[at].share);
    const bool both = at < expected.size() && expected[at].path == of.path;
    compare(static_cast<double>(of.samples), both ? samples * expected[at++].share : 0);
  }
  for (; at < expected.size(); ++at) compare(0, samples * expected[at].share);
  return 2 * gain - least_gain(static_cast<std::int64_t>(n + samples), hit);
}

/// Gives the paths that `wanted` has and no row has to all rows alike.
void add_missing(std::span<RakedRow> rows, const Shares& wanted, std::uint32_t paths) {
  std::vector<bool> has(paths, false);
  for (const RakedRow& row : rows)
    if (row.mass > 0)
      for (const auto& cell : row.shares) has[cell.path] = true;
  for (const auto& of : wanted)
    if (!has[of.path] && of.share > 0)
      for (RakedRow& row : rows)
        if (row.mass > 0) row.shares.push_back(of);
}

void sort_by_path(Shares& shares) { std::ranges::sort(shares, {}, &ShareTree::Share::path); }

}  // namespace

double UserShares::Pool::error_of(double share, const Quarters& apart) const {
  if (samples <= 0) return 1;
  const double p = std::clamp(share, 0.0, 1.0);
  const double chance = p * (1 - p) / samples;
  double squared = std::max(chance, 1 / (samples * samples));
  for (std::size_t first = 0; first < apart.size(); first += 4) {
    double between = 0;
    for (std::size_t q = first; q < first + 4; ++q) between += static_cast<double>(apart[q]) * apart[q] / 4;
    squared = std::max(squared, between - 3 * chance);  // a quarter's share alone is apart by 3 times chance, squared
  }
  return std::sqrt(squared);
}

void UserShares::Weights::add(const Weights& other) {
  least += other.least;
  most += other.most;
  cpu += other.cpu;
  user_ticks += other.user_ticks;
  mpi_ticks += other.mpi_ticks;
}

UserShares::UserShares(std::vector<Cluster> clusters) : clusters_(std::move(clusters)), kept_(clusters_.size()) {
  std::unordered_map<std::uint32_t, std::map<std::uint32_t, double>> times;
  for (const Cluster& cluster : clusters_) {
    Class& of = classes_[cluster.class_index];
    for (const PathSum& path : cluster.paths) {
      paths_ = std::max(paths_, path.path + 1);
      of.samples += static_cast<double>(path.samples);
      if (path.time > 0) times[cluster.class_index][path.path] += path.time;
    }
  }
  for (const auto& [class_index, of_path] : times) {
    double all = 0;
    for (const auto& [path, time] : of_path) all += time;
    for (const auto& [path, time] : of_path) classes_[class_index].all.push_back({path, time / all});
  }
}

void UserShares::learn(std::int32_t cluster, const ShareVariables& of, std::span<const PathSamples> samples) {
  if (!has(cluster) || samples.empty()) return;
  class_of(cluster).kept.add(of, samples);
  for (const PathSamples& path : samples) {
    paths_ = std::max(paths_, path.path + 1);
    kept_[static_cast<std::size_t>(cluster)][path.path] += path.samples;
  }
}

void UserShares::grow() {
  for (auto& [index, of] : classes_) {
    of.tree = ShareTree::grow(of.kept, of.all);
    of.kept = {};
  }
}

void UserShares::weigh(const Iteration& of) {
  if (!has(of.cluster) || clusters_[static_cast<std::size_t>(of.cluster)].alone) return;
  Class& cls = class_of(of.cluster);
  Part& part = cls.parts[{of.cluster, cls.tree.leaf_of(of.variables)}];
  (of.kept ? part.kept : part.others).add({of.least_on_cpu, of.most_on_cpu, of.cpu, of.user_ticks, of.mpi_ticks});
}

void UserShares::settle() {
  for (auto& [index, of] : classes_) settle(index, of);
}

/// What the samples of the members hit that were not kept.
std::vector<UserShares::PathSum> UserShares::not_kept(std::int32_t cluster) const {
  const auto k = static_cast<std::size_t>(cluster);
  std::vector<PathSum> rest;
  for (const PathSum& path : clusters_[k].paths) {
    const auto kept = kept_[k].find(path.path);
    const std::int64_t samples = path.samples - (kept == kept_[k].end() ? 0 : kept->second);
    if (samples > 0) rest.push_back({path.path, samples, 0});
  }
  return rest;
}

void UserShares::settle(std::uint32_t class_index, Class& of) {
  const auto& leaves = of.tree.leaves();
  // Time on a CPU, by leaf: between what is certain, where the ticks of all its iterations say.
  Weights all;
  std::vector<Weights> of_leaf(leaves.size());
  for (const auto& [where, part] : of.parts)
    for (const Weights& weights : {part.kept, part.others}) {
      of_leaf[where.second].add(weights);
      all.add(weights);
    }
  Cluster sums;
  std::vector<double> targets(paths_, 0);
  double with_path = 0;
  for (const Cluster& cluster : clusters_) {
    if (cluster.class_index != class_index || cluster.alone) continue;
    sums.on_cpu += cluster.on_cpu;
    sums.without_path += cluster.without_path;
    sums.user_ticks += cluster.user_ticks;
    sums.user_weight += cluster.user_weight;
    sums.mpi_ticks += cluster.mpi_ticks;
    sums.mpi_weight += cluster.mpi_weight;
    for (const PathSum& path : cluster.paths) {
      targets[path.path] += path.time;
      with_path += path.time;
    }
  }
  const double per_user_tick = sums.user_ticks > 0 ? sums.user_weight / sums.user_ticks : 1;
  const double per_mpi_tick = sums.mpi_ticks > 0 ? sums.mpi_weight / sums.mpi_ticks : 1;
  const auto cpu_part_of = [&](const Weights& weights) {
    const bool enough = weights.user_ticks + weights.mpi_ticks >= static_cast<double>(enough_samples);
    const Weights& ticks = enough ? weights : all;
    const double user = ticks.user_ticks * per_user_tick, mpi = ticks.mpi_ticks * per_mpi_tick;
    const double room = weights.most - weights.least;
    if (room <= 0) return 1.0;
    const double user_part = user + mpi > 0 ? user / (user + mpi) : 1;
    return std::clamp((weights.cpu * user_part - weights.least) / room, 0.0, 1.0);
  };
  std::vector<double> cpu_part;
  double found = 0;
  for (const Weights& weights : of_leaf) {
    cpu_part.push_back(cpu_part_of(weights));
    found += weights.least + cpu_part.back() * (weights.most - weights.least);
  }
  const double missing = sums.on_cpu - found;
  if (missing > 0 && all.most > found)
    for (double& part : cpu_part) part += std::min(1.0, missing / (all.most - found)) * (1 - part);
  if (missing < 0 && found > all.least)
    for (double& part : cpu_part) part *= 1 - std::min(1.0, -missing / (found - all.least));
  const double without_path =
      with_path + sums.without_path > 0 ? sums.without_path / (with_path + sums.without_path) : 0;
  const auto mass_of = [&](const Weights& weights, std::size_t leaf) {
    return (1 - without_path) * (weights.least + cpu_part[leaf] * (weights.most - weights.least));
  };

  std::vector<RakedRow> rows;  // by pool
  const std::size_t first_pool = pools_.size();
  const auto add_pool = [&](std::size_t leaf, double samples, double mass, const Shares& shares) {
    pools_.push_back({samples, {}, without_path, cpu_part[leaf], pools_.size()});
    rows.push_back({mass, samples, shares});
    return pools_.size() - 1;
  };
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    // A leaf of few samples is drawn to the one above it by one more; a root of few has the shares of the exact sums.
    const std::int64_t own = leaves[leaf].samples;
    const double samples = leaves[leaf].shares.empty() ? 0
                           : own >= enough_samples     ? static_cast<double>(own)
                           : leaves.size() == 1        ? std::max(of.samples, 1.0)
                                                       : static_cast<double>(own + 1);
    of.pool_of_leaf.push_back(add_pool(leaf, samples, 0, leaves[leaf].shares));
  }
  for (auto at = of.parts.begin(); at != of.parts.end();) {
    const std::int32_t cluster = at->first.first;
    const auto begin = at;
    std::vector<RakedRow> others;
    Shares expected;
    std::map<std::uint32_t, double> by_path;
    double mass = 0, pool_samples = 0;
    for (; at != of.parts.end() && at->first.first == cluster; ++at) {
      const std::size_t leaf = at->first.second;
      rows[leaf].mass += mass_of(at->second.kept, leaf);
      const double samples = pools_[of.pool_of_leaf[leaf]].samples;
      others.push_back({mass_of(at->second.others, leaf), samples, leaves[leaf].shares});
      mass += others.back().mass;
      for (const auto& cell : leaves[leaf].shares) by_path[cell.path] += others.back().mass * cell.share;
      if (others.back().mass > 0) pool_samples += samples;
    }
    const auto rest = not_kept(cluster);
    bool own = false;
    if (mass > 0 && !rest.empty()) {
      for (const auto& [path, time] : by_path) expected.push_back({path, time / mass});
      own = surplus_gain(rest, expected, pool_samples) > 0;
    }
    if (own) {
      std::vector<double> wanted(paths_, 0);
      double samples = 0;
      for (const PathSum& path : rest) samples += static_cast<double>(path.samples);
      Shares shares;
      for (const PathSum& path : rest) {
        wanted[path.path] = static_cast<double>(path.samples);
        shares.push_back({path.path, wanted[path.path] / samples});
      }
      add_missing(others, shares, paths_);
      rake_beyond_zeros(others, wanted);
      std::size_t i = 0;
      for (auto part = begin; part != at; ++part, ++i) {
        const std::size_t leaf = part->first.second;
        if (others[i].mass <= 0) continue;
        const double n = std::min(samples, pools_[of.pool_of_leaf[leaf]].samples);
        sort_by_path(others[i].shares);
        of.pool_of_part[part->first] = add_pool(leaf, n, others[i].mass, others[i].shares);
      }
    } else {
      std::size_t i = 0;
      for (auto part = begin; part != at; ++part, ++i) rows[part->first.second].mass += others[i].mass;
    }
  }
  Shares wanted;
  for (std::uint32_t path = 0; path < paths_; ++path)
    if (targets[path] > 0) wanted.push_back({path, targets[path] / with_path});
  add_missing(rows, wanted, paths_);
  apart_ = std::max(apart_, rake_beyond_zeros(rows, targets));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sort_by_path(rows[i].shares);
    pools_[first_pool + i].shares = std::move(rows[i].shares);
  }
  of.parts.clear();
}

const UserShares::Pool* UserShares::pool_of(const Iteration& of) const {
  if (!has(of.cluster)) return nullptr;
  const Class& cls = classes_.at(clusters_[static_cast<std::size_t>(of.cluster)].class_index);
  const std::size_t leaf = cls.tree.leaf_of(of.variables);
  if (!of.kept && !cls.pool_of_part.empty())
    if (const auto own = cls.pool_of_part.find({of.cluster, leaf}); own != cls.pool_of_part.end())
      return &pools_[own->second];
  return &pools_[cls.pool_of_leaf[leaf]];
}

double UserShares::on_cpu(const Pool& pool, const Iteration& of) const {
  return of.least_on_cpu + pool.cpu_part * std::max(0.0, of.most_on_cpu - of.least_on_cpu);
}

}  // namespace refrain::analysis
