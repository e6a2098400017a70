// The clustering against its former one (former/), iteration by iteration: the same labels and merges, the same sums,
// extremes and slopes. Programs are random, generated ones of bench_clustering, and recorded ones: files *.seq in the
// directory REFRAIN_SEQUENCES, which `bench_clustering --recorded DIRECTORY --save DIRECTORY` writes.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <vector>

#include "bench/clustering/sequence.hpp"
#include "clustering/clusterer.hpp"
#include "tests/unit/clustering/former/clusterer.hpp"
#include "tests/unit/clustering/sequences.hpp"

namespace refrain::clustering {
namespace {

struct Row {
  std::vector<std::int64_t> sum;
  std::vector<float> slope, second_slope;
  bool operator==(const Row&) const = default;
};
using Rows = std::map<std::pair<std::uint32_t, std::uint8_t>, Row>;

/// Rows whose sums are all zero may be left out.
void add_row(Rows& rows, PathId path, std::uint8_t shape, std::uint32_t columns, bool has_slopes, const auto& row) {
  Row out{{row.sum, row.sum + columns}, {}, {}};
  if (has_slopes) {
    out.slope.assign(row.slope, row.slope + columns);
    out.second_slope.assign(row.second_slope, row.second_slope + columns);
  }
  if (std::ranges::all_of(out.sum, [](std::int64_t value) { return value == 0; })) return;
  rows[{static_cast<std::uint32_t>(path), shape}] = std::move(out);
}

class Both {
 public:
  explicit Both(const Settings& settings) {
    EXPECT_TRUE(now_.create(settings));
    EXPECT_TRUE(before_.create(settings));
  }

  void add(std::uint64_t iteration, const IterationProfile& profile) {
    const Label now = now_.add(iteration, profile);
    const former::Added before = before_.add(iteration, profile);
    ASSERT_NE(now, no_label);
    ASSERT_EQ(before.error, former::Error::None);
    ASSERT_EQ(now, before.label) << "iteration " << iteration;
    ASSERT_EQ(now_.merges().size(), before_.merges().size()) << "iteration " << iteration;
    for (std::size_t m = 0; m < now_.merges().size(); ++m) {
      ASSERT_EQ(now_.merges()[m].from, before_.merges()[m].from) << "iteration " << iteration;
      ASSERT_EQ(now_.merges()[m].to, before_.merges()[m].to) << "iteration " << iteration;
    }
    now_.drained();
    before_.drained();
  }

  void expect_equal_clusters() const {
    ASSERT_EQ(now_.cluster_count(), before_.cluster_count());
    EXPECT_EQ(now_.class_count(), before_.class_count());
    for (std::uint32_t k = 0; k < now_.cluster_count(); ++k) {
      const ClusterView now = now_.cluster(k);
      const former::ClusterView before = before_.cluster(k);
      EXPECT_EQ(now.label, before.label);
      EXPECT_EQ(now.class_index, before.class_index);
      EXPECT_EQ(now.overflow, before.overflow);
      EXPECT_EQ(now.members, before.members);
      EXPECT_EQ(now.first, before.first);
      EXPECT_EQ(now.last, before.last);
      EXPECT_EQ(now.exemplar, before.exemplar);
      EXPECT_TRUE(std::ranges::equal(now.sum, before.sum));
      EXPECT_TRUE(std::ranges::equal(now.minimum, before.minimum));
      EXPECT_TRUE(std::ranges::equal(now.maximum, before.maximum));
      EXPECT_TRUE(std::ranges::equal(now.squares, before.squares));
      Rows rows_now, rows_before;
      EXPECT_TRUE(now_.for_each_path(k, [&](const PathRow& row) {
        add_row(rows_now, row.path, row.shape, row.columns, row.has_slopes, row);
        return true;
      }));
      for (std::uint32_t r = 0; r < before_.path_count(k); ++r) {
        const former::PathRow row = before_.path(k, r);
        add_row(rows_before, row.path, row.shape, row.columns, row.has_slopes, row);
      }
      EXPECT_EQ(rows_now, rows_before) << "cluster " << k;
    }
  }

 private:
  Clusterer now_;
  former::Clusterer before_;
};

void expect_same(const Settings& settings, const std::vector<test::Iteration>& all) {
  Both both(settings);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto touched = all[i].touched();
    both.add(i, {all[i].overall, touched});
    if (testing::Test::HasFatalFailure()) return;
    if (i == 50 || i == 1500) both.expect_equal_clusters();
  }
  both.expect_equal_clusters();
}

void expect_same(const bench::Sequence& sequence, std::uint32_t clusters) {
  const auto shapes = sequence.shape_views();
  Settings settings;
  settings.max_clusters = clusters;
  settings.memory_limit = std::size_t{1} << 30;
  settings.metrics = sequence.overall.size();
  settings.shapes = shapes;
  Both both(settings);
  for (std::size_t i = 0; i < sequence.iterations.size(); ++i) {
    const auto touched = sequence.touched(sequence.iterations[i]);
    both.add(i, {sequence.iterations[i].overall, touched});
    if (testing::Test::HasFatalFailure()) return;
  }
  both.expect_equal_clusters();
}

TEST(Differential, random_programs) {
  for (const Equivalence equivalence :
       {Equivalence::Mpi, Equivalence::MpiVisits, Equivalence::All, Equivalence::None}) {
    // Where visits or sampled paths make classes, nearly each iteration has its own.
    const bool many = equivalence == Equivalence::MpiVisits || equivalence == Equivalence::All;
    for (unsigned seed = 1; seed <= 4; ++seed)
      for (const std::uint32_t clusters : {1U, 16U, 64U}) {
        SCOPED_TRACE(testing::Message() << "equivalence " << static_cast<int>(equivalence) << ", seed " << seed << ", "
                                        << clusters << " clusters");
        expect_same(test::settings(clusters, equivalence), test::random_iterations(seed, many ? 900 : 8000, 5 * seed));
      }
  }
}

TEST(Differential, large_values_and_columns_that_begin_to_vary) {
  std::mt19937_64 random(7);
  std::vector<test::Iteration> all(7000);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    for (std::uint32_t p = 0; p < 9; ++p) {
      const std::int64_t time = 1000 + below(i > 2000 ? std::uint64_t{1} << 36 : 100);
      all[i].paths.push_back({p, 0, {3, time, i > 4500 ? below(9) : 5}});
    }
    for (std::uint32_t p = 0; p < below(6); ++p)
      all[i].paths.push_back({static_cast<std::uint32_t>(100 + below(40 + i / 20)) * 8 + p, 1, {1, below(1 << 20)}});
    if (i % 7 == 3) std::swap(all[i].paths[2], all[i].paths[5]);
    all[i].add_up(below(1000000));
  }
  for (const std::uint32_t clusters : {4U, 64U}) expect_same(test::settings(clusters), all);
}

TEST(Differential, generated_programs) {
  for (const std::string& name : bench::generator_names()) {
    const bench::Sequence sequence = bench::generate(name);
    for (const std::uint32_t clusters : {4U, 64U}) {
      SCOPED_TRACE(name + ", " + std::to_string(clusters) + " clusters");
      expect_same(sequence, clusters);
    }
  }
}

TEST(Differential, recorded_programs) {
  const char* directory = std::getenv("REFRAIN_SEQUENCES");
  if (!directory) GTEST_SKIP() << "REFRAIN_SEQUENCES names no directory";
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".seq") continue;
    bench::Sequence sequence;
    ASSERT_TRUE(bench::load(entry.path(), sequence)) << entry.path();
    for (const std::uint32_t clusters : {4U, 16U, 64U, 256U}) {
      SCOPED_TRACE(sequence.name + ", " + std::to_string(clusters) + " clusters");
      expect_same(sequence, clusters);
    }
  }
}

}  // namespace
}  // namespace refrain::clustering
