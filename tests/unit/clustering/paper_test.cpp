#include "bench/clustering/paper.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "tests/unit/clustering/sequences.hpp"

namespace refrain::clustering {
namespace {

using test::Iteration;
using test::random_iterations;

/// The paper's algorithm as one would write it down, for one class: no cleverness, everything from the members.
std::vector<std::set<std::size_t>> paper_by_the_book(const std::vector<Iteration>& all, std::size_t clusters) {
  std::vector<std::set<std::size_t>> out;
  std::vector<double> total(test::metrics);
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t m = 0; m < test::metrics; ++m) total[m] += static_cast<double>(all[i].overall[m]);
    out.push_back({i});
    if (out.size() <= clusters) continue;
    std::size_t best_a = 0, best_b = 0;
    double best = INFINITY;
    for (std::size_t a = 0; a < out.size(); ++a)
      for (std::size_t b = a + 1; b < out.size(); ++b) {
        if (all[*out[a].begin()].exact_set() != all[*out[b].begin()].exact_set()) continue;
        double distance = 0;
        for (std::size_t m = 0; m < test::metrics; ++m) {
          double mean_a = 0, mean_b = 0;
          for (const std::size_t j : out[a]) mean_a += static_cast<double>(all[j].overall[m]);
          for (const std::size_t j : out[b]) mean_b += static_cast<double>(all[j].overall[m]);
          mean_a /= static_cast<double>(out[a].size());
          mean_b /= static_cast<double>(out[b].size());
          if (total[m] > 0) distance += std::fabs(mean_a - mean_b) / (total[m] / static_cast<double>(i + 1));
        }
        const double members = static_cast<double>(out[a].size() + out[b].size());
        const double reluctance = 0.4 + 0.05 * members;
        distance *= reluctance <= 1 ? reluctance : std::sqrt(reluctance);
        if (distance < best) {
          best = distance;
          best_a = a;
          best_b = b;
        }
      }
    if (best == INFINITY) continue;  // more classes than clusters
    out[best_a].insert(out[best_b].begin(), out[best_b].end());
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(best_b));
  }
  return out;
}

TEST(Paper, clusters_as_a_direct_transcription_does) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const auto all = random_iterations(seed, 150, 1 + seed % 3);
    bench::TotalsClusterer clusterer;
    ASSERT_TRUE(clusterer.create(test::settings(12)));
    std::vector<Label> labels;
    std::map<Label, Label> merged;
    for (const Iteration& it : all) {
      const auto touched = it.touched();
      const Added added = clusterer.add(labels.size(), {it.overall, touched});
      ASSERT_EQ(added.error, Error::None);
      labels.push_back(added.label);
      for (const Merge& m : clusterer.merges()) merged[m.from] = m.to;
      clusterer.drained();
    }
    std::map<Label, std::set<std::size_t>> members;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      Label label = labels[i];
      for (auto at = merged.find(label); at != merged.end(); at = merged.find(label)) label = at->second;
      members[label].insert(i);
    }
    std::vector<std::set<std::size_t>> got;
    for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k) {
      const ClusterView view = clusterer.cluster(k);
      got.push_back(members[view.label]);
      std::int64_t wall = 0, bytes = 0, bytes_of_paths = 0;
      for (const std::size_t i : got.back()) {
        wall += all[i].overall[0];
        bytes += all[i].overall[3];
      }
      for (std::uint32_t r = 0; r < clusterer.path_count(k); ++r)
        if (const PathRow row = clusterer.path(k, r); row.shape == 0) bytes_of_paths += row.sum[2];
      EXPECT_EQ(view.sum[0], wall);
      EXPECT_EQ(bytes_of_paths, bytes);
    }
    auto expected = paper_by_the_book(all, 12);
    std::ranges::sort(expected);
    std::ranges::sort(got);
    EXPECT_EQ(got, expected) << "seed " << seed;
  }
}

class Totals : public testing::TestWithParam<bench::Nearness> {};
INSTANTIATE_TEST_SUITE_P(By, Totals, testing::Values(bench::Nearness::ScoreP, bench::Nearness::Ward));

TEST_P(Totals, has_as_many_clusters_as_asked_for_and_all_iterations_in_them) {
  const auto all = random_iterations(3, 400, 5);
  bench::TotalsClusterer clusterer(GetParam());
  ASSERT_TRUE(clusterer.create(test::settings(16)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto touched = all[i].touched();
    ASSERT_EQ(clusterer.add(i, {all[i].overall, touched}).error, Error::None);
  }
  std::uint64_t members = 0;
  for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k) members += clusterer.cluster(k).members;
  EXPECT_EQ(clusterer.cluster_count(), 16U);
  EXPECT_EQ(members, all.size());
}

}  // namespace
}  // namespace refrain::clustering
