// Estimates of the run from a sample of iterations, of a book of waits: ranks and call sites wait in the same
// iterations, and each by itself. The truth is the sum over all iterations.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "offline/patterns/estimate.hpp"
#include "offline/trace/trace.hpp"
#include "tests/unit/analysis/loop_log.hpp"
#include "tests/unit/record/thread_peers.hpp"
#include "tests/unit/run/distances.hpp"
#include "tests/unit/trace/marked_events.hpp"

namespace refrain::testing {
namespace {

using patterns::Findings;

constexpr int ranks = 6, trials = 300;
const std::vector<std::string> sites = {"MPI_Allreduce", "MPI_Barrier", "MPI_Recv", "MPI_Send"};
constexpr std::int64_t calls = 2;  // of a site in an iteration
constexpr auto point_to_point = static_cast<patterns::Quantity>(trace::CallClass::PointToPoint);
constexpr patterns::Quantity waiting = patterns::first_of_patterns;

/// Every fourth iteration is of another cluster.
std::int32_t cluster_of(std::int64_t iteration) { return iteration % 4 == 0 ? 0 : 1; }

/// In calls of one site on one rank, by iteration. Nanoseconds.
struct SiteWaits {
  std::vector<std::int64_t> time_ns, waiting_ns;
};

/// One run: by rank and site. Calls wait and move data; the one does not tell the other.
std::vector<std::vector<SiteWaits>> made_up_run(std::mt19937_64& random) {
  std::exponential_distribution<double> part(1e-6);
  std::vector<std::vector<SiteWaits>> run(ranks, std::vector<SiteWaits>(sites.size()));
  for (std::int64_t i = 0; i < all_iterations; ++i) {
    const double common = part(random), times = cluster_of(i) == 0 ? 3 : 1;
    for (std::size_t site = 0; site < sites.size(); ++site) {
      const double of_site = part(random), data = part(random);
      for (auto& of_rank : run) {
        const double wait = times * (.6 * common + .3 * of_site + .5 * part(random));
        of_rank[site].waiting_ns.push_back(std::llround(wait));
        of_rank[site].time_ns.push_back(std::llround(wait + times * (data + .5 * part(random))));
      }
    }
  }
  return run;
}

class EstimateBook : public ::testing::Test {
 protected:
  EstimateBook() : events_(true, true) {
    put_manifest(scratch_.path, ranks);
    for (int rank = 0; rank < ranks; ++rank)
      write_file(scratch_.path + "/events-" + std::to_string(rank) + ".refrain", events_.file());
    EXPECT_TRUE(
        write_job(scratch_.path, ranks, [&](int rank) { return MarkedRank(events_, true, rank, ranks, sites); }));
    const auto experiment = experiment::Experiment::open(scratch_.path);
    constexpr unsigned more_levels = 1;  // one of 4 iterations
    trace_ = trace::Trace::open_thinned(experiment, UINT64_MAX, more_levels);
    for (const auto& [loop, level] : trace_->levels())
      if (!loop.empty()) loops_.push_back(loop);
    const auto& paths = experiment->definitions().paths;
    for (std::uint32_t path = 0; path < paths.size(); ++path)
      if (paths[path].kind == NodeKind::Region) paths_.push_back(path);
    std::vector<analysis::test::Iteration> iterations;
    for (std::int64_t i = 0; i < all_iterations; ++i) iterations.push_back({.cluster = cluster_of(i), .wall = 1'000});
    location_.losses.assign(format::loss_count, 0);
    analysis::test::add_loop(location_, loops_.back(), iterations);
    analysis::test::add_log(location_.loops[0], iterations);
    naming_.node_of = [](std::uint32_t path) { return path + 1; };
    meanings_.resize(waiting + 1);
    meanings_[waiting].outputs = {0};
  }

  /// What the profile of a rank has: sums of each cluster.
  experiment::Rank profile_of(int number, const std::vector<SiteWaits>& of_sites) const {
    experiment::Rank rank;
    rank.rank = number;
    experiment::Location location = location_;
    location.units.clear();
    for (const std::int32_t cluster : {0, 1}) {
      experiment::Unit& unit = location.units.emplace_back();
      unit.loop = 0;
      unit.cluster = cluster;
      for (std::size_t site = 0; site < of_sites.size(); ++site) {
        std::int64_t visits = 0, time = 0;
        for (std::int64_t i = 0; i < all_iterations; ++i)
          if (cluster_of(i) == cluster) visits += calls, time += of_sites[site].time_ns[static_cast<std::size_t>(i)];
        const auto first = static_cast<std::uint32_t>(unit.columns.size());
        unit.values.push_back({paths_[site], first});
        unit.columns.insert(unit.columns.end(), {visits, time});
        unit.columns.resize(first + format::columns_of(NodeKind::Region));
      }
    }
    rank.locations.push_back(std::move(location));
    return rank;
  }

  /// What a search has found in the iterations that were kept.
  Findings::OfLocation found_of(const std::vector<SiteWaits>& of_sites) const {
    Findings::OfLocation found;
    found.cell_of_path.resize(paths_.back() + 2);
    for (std::uint32_t site = 0; site < of_sites.size(); ++site) {
      found.cell_of_path[paths_[site] + 1] = site + 1;
      found.cells.push_back({.path = paths_[site]});
    }
    for (std::int64_t i = 0; i < all_iterations; ++i) {
      if (!trace_->is_sampled(loops_[1], i)) continue;
      const auto span = static_cast<std::uint32_t>(found.spans.size());
      found.spans.push_back({.loop = 1, .number = i});
      for (std::uint32_t site = 0; site < of_sites.size(); ++site) {
        const auto at = static_cast<std::size_t>(i);
        found.rows.push_back({span, site, point_to_point, of_sites[site].time_ns[at]});
        found.rows.push_back({span, site, patterns::number_of_calls, calls});
        found.rows.push_back({span, site, waiting, of_sites[site].waiting_ns[at]});
      }
    }
    return found;
  }

  patterns::PatternResult estimated(const std::vector<std::vector<SiteWaits>>& run) const {
    constexpr std::uint32_t untold = 1;
    patterns::Estimate estimate(*trace_, naming_, meanings_, 2, untold, loops_);
    for (std::uint32_t location = 0; location < trace_->locations().size(); ++location) {
      const std::int32_t rank = trace_->locations()[location].rank;
      const auto& of_sites = run[static_cast<std::size_t>(rank)];
      estimate.add_sampled(location, found_of(of_sites), profile_of(rank, of_sites));
    }
    std::vector<patterns::PatternResult> outputs(2);
    estimate.finish(outputs, {});
    return outputs[0];
  }

  ScratchDirectory scratch_;
  MarkedEvents events_;
  std::shared_ptr<const trace::Trace> trace_;
  std::vector<std::string> loops_{{}};
  std::vector<std::uint32_t> paths_;  ///< by site
  experiment::Location location_;
  patterns::Naming naming_;
  patterns::Meanings meanings_;
};

TEST_F(EstimateBook, is_off_by_the_stated_errors_for_all_sites_and_ranks_and_for_each) {
  ASSERT_EQ(loops_.size(), 2U);
  ASSERT_EQ(paths_.size(), sites.size());
  std::mt19937_64 random(46);
  run::Distances of_all, of_rank, of_site, of_one;
  for (int trial = 0; trial < trials; ++trial) {
    const auto run = made_up_run(random);
    const patterns::PatternResult found = estimated(run);
    const auto truth = [&](const auto& is_meant) {
      double sum = 0;
      for (std::uint32_t rank = 0; rank < ranks; ++rank)
        for (std::uint32_t site = 0; site < sites.size(); ++site)
          for (const std::int64_t ns : run[rank][site].waiting_ns)
            sum += is_meant(rank, site) ? static_cast<double>(ns) : 0;
      return sum;
    };
    const auto distance = [](const patterns::Severity& of, double true_ns) {
      EXPECT_GT(of.error_ns, 0);
      return (of.ns - true_ns) / of.error_ns;
    };
    constexpr std::uint32_t one_rank = 2, one_site = 1;
    const auto location = std::ranges::find(found.by_location, one_rank, [&](const auto& row) {
      return static_cast<std::uint32_t>(trace_->locations()[row.location].rank);
    });
    const std::uint32_t node = paths_[one_site] + 1;
    const auto by_node = std::ranges::find(found.by_node, node, &patterns::PatternResult::ByNode::node);
    ASSERT_TRUE(location != found.by_location.end() && by_node != found.by_node.end());
    patterns::Severity one;
    for (const auto& of : found.cells)
      if (of.node == node && of.location == location->location) one.ns = of.ns;
    for (const auto& of : found.replicates)
      if (of.node == node && of.rank == std::int32_t{one_rank}) one.error_ns = of.by.error_ns();
    of_all.add(distance(found.all, truth([](auto, auto) { return true; })));
    of_rank.add(distance(location->severity, truth([](auto rank, auto) { return rank == one_rank; })));
    of_site.add(distance(by_node->severity, truth([](auto, auto site) { return site == one_site; })));
    of_one.add(distance(one, truth([](auto rank, auto site) { return rank == one_rank && site == one_site; })));
  }
  for (const auto& [what, of] : {std::pair("all", of_all), {"rank", of_rank}, {"site", of_site}, {"one", of_one}}) {
    EXPECT_GE(of.within(), .9) << what;
    EXPECT_GT(of.rms(), .6) << what;
    EXPECT_LT(of.rms(), 1.5) << what;
    RecordProperty(std::string("within_") + what, std::to_string(of.within()));
    RecordProperty(std::string("rms_") + what, std::to_string(of.rms()));
  }
}

TEST_F(EstimateBook, has_errors_of_sums_that_are_those_of_added_replicates) {
  std::mt19937_64 random(47);
  const patterns::PatternResult found = estimated(made_up_run(random));
  ASSERT_EQ(found.replicates.size(), ranks * sites.size());
  run::Replicates all;
  double squares = 0;
  for (const auto& of : found.replicates) {
    all += of.by;
    squares += of.by.error_ns() * of.by.error_ns();
  }
  EXPECT_EQ(all.error_ns(), found.all.error_ns);
  EXPECT_GT(all.error_ns(), 1.5 * std::sqrt(squares)) << "sites and ranks wait in the same iterations";
}

}  // namespace
}  // namespace refrain::testing
