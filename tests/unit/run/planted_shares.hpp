#pragma once
/// Loops whose iterations divide their user time in a way that is known, and the samples that see it. Clusters know
/// nothing of it: iterations fall into them at random, as those of a program do whose MPI calls are always the same.

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "format/kept_iterations.hpp"
#include "offline/run/user_shares.hpp"

namespace refrain::run::test {

enum class Behaviour : std::uint8_t {
  Steady,   ///< nothing changes
  Drift,    ///< a hot spot comes at a quarter of the run, is strongest at half of it, and has gone at three quarters
  Phases,   ///< four phases with other functions
  Peaks,    ///< every 17th iteration takes longer, in a function that the others do not call
  OddEven,  ///< odd iterations call another function than even ones and take a little longer
};

struct PlantedIteration {
  std::int32_t cluster = 0;
  double user = 0;
  std::vector<double> shares;  ///< true ones
  std::vector<PathSamples> samples;
  ShareVariables variables;
};

struct PlantedLoop {
  std::vector<PlantedIteration> iterations;
  std::vector<UserShares::Cluster> clusters;
};

inline PlantedLoop plant(Behaviour behaviour, std::size_t count, double samples_each, std::uint64_t seed,
                         std::size_t paths = 5, std::size_t clusters = 16) {
  std::mt19937_64 random(seed);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  PlantedLoop loop;
  loop.clusters.resize(clusters);
  double until = 0.5 + uniform();
  for (std::size_t i = 0; i < count; ++i) {
    PlantedIteration it;
    const double t = static_cast<double>(i) / static_cast<double>(count);
    std::vector<double> work(paths, 0);
    for (std::size_t p = 0; p < paths; ++p) work[p] = std::pow(0.5, static_cast<double>(p));
    switch (behaviour) {
      case Behaviour::Steady: break;
      case Behaviour::Drift: work[paths - 1] = 4 * std::max(0.0, 1 - std::fabs(t - 0.5) * 4); break;
      case Behaviour::Phases: std::swap(work[0], work[1 + static_cast<std::size_t>(t * 4) % (paths - 1)]); break;
      case Behaviour::Peaks: work[paths - 1] = i % 17 == 16 ? 3 : 0; break;
      case Behaviour::OddEven:
        work[i % 2] *= 1.3;
        work[1 - i % 2] = 0;
        break;
    }
    double all = 0;
    for (const double w : work) all += w;
    it.user = samples_each / 2 * all * (1 + 0.02 * (uniform() - 0.5));
    for (const double w : work) it.shares.push_back(w / all);
    it.cluster = static_cast<std::int32_t>(random() % clusters);
    it.variables.value = {static_cast<std::int64_t>(i), static_cast<std::int64_t>(it.user * 1e6), 10, 100, 100};
    // Ticks at intervals of 0.5 to 1.5 units of time; which call path they meet is chance.
    std::vector<std::int64_t> hits(paths, 0);
    double at = until;
    for (; at < it.user; at += 0.5 + uniform()) {
      double where = uniform();
      std::size_t p = 0;
      while (p + 1 < paths && where >= it.shares[p]) where -= it.shares[p++];
      ++hits[p];
    }
    until = at - it.user;
    for (std::uint32_t p = 0; p < paths; ++p)
      if (hits[p] > 0) it.samples.push_back({p, hits[p]});
    loop.iterations.push_back(std::move(it));
  }
  for (UserShares::Cluster& cluster : loop.clusters)
    for (std::uint32_t p = 0; p < paths; ++p) cluster.paths.push_back({p, 0, 0});
  for (const PlantedIteration& it : loop.iterations) {
    UserShares::Cluster& cluster = loop.clusters[static_cast<std::size_t>(it.cluster)];
    cluster.on_cpu += it.user;
    for (const PathSamples& of : it.samples) {
      cluster.paths[of.path].samples += of.samples;
      cluster.user_ticks += static_cast<double>(of.samples);
    }
  }
  for (UserShares::Cluster& cluster : loop.clusters) {
    cluster.user_weight = cluster.user_ticks;
    for (auto& path : cluster.paths)
      path.time = cluster.user_ticks > 0 ? cluster.on_cpu * static_cast<double>(path.samples) / cluster.user_ticks : 0;
  }
  return loop;
}

inline SharePools::Iteration facts_of(const PlantedLoop& loop, std::size_t i, unsigned level) {
  const PlantedIteration& it = loop.iterations[i];
  SharePools::Iteration of;
  of.cluster = it.cluster;
  of.kept = format::KeptIterations{level}.has(i);
  of.variables = it.variables;
  of.least_on_cpu = of.most_on_cpu = of.cpu = it.user;
  for (const PathSamples& path : it.samples) of.user_ticks += static_cast<double>(path.samples);
  return of;
}

inline SharePools estimate(const PlantedLoop& loop, unsigned level) {
  UserShares shares(loop.clusters);
  for (std::size_t i = 0; i < loop.iterations.size(); ++i)
    if (facts_of(loop, i, level).kept)
      shares.learn(loop.iterations[i].cluster, loop.iterations[i].variables, loop.iterations[i].samples);
  shares.grow();
  for (std::size_t i = 0; i < loop.iterations.size(); ++i) shares.weigh(facts_of(loop, i, level));
  return shares.settle();
}

struct Comparison {
  double wrong = 0;   ///< sum of |estimated - true| / sum of true, over iterations and call paths
  double within = 0;  ///< part of the rows, one for each iteration and call path, that are within 3 errors
  double apart = 0;   ///< largest difference of a call path's sum over iterations from the run's, of all time
  std::size_t leaves = 0;
};

inline Comparison compare(const PlantedLoop& loop, unsigned level) {
  const SharePools shares = estimate(loop, level);
  Comparison out;
  out.leaves = shares.pools.size();
  std::size_t rows = 0, within = 0;
  double all = 0;
  std::vector<double> sums(loop.clusters[0].paths.size(), 0);
  for (std::size_t i = 0; i < loop.iterations.size(); ++i) {
    const PlantedIteration& it = loop.iterations[i];
    const SharePools::Iteration of = facts_of(loop, i, level);
    const SharePools::Pool& pool = *shares.pool_of(of);
    std::vector<double> got(it.shares.size(), 0);
    std::vector<ShareSpread> spread(it.shares.size());
    for (const auto& cell : pool.shares) {
      got[cell.path] = cell.share;
      spread[cell.path] = cell.spread;
    }
    for (std::size_t p = 0; p < got.size(); ++p) {
      sums[p] += got[p] * pool.on_cpu(of);
      out.wrong += std::fabs(got[p] - it.shares[p]) * it.user;
      if (got[p] <= 0 && it.shares[p] <= 0) continue;  // right without more ado
      ++rows;
      within += std::fabs(got[p] - it.shares[p]) <= 3 * pool.error_of(got[p], spread[p]) + 1e-9;
    }
    all += it.user;
  }
  for (std::size_t p = 0; p < sums.size(); ++p) {
    double run = 0;
    for (const auto& cluster : loop.clusters) run += cluster.paths[p].time;
    out.apart = std::max(out.apart, std::fabs(sums[p] - run) / all);
  }
  out.wrong /= all;
  out.within = rows > 0 ? static_cast<double>(within) / static_cast<double>(rows) : 1;
  return out;
}

}  // namespace refrain::run::test
