// What Refrain's clustering is compared with in bench/.
#include "bench/clustering/reference.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "tests/unit/clustering/sequences.hpp"

namespace refrain::bench {
namespace {

namespace test = clustering::test;
using clustering::Label;
using test::Iteration;

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
    const auto all = test::random_iterations(seed, 150, 1 + seed % 3);
    ReferenceClusterer clusterer(Algorithm::Paper, 12, std::vector<bool>(test::metrics, true), test::shapes);
    std::vector<Label> labels;
    std::map<Label, Label> merged;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto touched = all[i].touched();
      labels.push_back(clusterer.add(i, {all[i].overall, touched}));
      for (const clustering::Merge& m : clusterer.merges()) merged[m.from] = m.to;
      clusterer.drained();
    }
    std::map<Label, std::set<std::size_t>> members;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      Label label = labels[i];
      while (merged.contains(label)) label = merged[label];
      members[label].insert(i);
    }
    auto expected = paper_by_the_book(all, 12);
    std::vector<std::set<std::size_t>> got;
    for (std::uint32_t k = 0; k < clusterer.cluster_count(); ++k) {
      EXPECT_EQ(clusterer.cluster(k).members, members[clusterer.cluster(k).label].size());
      got.push_back(members[clusterer.cluster(k).label]);
    }
    std::ranges::sort(expected);
    std::ranges::sort(got);
    EXPECT_EQ(got, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace refrain::bench
