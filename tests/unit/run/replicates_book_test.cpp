// A book of waits: ranks and call sites that wait in the same iterations, of which a sample is kept. The truth is the
// sum over all iterations, so it is known how far each estimate is off.
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "offline/run/quantities.hpp"
#include "tests/unit/run/distances.hpp"

namespace refrain::run {
namespace {

constexpr std::size_t ranks = 6, sites = 4, iterations = 512, trials = 1'000;
constexpr std::uint64_t loop = 3;

/// Of one run. Every fourth iteration is of a cluster that waits three times as long.
class Book {
 public:
  explicit Book(std::mt19937_64& random) : waits_(ranks * sites * iterations), is_kept_(iterations) {
    std::uniform_real_distribution<double> part(0, 1e6);
    std::bernoulli_distribution keep(.25);
    for (std::size_t i = 0; i < iterations; ++i) {
      is_kept_[i] = keep(random);
      const double common = part(random), times = cluster_of(i) == 0 ? 3 : 1;
      for (std::size_t site = 0; site < sites; ++site) {
        const double of_site = part(random);
        for (std::size_t rank = 0; rank < ranks; ++rank)
          at(rank, site, i) = times * (.6 * common + .3 * of_site + .5 * part(random));
      }
    }
  }
  double truth_s(std::size_t rank, std::size_t site) const {
    double sum = 0;
    for (std::size_t i = 0; i < iterations; ++i) sum += at(rank, site, i);
    return sum * 1e-9;
  }
  /// The mean of those that were kept of each cluster stands for all of its iterations (Cochran, Sampling Techniques,
  /// chapter 5).
  Estimate estimate(std::size_t rank, std::size_t site) const {
    Estimate of;
    for (const std::size_t cluster : {0U, 1U}) {
      double n = 0, all = 0, sum = 0;
      for_each(cluster, [&](std::size_t i) {
        ++all;
        if (is_kept_[i]) ++n, sum += at(rank, site, i);
      });
      of.seconds += all * sum / n * 1e-9;
      const double factor = all / n * std::sqrt(n / (n - 1) * (1 - n / all));
      for_each(cluster, [&](std::size_t i) {
        if (is_kept_[i])
          of.replicates.add(signs_of(loop, static_cast<std::int64_t>(i)), factor * (at(rank, site, i) - sum / n));
      });
    }
    return of;
  }

 private:
  static std::size_t cluster_of(std::size_t iteration) { return iteration % 4 == 0 ? 0 : 1; }
  template <class Take>
  static void for_each(std::size_t cluster, const Take& take) {
    for (std::size_t i = 0; i < iterations; ++i)
      if (cluster_of(i) == cluster) take(i);
  }
  double& at(std::size_t rank, std::size_t site, std::size_t i) {
    return waits_[(rank * sites + site) * iterations + i];
  }
  double at(std::size_t rank, std::size_t site, std::size_t i) const {
    return waits_[(rank * sites + site) * iterations + i];
  }
  std::vector<double> waits_;
  std::vector<bool> is_kept_;
};

TEST(BookOfWaits, estimates_are_off_by_their_errors_for_all_sites_and_ranks_and_for_each) {
  std::mt19937_64 random(46);
  Distances of_all, of_rank, of_site, of_one, as_if_independent;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    const Book book(random);
    Estimate all, rank, site, one;
    double all_s = 0, rank_s = 0, site_s = 0, one_s = 0, variance = 0;
    for (std::size_t r = 0; r < ranks; ++r)
      for (std::size_t s = 0; s < sites; ++s) {
        const Estimate of = book.estimate(r, s);
        const double truth_s = book.truth_s(r, s);
        const auto add = [&](Estimate& to, double& to_s) { to += of, to_s += truth_s; };
        add(all, all_s);
        if (r == 1) add(rank, rank_s);
        if (s == 2) add(site, site_s);
        if (r == 1 && s == 2) add(one, one_s);
        variance += of.error_s() * of.error_s();
      }
    of_all.add((all.seconds - all_s) / all.error_s());
    of_rank.add((rank.seconds - rank_s) / rank.error_s());
    of_site.add((site.seconds - site_s) / site.error_s());
    of_one.add((one.seconds - one_s) / one.error_s());
    as_if_independent.add((all.seconds - all_s) / std::sqrt(variance));
  }
  for (const auto& [what, of] : {std::pair("all", of_all), {"rank", of_rank}, {"site", of_site}, {"one", of_one}}) {
    EXPECT_GE(of.within(), .9) << what;
    EXPECT_GT(of.rms(), .6) << what;
    EXPECT_LT(of.rms(), 1.5) << what;
    RecordProperty(std::string("within_") + what, std::to_string(of.within()));
    RecordProperty(std::string("rms_") + what, std::to_string(of.rms()));
  }
  EXPECT_GT(as_if_independent.rms(), 2.5) << "variances that are added say too little";
}

TEST(BookOfWaits, of_blocks_of_ranks_have_the_errors_of_the_same_sums) {
  std::mt19937_64 random(47);
  const Book book(random);
  std::array<Estimate, 2> blocks;
  Estimate all;
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t s = 0; s < sites; ++s) {
      blocks[r / 3] += book.estimate(r, s);
      all += book.estimate(r, s);
    }
  blocks[0] += blocks[1];
  EXPECT_EQ(blocks[0].replicates, all.replicates);
}

}  // namespace
}  // namespace refrain::run
