#pragma once
/// Random iterations for the tests: exact paths (visits, time, bytes), sampled paths (samples, weight), a few classes.

#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "clustering/types.hpp"

namespace refrain::clustering::test {

inline constexpr std::size_t metrics = 5;  // wall, mpi, calls, bytes, weight
inline const std::vector<Column> exact_columns{{2, true}, {1, true}, {3, true, 2}};
inline const std::vector<Column> sampled_columns{{4, false}, {4, true}};
inline const std::vector<Shape> shapes{{true, 0, exact_columns}, {false, no_column, sampled_columns}};

inline Settings settings(std::uint32_t clusters, Equivalence equivalence = Equivalence::Mpi) {
  Settings s;
  s.equivalence = equivalence;
  s.max_clusters = clusters;
  s.metrics = metrics;
  s.shapes = shapes;
  return s;
}

struct Iteration {
  std::vector<std::int64_t> overall = std::vector<std::int64_t>(metrics);
  struct Path {
    std::uint32_t id;
    std::uint8_t shape;
    std::vector<std::int64_t> values;
  };
  std::vector<Path> paths;

  /// The overall metrics that follow from the paths; `rest`: wall time outside of MPI.
  void add_up(std::int64_t rest) {
    for (const Path& p : paths) {
      if (p.shape == 0) {
        overall[2] += p.values[0];
        overall[1] += p.values[1];
        overall[3] += p.values[2];
      } else {
        overall[4] += p.values[1];
      }
    }
    overall[0] = overall[1] + rest;
  }

  std::set<std::uint32_t> exact_set() const {
    std::set<std::uint32_t> set;
    for (const Path& p : paths)
      if (p.shape == 0) set.insert(p.id);
    return set;
  }
  std::vector<TouchedPath> touched() const {
    std::vector<TouchedPath> out;
    for (const Path& p : paths) out.push_back({PathId{p.id}, p.shape, p.values.data()});
    return out;
  }
};

inline std::vector<Iteration> random_iterations(unsigned seed, std::size_t count, unsigned classes,
                                                unsigned paths = 12) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  std::vector<Iteration> out(count);
  for (Iteration& it : out) {
    const auto cls = static_cast<unsigned>(below(classes));
    const std::int64_t level = below(4) * 100000;
    for (unsigned p = 0; p < paths; ++p) {
      if (p > 0 && p < 11 && (cls >> (p - 1) & 1)) continue;  // the class's bits say which paths are left out
      const std::int64_t big = below(50) == 0 ? std::int64_t{1} << 40 : 0;
      it.paths.push_back({p * 7 + 1, 0, {1 + below(3), level + below(1000) + big, below(3) * 4096}});
    }
    for (std::int64_t n = below(8); n > 0; --n) {
      const auto id = static_cast<std::uint32_t>(1000 + below(60));
      bool there = false;
      for (const auto& p : it.paths) there = there || p.id == id;
      if (!there) it.paths.push_back({id, 1, {1 + below(3), 10000000 + below(100000)}});
    }
    std::shuffle(it.paths.begin(), it.paths.end(), random);
    it.add_up(500000 + below(100000));
  }
  return out;
}

}  // namespace refrain::clustering::test
