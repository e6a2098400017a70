/// Two clusterers get the same iterations: the one of clustering/ and the former one (former/), which stored rows as
/// narrow as their values allowed. They must say the same at every iteration and hold the same in the end. Costs are
/// compared bit by bit, so both must round alike: the compiler may fuse no multiplication with an addition.
///
/// Recorded programs: `bench_clustering --recorded DIRECTORY --save SEQUENCES` writes them
/// (bench/clustering/record.py); with REFRAIN_TEST_SEQUENCES=SEQUENCES in the environment all files there are compared,
/// too.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>

#include "bench/clustering/sequence.hpp"
#include "clustering/clusterer.hpp"
#include "tests/unit/clustering/former/clusterer.hpp"
#include "tests/unit/clustering/sequences.hpp"

namespace refrain::clustering {
namespace {

/// Settings for the former clusterer, with what they point at.
struct FormerSettings {
  explicit FormerSettings(const Settings& from) : shapes(from.shapes.size()) {
    for (const OverallColumn& column : from.overall) overall.push_back({column.in_distance, column.precision});
    for (const Shape& shape : from.shapes) {
      auto& own = columns.emplace_back();
      for (const Column& c : shape.columns) own.push_back({c.scales_with, c.in_distance, c.also_scales_with});
    }
    for (std::size_t s = 0; s < shapes.size(); ++s)
      shapes[s] = {from.shapes[s].exact, from.shapes[s].visits, columns[s]};
    settings.equivalence = static_cast<former::Equivalence>(from.equivalence);
    settings.max_clusters = from.max_clusters;
    settings.memory_limit = from.memory_limit;
    settings.overall = overall;
    settings.shapes = shapes;
  }
  std::vector<former::OverallColumn> overall;
  std::vector<std::vector<former::Column>> columns;
  std::vector<former::Shape> shapes;
  former::Settings settings;
};

using Rows = std::map<std::pair<std::uint8_t, std::uint32_t>, PathRow>;

/// The call paths of a cluster, those left out whose sums are all zero and that have no slopes.
template <class AnyClusterer>
Rows rows_of(const AnyClusterer& clusterer, std::uint32_t cluster) {
  Rows out;
  for (std::uint32_t r = 0; r < clusterer.path_count(cluster); ++r) {
    const auto row = clusterer.path(cluster, r);
    if (!row.has_slopes && std::all_of(row.sum, row.sum + row.columns, [](std::int64_t v) { return v == 0; })) continue;
    PathRow& own = out[{row.shape, static_cast<std::uint32_t>(row.path)}];
    own.columns = row.columns;
    own.has_slopes = row.has_slopes;
    std::copy_n(row.sum, max_columns, own.sum);
    std::copy_n(row.slope, max_columns, own.slope);
    std::copy_n(row.second_slope, max_columns, own.second_slope);
  }
  return out;
}

template <class T, class U>
bool same(std::span<T> a, std::span<U> b) {
  return std::ranges::equal(a, b);
}

/// Both of them.
class Pair {
 public:
  explicit Pair(const Settings& settings) {
    const FormerSettings former(settings);
    EXPECT_TRUE(now_.create(settings));
    EXPECT_TRUE(former_.create(former.settings));
  }

  /// False: they differ.
  bool add(std::uint64_t iteration, std::span<const std::int64_t> overall, std::span<const TouchedPath> paths) {
    former_paths_.clear();
    for (const TouchedPath& t : paths)
      former_paths_.push_back({static_cast<former::PathId>(t.path), t.shape, t.values});
    const Added now = now_.add(iteration, {overall, paths});
    const former::Added before = former_.add(iteration, {overall, former_paths_});
    EXPECT_EQ(now.error, Error::None);
    EXPECT_EQ(now.label, before.label) << "iteration " << iteration;
    EXPECT_EQ(now_.merges().size(), former_.merges().size()) << "iteration " << iteration;
    if (testing::Test::HasFailure()) return false;
    for (std::size_t m = 0; m < now_.merges().size(); ++m) {
      EXPECT_EQ(now_.merges()[m].from, former_.merges()[m].from) << "iteration " << iteration;
      EXPECT_EQ(now_.merges()[m].to, former_.merges()[m].to) << "iteration " << iteration;
    }
    now_.drained();
    former_.drained();
    return !testing::Test::HasFailure();
  }

  void expect_same_clusters() const {
    ASSERT_EQ(now_.cluster_count(), former_.cluster_count());
    EXPECT_EQ(now_.class_count(), former_.class_count());
    for (std::uint32_t k = 0; k < now_.cluster_count(); ++k) {
      const ClusterView a = now_.cluster(k);
      const former::ClusterView b = former_.cluster(k);
      ASSERT_EQ(a.label, b.label);
      EXPECT_EQ(a.class_index, b.class_index);
      EXPECT_EQ(a.overflow, b.overflow);
      EXPECT_EQ(a.members, b.members);
      EXPECT_EQ(a.first, b.first);
      EXPECT_EQ(a.last, b.last);
      EXPECT_EQ(a.exemplar, b.exemplar);
      EXPECT_TRUE(same(a.sum, b.sum) && same(a.minimum, b.minimum) && same(a.maximum, b.maximum));
      EXPECT_TRUE(same(a.squares, b.squares));
      const Rows now = rows_of(now_, k), before = rows_of(former_, k);
      ASSERT_EQ(now.size(), before.size());
      for (const auto& [path, row] : now) {
        const auto at = before.find(path);
        ASSERT_NE(at, before.end());
        ASSERT_EQ(row.columns, at->second.columns);
        EXPECT_TRUE(std::equal(row.sum, row.sum + row.columns, at->second.sum));
        EXPECT_EQ(row.has_slopes, at->second.has_slopes);
        for (std::uint32_t c = 0; c < row.columns; ++c) {
          EXPECT_FLOAT_EQ(row.slope[c], at->second.slope[c]);
          EXPECT_FLOAT_EQ(row.second_slope[c], at->second.second_slope[c]);
        }
      }
    }
  }

 private:
  Clusterer now_;
  former::Clusterer former_;
  std::vector<former::TouchedPath> former_paths_;
};

void expect_same(const Settings& settings, const std::vector<test::Iteration>& all) {
  Pair both(settings);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(both.add(i, all[i].overall, all[i].touched()));
    if (i == 3 || i == 1000 || i == 1030) both.expect_same_clusters();
  }
  both.expect_same_clusters();
}

/// At most `most` iterations.
void expect_same(const bench::Sequence& sequence, std::uint32_t clusters, std::size_t most) {
  SCOPED_TRACE(sequence.name + ", " + std::to_string(clusters) + " clusters");
  const auto shapes = sequence.shape_views();
  Settings settings;
  settings.max_clusters = clusters;
  settings.memory_limit = std::size_t{1} << 30;
  settings.overall = sequence.overall;
  settings.shapes = shapes;
  Pair both(settings);
  for (std::size_t i = 0; i < std::min(most, sequence.iterations.size()); ++i) {
    const auto& it = sequence.iterations[i];
    ASSERT_TRUE(both.add(i, it.overall, sequence.touched(it)));
  }
  both.expect_same_clusters();
}

constexpr Equivalence every_equivalence[] = {Equivalence::Mpi, Equivalence::MpiVisits, Equivalence::All,
                                             Equivalence::None};

TEST(Differential, random_iterations_of_few_and_many_classes) {
  for (const Equivalence equivalence : every_equivalence)
    for (const unsigned classes : {1U, 5U, 200U})
      for (const std::uint32_t clusters : {1U, 4U, 32U}) {
        SCOPED_TRACE(testing::Message() << "equivalence " << static_cast<int>(equivalence) << ", " << classes
                                        << " classes, " << clusters << " clusters");
        expect_same(test::settings(clusters, equivalence), test::random_iterations(classes + clusters, 1500, classes));
        if (testing::Test::HasFailure()) return;
      }
}

TEST(Differential, a_long_run_of_one_class_with_rare_sampled_paths) {
  expect_same(test::settings(32), test::iterations_with_rare_paths(51, 12000, 470, 30));
}

TEST(Differential, columns_that_begin_to_vary_and_paths_that_come_late) {
  auto all = test::iterations_with_rare_paths(53, 6000, 100, 6);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (auto& path : all[i].paths) {
      if (path.shape == 0 && i < 400) path.values[0] = 1;
      if (path.shape == 0 && i >= 2000) path.values[2] = static_cast<std::int64_t>(path.id * i % 4096);
    }
    if (i >= 1500) all[i].paths.push_back({static_cast<std::uint32_t>(3000 + i / 100), 1, {1, 1000000}});
    all[i].overall.assign(test::metrics, 0);
    all[i].add_up(500000 + static_cast<std::int64_t>(i % 977) * 1000);
  }
  for (const Equivalence equivalence : {Equivalence::Mpi, Equivalence::None})
    expect_same(test::settings(16, equivalence), all);
}

/// Where memory is short the two store differently, and so choose differently; what comes in comes out of both.
TEST(Differential, totals_are_the_same_where_memory_is_short) {
  const auto all = test::random_iterations(57, 3000, 1024);
  Settings settings = test::settings(8);
  settings.memory_limit = 60000;
  const FormerSettings before(settings);
  Clusterer now;
  former::Clusterer former;
  ASSERT_TRUE(now.create(settings) && former.create(before.settings));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto touched = all[i].touched();
    std::vector<former::TouchedPath> paths;
    for (const TouchedPath& t : touched) paths.push_back({static_cast<former::PathId>(t.path), t.shape, t.values});
    ASSERT_EQ(now.add(i, {all[i].overall, touched}).error, Error::None);
    ASSERT_EQ(former.add(i, {all[i].overall, paths}).error, former::Error::None);
    now.drained();
    former.drained();
  }
  using Totals = std::map<std::pair<std::uint8_t, std::uint32_t>, std::vector<std::int64_t>>;
  const auto totals_of = [](const auto& clusterer) {
    Totals out;
    for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k)
      for (const auto& [path, row] : rows_of(clusterer, k)) {
        auto& sums = out[path];
        sums.resize(row.columns);
        for (std::uint32_t c = 0; c < row.columns; ++c) sums[c] += row.sum[c];
      }
    return out;
  };
  EXPECT_EQ(totals_of(now), totals_of(former));
}

TEST(Differential, programs_of_the_benchmark) {
  for (const std::string& name : bench::generator_names()) {
    const bench::Sequence sequence = bench::generate(name);
    for (const std::uint32_t clusters : {16U, 64U}) expect_same(sequence, clusters, 5000);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Differential, recorded_programs) {
  const char* directory = std::getenv("REFRAIN_TEST_SEQUENCES");
  if (!directory) GTEST_SKIP() << "REFRAIN_TEST_SEQUENCES names no directory of recorded sequences";
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    bench::Sequence sequence;
    ASSERT_TRUE(bench::load(entry.path(), sequence)) << entry.path();
    for (const std::uint32_t clusters : {4U, 16U, 64U, 256U})
      expect_same(sequence, clusters, sequence.iterations.size());
    ++compared;
  }
  EXPECT_GT(compared, 0U);
}

}  // namespace
}  // namespace refrain::clustering
