#include "clustering/clusterer.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

#include "offline/run/reconstruct.hpp"
#include "tests/unit/clustering/clusterer_memory.hpp"
#include "tests/unit/clustering/sequences.hpp"

namespace refrain::clustering {
namespace {

using run::reconstruct;
using run::ReconstructionInput;

using test::Iteration;
using test::random_iterations;

/// What a clusterer has said so far: label of every iteration, all merges.
struct Record {
  std::vector<Label> labels;
  std::map<Label, Label> merged;

  Label resolve(Label label) const {
    for (auto at = merged.find(label); at != merged.end(); at = merged.find(label)) label = at->second;
    return label;
  }
  /// Members of the cluster that ended with this label.
  std::vector<std::size_t> members(Label label) const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (resolve(labels[i]) == label) out.push_back(i);
    return out;
  }
};

/// False: it was refused.
bool add(Clusterer& clusterer, Record& record, const Iteration& it) {
  const auto touched = it.touched();
  const Label label = clusterer.add(record.labels.size(), {it.overall, touched});
  if (label == no_label) return false;
  record.labels.push_back(label);
  for (const Merge& m : clusterer.merges()) {
    EXPECT_FALSE(record.merged.contains(m.from)) << "a label dies once";
    record.merged[m.from] = m.to;
  }
  clusterer.drained();
  return true;
}

using Sums = std::map<std::pair<std::uint32_t, std::uint8_t>, std::vector<std::int64_t>>;

void add_paths(Sums& sums, const Iteration& it) {
  for (const auto& p : it.paths) {
    auto& row = sums[{p.id, p.shape}];
    row.resize(p.values.size());
    for (std::size_t c = 0; c < row.size(); ++c) row[c] += p.values[c];
  }
}

Sums paths_of(const Clusterer& clusterer, std::uint32_t index) {
  Sums out;
  EXPECT_TRUE(clusterer.for_each_path(index, [&](const PathRow& row) {
    auto& sums = out[{static_cast<std::uint32_t>(row.path), row.shape}];
    EXPECT_TRUE(sums.empty()) << "a path comes once";
    sums.assign(row.sum, row.sum + row.columns);
    return true;
  }));
  return out;
}

/// Everything that a cluster says, against its members one by one.
void expect_clusters_are_their_members(const Clusterer& clusterer, const Record& record,
                                       const std::vector<Iteration>& all) {
  std::size_t seen = 0;
  Label before{0};
  for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k) {
    const ClusterView view = clusterer.cluster(k);
    EXPECT_TRUE(k == 0 || before < view.label);
    before = view.label;
    const auto members = record.members(view.label);
    ASSERT_EQ(view.members, members.size());
    seen += members.size();
    EXPECT_EQ(view.first, members.front());
    EXPECT_EQ(view.last, members.back());
    EXPECT_TRUE(std::ranges::binary_search(members, view.exemplar));
    Sums sums;
    for (const std::size_t i : members) add_paths(sums, all[i]);
    EXPECT_EQ(paths_of(clusterer, k), sums);
    for (std::size_t m = 0; m < test::metrics; ++m) {
      std::int64_t sum = 0, low = INT64_MAX, high = INT64_MIN;
      for (const std::size_t i : members) {
        sum += all[i].overall[m];
        low = std::min(low, all[i].overall[m]);
        high = std::max(high, all[i].overall[m]);
      }
      EXPECT_EQ(view.sum[m], sum);
      EXPECT_EQ(view.minimum[m], low);
      EXPECT_EQ(view.maximum[m], high);
      const double mean = static_cast<double>(sum) / static_cast<double>(members.size());
      double squares = 0;
      for (const std::size_t i : members) squares += std::pow(static_cast<double>(all[i].overall[m]) - mean, 2);
      EXPECT_NEAR(view.squares[m], squares, 1e-9 * squares + 1e-9 * mean * mean);
    }
  }
  EXPECT_EQ(seen, record.labels.size());
}

struct Case {
  Equivalence equivalence;
  unsigned classes;
  std::uint32_t clusters;
};

class EveryEquivalence : public testing::TestWithParam<Case> {};

TEST_P(EveryEquivalence, clusters_are_exactly_their_members_at_every_moment) {
  const auto& param = GetParam();
  const auto all = random_iterations(7, 1200, param.classes);
  Clusterer clusterer;
  ASSERT_TRUE(clusterer.create(test::settings(param.clusters, param.equivalence)));
  Record record;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(add(clusterer, record, all[i]));
    if (i == 5 || i == 100 || i + 1 == all.size()) expect_clusters_are_their_members(clusterer, record, all);
  }
}

TEST_P(EveryEquivalence, no_cluster_holds_two_classes_even_when_all_hashes_are_equal) {
  const auto& param = GetParam();
  const auto all = random_iterations(11, 800, param.classes);
  Clusterer clusterer;
  ASSERT_TRUE(clusterer.create(test::settings(param.clusters, param.equivalence)));
  clusterer.mask_hashes(0);
  Record record;
  for (const Iteration& it : all) ASSERT_TRUE(add(clusterer, record, it));
  std::map<Label, std::map<std::uint32_t, std::int64_t>> keys;
  std::set<std::map<std::uint32_t, std::int64_t>> classes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::map<std::uint32_t, std::int64_t> key;
    for (const auto& p : all[i].paths) {
      if (param.equivalence == Equivalence::None || (param.equivalence != Equivalence::All && p.shape != 0)) continue;
      key[p.id] = param.equivalence == Equivalence::MpiVisits ? p.values[0] : 0;
    }
    classes.insert(key);
    const auto [at, fresh] = keys.try_emplace(record.resolve(record.labels[i]), key);
    EXPECT_EQ(at->second, key);
  }
  EXPECT_EQ(clusterer.class_count(), classes.size());
  EXPECT_EQ(clusterer.cluster_count(), std::max<std::size_t>(classes.size(), param.clusters));
}

TEST_P(EveryEquivalence, the_same_input_gives_the_same_clusters) {
  const auto& param = GetParam();
  const auto all = random_iterations(13, 500, param.classes);
  Record first, second;
  for (Record* record : {&first, &second}) {
    Clusterer clusterer;
    ASSERT_TRUE(clusterer.create(test::settings(param.clusters, param.equivalence)));
    for (const Iteration& it : all) ASSERT_TRUE(add(clusterer, *record, it));
  }
  EXPECT_EQ(first.labels, second.labels);
  EXPECT_EQ(first.merged, second.merged);
}

INSTANTIATE_TEST_SUITE_P(Clusterer, EveryEquivalence,
                         testing::Values(Case{Equivalence::Mpi, 5, 16}, Case{Equivalence::Mpi, 40, 16},
                                         Case{Equivalence::MpiVisits, 1, 16}, Case{Equivalence::All, 2, 16},
                                         Case{Equivalence::None, 8, 16}, Case{Equivalence::Mpi, 1, 1}));

TEST(Clusterer, the_exemplar_is_the_member_nearest_to_the_mean_when_the_mean_stands_still) {
  Clusterer clusterer;
  ASSERT_TRUE(clusterer.create(test::settings(1)));
  Record record;
  Iteration it;
  it.paths = {{1, 0, {1, 1000, 0}}};
  std::mt19937_64 random(3);
  std::size_t nearest = 0;
  double distance = INFINITY;
  for (std::size_t i = 0; i < 400; ++i) {
    // Pairs around 100000, so that the mean stays there; one of them very near.
    const auto off = static_cast<std::int64_t>(i == 250 || i == 251 ? 3 : 100 + random() % 5000);
    static std::int64_t last = 0;
    last = i % 2 ? -last : off;
    it.overall = {100000 + last, 1000, 1, 0, 0};
    ASSERT_TRUE(add(clusterer, record, it));
    if (std::fabs(static_cast<double>(last)) < distance) {
      distance = std::fabs(static_cast<double>(last));
      nearest = i;
    }
  }
  EXPECT_EQ(nearest / 2, 125U);
  EXPECT_EQ(clusterer.cluster(0).exemplar / 2, nearest / 2);
}

TEST(Clusterer, without_memory_new_classes_share_one_marked_cluster_and_totals_stay_exact) {
  const auto all = random_iterations(17, 3000, 1024);
  Clusterer clusterer;
  Settings settings = test::settings(8);
  settings.memory_limit = 200000;
  ASSERT_TRUE(clusterer.create(settings));
  Record record;
  for (const Iteration& it : all) ASSERT_TRUE(add(clusterer, record, it));
  expect_clusters_are_their_members(clusterer, record, all);
  unsigned marked = 0;
  std::uint64_t shared = 0;
  for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k)
    if (clusterer.cluster(k).overflow) {
      ++marked;
      shared = clusterer.cluster(k).members;
    }
  EXPECT_EQ(marked, 1U);
  EXPECT_GT(shared, 500U);
  EXPECT_GT(clusterer.class_count(), 8U);
  EXPECT_LT(clusterer.bytes_in_use(), 200000U + 40000U);  // the overflow cluster and its paths come on top
}

/// A program in which each iteration has another call tree: memory and the time of an iteration have a bound.
TEST(Clusterer, rare_classes_without_end_are_bounded_and_totals_stay_exact) {
  constexpr std::size_t count = 10000;
  std::vector<Iteration> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i].paths = {{static_cast<std::uint32_t>(i % 5000), 0, {1, 100, 8}}, {90000, 0, {2, 1000, 16}}};
    all[i].add_up(500000);
  }
  Clusterer clusterer;
  ASSERT_TRUE(clusterer.create(test::settings(8)));
  Record record;
  std::size_t early = 0;
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_TRUE(add(clusterer, record, all[i]));
    if (i == 5999) early = ClustererMemory{clusterer}.mapped();
  }
  EXPECT_EQ(ClustererMemory{clusterer}.mapped(), early);
  EXPECT_EQ(clusterer.class_count(), 1025U);  // with the overflow class
  EXPECT_EQ(clusterer.cluster_count(), 1025U);
  expect_clusters_are_their_members(clusterer, record, all);
}

TEST(Clusterer, more_classes_than_clusters_get_one_cluster_each) {
  const auto all = random_iterations(19, 2000, 64);
  Clusterer clusterer;
  ASSERT_TRUE(clusterer.create(test::settings(8)));
  Record record;
  for (const Iteration& it : all) ASSERT_TRUE(add(clusterer, record, it));
  EXPECT_EQ(clusterer.class_count(), 64U);
  EXPECT_EQ(clusterer.cluster_count(), 64U);
  for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k) EXPECT_FALSE(clusterer.cluster(k).overflow);
}

TEST(Clusterer, memory_does_not_grow_with_the_number_of_iterations) {
  const auto all = random_iterations(23, 4000, 6);
  Clusterer clusterer;
  ASSERT_TRUE(clusterer.create(test::settings(16)));
  std::size_t early = 0;
  std::vector<std::vector<TouchedPath>> touched;
  for (const Iteration& it : all) touched.push_back(it.touched());
  for (std::size_t i = 0; i < 100000; ++i) {
    ASSERT_NE(no_label, clusterer.add(i, {all[i % all.size()].overall, touched[i % all.size()]}));
    clusterer.drained();
    if (i == 10000) early = ClustererMemory{clusterer}.mapped();
  }
  EXPECT_LE(ClustererMemory{clusterer}.mapped(), early + early / 10);
  EXPECT_LE(clusterer.bytes_in_use(), ClustererMemory{clusterer}.mapped());
}

/// Iterations whose sampled paths are many and mostly rare.
std::vector<Iteration> iterations_with_rare_paths(unsigned seed, std::size_t count, unsigned sampled,
                                                  unsigned touched) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  std::vector<Iteration> out(count);
  for (Iteration& it : out) {
    for (unsigned p = 0; p < 30; ++p) it.paths.push_back({p, 0, {1 + below(3), 1000 + below(1000), p == 7 ? 0 : 64}});
    std::set<std::uint32_t> ids;
    while (ids.size() < touched) {
      const double u = static_cast<double>(random() >> 11) * 0x1p-53;
      ids.insert(100 + static_cast<std::uint32_t>(u * u * u * sampled));
    }
    for (const std::uint32_t id : ids) it.paths.push_back({id, 1, {1 + below(3), 10000000 + below(100000)}});
    it.add_up(500000 + below(100000));
  }
  return out;
}

/// What profiles have to take: paths that are new, columns that begin to vary, large values, another order of the key
/// paths, and merges.
TEST(Clusterer, clusters_hold_exactly_their_members_when_profiles_change) {
  auto all = iterations_with_rare_paths(31, 4000, 200, 12);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Iteration& it = all[i];
    if (i >= 1500 && i % 3 == 0) it.paths.push_back({static_cast<std::uint32_t>(2000 + i / 100), 1, {1, 777}});
    if (i >= 2000 && i % 5 == 0) it.paths.push_back({3000, 1, {std::int64_t{1} << 30, -(std::int64_t{1} << 45)}});
    if (i >= 2500) it.paths[7].values[2] = static_cast<std::int64_t>(i);
    if (i % 2 && i >= 3000) it.paths[0].values[0] = std::int64_t{1} << 40;
    if (i % 9 == 4) std::swap(it.paths[1], it.paths[3]);
    it.overall.assign(test::metrics, 0);
    it.add_up(500000 + static_cast<std::int64_t>(i % 977) * 1000);
  }
  for (const Equivalence equivalence : {Equivalence::Mpi, Equivalence::None}) {
    Clusterer clusterer;
    ASSERT_TRUE(clusterer.create(test::settings(12, equivalence)));
    Record record;
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_TRUE(add(clusterer, record, all[i]));
      if (i == 1023 || i == 1600 || i == 2005 || i == 2600 || i + 1 == all.size())
        expect_clusters_are_their_members(clusterer, record, all);
    }
    EXPECT_EQ(clusterer.class_count(), 1U);
  }
}

/// Rare sampled paths have room in every cluster when the class knows them.
TEST(Clusterer, memory_is_reached_early_and_stays_also_with_rare_sampled_paths) {
  const auto all = iterations_with_rare_paths(29, 2000, 470, 30);
  std::vector<std::vector<TouchedPath>> touched;
  for (const Iteration& it : all) touched.push_back(it.touched());
  Clusterer clusterer;
  ASSERT_TRUE(clusterer.create(test::settings(32)));
  std::size_t early = 0;
  for (std::size_t i = 0; i < 200000; ++i) {
    ASSERT_NE(no_label, clusterer.add(i, {all[i % all.size()].overall, touched[i % all.size()]}));
    clusterer.drained();
    if (i == 10000) early = ClustererMemory{clusterer}.mapped();
  }
  EXPECT_EQ(ClustererMemory{clusterer}.mapped(), early);
  // Not much more than as many full profiles.
  EXPECT_LT(ClustererMemory{clusterer}.profiles(), 32U * (30 * 3 + 470 * 2) * 8U * 5 / 4);
}

TEST(Clusterer, where_memory_is_short_clusters_are_merged_to_make_room_for_call_paths) {
  const auto all = iterations_with_rare_paths(37, 3000, 470, 30);
  std::uint32_t clusters[2] = {};
  for (const bool is_short : {false, true}) {
    Clusterer clusterer;
    Settings settings = test::settings(32);
    if (is_short) settings.memory_limit = 150000;
    ASSERT_TRUE(clusterer.create(settings));
    Record record;
    for (const Iteration& it : all) {
      ASSERT_TRUE(add(clusterer, record, it));
      if (is_short) EXPECT_LE(clusterer.bytes_in_use(), 150000U + 10000U);  // a slot of the newcomer, and its lists
    }
    expect_clusters_are_their_members(clusterer, record, all);
    clusters[is_short] = clusterer.cluster_count();
    for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k) EXPECT_FALSE(clusterer.cluster(k).overflow);
  }
  EXPECT_EQ(clusters[0], 32U);
  EXPECT_LT(clusters[1], 24U);
  EXPECT_GT(clusters[1], 2U);
}

/// Not even one profile of the class has room: the iteration is counted in the overflow cluster.
TEST(Clusterer, an_iteration_with_more_call_paths_than_there_is_room_for_is_counted_all_the_same) {
  auto all = iterations_with_rare_paths(43, 100, 20, 5);
  for (std::uint32_t p = 0; p < 20000; ++p) all[60].paths.push_back({10000 + p, 1, {1, 7}});
  all[60].overall.assign(test::metrics, 0);
  all[60].add_up(500000);
  Clusterer clusterer;
  Settings settings = test::settings(4);
  settings.memory_limit = 150000;
  ASSERT_TRUE(clusterer.create(settings));
  Record record;
  for (const Iteration& it : all) ASSERT_TRUE(add(clusterer, record, it));
  expect_clusters_are_their_members(clusterer, record, all);
  std::uint32_t clusters = 0;
  for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k) {
    const ClusterView view = clusterer.cluster(k);
    EXPECT_EQ(view.overflow, view.label == record.resolve(record.labels[60]));
    clusters += !view.overflow;
  }
  EXPECT_EQ(clusters, 4U);  // none was given up for it
}

TEST(Clusterer, profiles_that_make_no_sense_are_refused_and_change_nothing) {
  Clusterer clusterer;
  ASSERT_TRUE(clusterer.create(test::settings(4)));
  Record record;
  Iteration it = random_iterations(1, 1, 1)[0];
  ASSERT_TRUE(add(clusterer, record, it));
  Iteration short_row = it;
  short_row.overall.pop_back();
  EXPECT_FALSE(add(clusterer, record, short_row));
  Iteration shape = it;
  shape.paths[0].shape = 2;
  EXPECT_FALSE(add(clusterer, record, shape));
  expect_clusters_are_their_members(clusterer, record, {it});
}

TEST(Clusterer, settings_out_of_range_are_refused) {
  Clusterer clusterer;
  Settings s = test::settings(0);
  EXPECT_FALSE(clusterer.create(s));
  s = test::settings(4);
  const std::vector<Column> bad{{static_cast<std::uint8_t>(test::metrics), true}};
  const std::vector<Shape> shapes{{true, 0, bad}};
  s.shapes = shapes;
  EXPECT_FALSE(clusterer.create(s));
  const std::vector<Column> bad_second{{0, true, static_cast<std::uint8_t>(test::metrics)}};
  const std::vector<Shape> second_shapes{{true, 0, bad_second}};
  s.shapes = second_shapes;
  EXPECT_FALSE(clusterer.create(s));
  s = test::settings(4);
  s.metrics = max_overall + 1;
  EXPECT_FALSE(clusterer.create(s));
}

/// Counts that follow one degree of freedom (number of solver steps) are reconstructed exactly from few clusters.
TEST(Reconstruct, counts_that_follow_the_number_of_solver_steps_are_exact) {
  std::mt19937_64 random(5);
  Clusterer clusterer;
  ASSERT_TRUE(clusterer.create(test::settings(4)));
  Record record;
  std::vector<Iteration> all(500);
  for (Iteration& it : all) {
    const auto steps = static_cast<std::int64_t>(20 + random() % 30);
    it.paths = {{1, 0, {1, 5000, 800}}, {2, 0, {steps, 100 * steps, 64 * steps}}, {3, 0, {2 * steps, 300 * steps, 0}}};
    it.add_up(10000);
    ASSERT_TRUE(add(clusterer, record, it));
  }
  for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k) {
    const ClusterView view = clusterer.cluster(k);
    for (const std::size_t i : record.members(view.label))
      (void)clusterer.for_each_path(k, [&](const PathRow& row) {
        for (const std::size_t c : {0U, 2U}) {
          const std::uint8_t overall = test::exact_columns[c].scales_with;
          const double value =
              reconstruct({row.sum[c], view.members, view.sum[overall], static_cast<double>(all[i].overall[overall]),
                           true, row.has_slopes, row.slope[c], true});
          for (const auto& p : all[i].paths) {
            if (p.id == static_cast<std::uint32_t>(row.path)) {
              EXPECT_EQ(value, static_cast<double>(p.values[c]));
            }
          }
        }
        return true;
      });
  }
}

/// Bytes of one call path follow the solver's steps, those of another the load: one overall metric cannot tell them
/// apart.
TEST(Reconstruct, bytes_that_follow_the_steps_or_the_load_are_told_apart_by_two_overall_metrics) {
  std::mt19937_64 random(7);
  Clusterer clusterer;
  ASSERT_TRUE(clusterer.create(test::settings(4)));
  Record record;
  std::vector<Iteration> all(2000);
  for (Iteration& it : all) {
    const auto steps = static_cast<std::int64_t>(20 + random() % 30), load = static_cast<std::int64_t>(random() % 1000);
    it.paths = {{1, 0, {steps, 5000, 640 * steps}}, {2, 0, {3, 100, 50 * load}}, {3, 0, {2 * steps, 300, 20 * load}}};
    it.add_up(10000);
    ASSERT_TRUE(add(clusterer, record, it));
  }
  double wrong_with_two = 0, wrong_with_one = 0, bytes = 0;
  for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k) {
    const ClusterView view = clusterer.cluster(k);
    for (const std::size_t i : record.members(view.label))
      (void)clusterer.for_each_path(k, [&](const PathRow& row) {
        ReconstructionInput in{row.sum[2], view.members,   view.sum[3],  static_cast<double>(all[i].overall[3]),
                               true,       row.has_slopes, row.slope[2], true};
        const double with_one = reconstruct(in);
        in.second_slope = row.second_slope[2];
        in.second_overall_sum = view.sum[2];
        in.second_overall_value = static_cast<double>(all[i].overall[2]);
        for (const auto& p : all[i].paths) {
          if (p.id != static_cast<std::uint32_t>(row.path)) continue;
          wrong_with_two += std::fabs(reconstruct(in) - static_cast<double>(p.values[2]));
          wrong_with_one += std::fabs(with_one - static_cast<double>(p.values[2]));
          bytes += static_cast<double>(p.values[2]);
        }
        return true;
      });
  }
  EXPECT_LT(wrong_with_two, 0.001 * bytes);
  EXPECT_GT(wrong_with_one, 10 * wrong_with_two);
}

TEST(Reconstruct, a_cluster_of_one_gives_the_value_and_nothing_becomes_negative) {
  EXPECT_EQ(reconstruct({12345, 1, 99, 1e9, true, true, 5.0F, true}), 12345);
  EXPECT_EQ(reconstruct({100, 10, 1000, 1, true, true, 5.0F, true}), 0);
  EXPECT_EQ(reconstruct({100, 10, 1000, 50, true, false, 0, true}), 5);
  EXPECT_EQ(reconstruct({100, 10, 0, 50, true, false, 0, true}), 10);
  EXPECT_EQ(reconstruct({25, 10, 1000, 50, false, true, 1, true}), 3);
  EXPECT_EQ(reconstruct({0, 0, 0, 0, true, true, 1, true}), 0);
}

}  // namespace
}  // namespace refrain::clustering
