// What was not called in iterations whose MPI calls say so, and what only might not have been.
#include "offline/run/excluded_paths.hpp"

#include <gtest/gtest.h>

#include "offline/run/user_shares.hpp"

namespace refrain::run {
namespace {

using experiment::CallPath;
using format::NodeKind;

enum Path : std::uint32_t { root, main_of, stencil, barrier, refine, split, reduce, paths };

/// main > { stencil, MPI_Barrier, refine > { split, MPI_Allreduce } }
std::vector<CallPath> call_paths() {
  std::vector<CallPath> of(paths, CallPath{main_of, NodeKind::Frame, 0, 0});
  of[root] = {0, NodeKind::Root, -1, 0};
  of[main_of].parent = root;
  of[stencil].kind = of[split].kind = NodeKind::Function;
  of[barrier].kind = of[reduce].kind = NodeKind::Region;
  of[split].parent = of[reduce].parent = refine;
  return of;
}

const ClassSums with_refinement{{barrier, reduce}, {{stencil, 6}, {split, 3}}};

TEST(ExcludedPaths, a_function_whose_calls_are_not_made_has_not_been_called) {
  const auto of = call_paths();
  const std::vector<ClassSums> classes{{{barrier}, {{stencil, 100}}}, with_refinement};
  const auto excluded = excluded_paths(of, classes);
  ASSERT_EQ(excluded.size(), 2U);
  ASSERT_EQ(excluded[0].size(), paths);
  for (const std::uint32_t path : {refine, split, reduce}) EXPECT_TRUE(excluded[0][path]) << path;
  for (const std::uint32_t path : {main_of, stencil, barrier}) EXPECT_FALSE(excluded[0][path]) << path;
  EXPECT_TRUE(excluded[1].empty());
}

/// refine() may be called without making its calls, and stencil may be what one of few samples missed.
TEST(ExcludedPaths, a_function_that_samples_have_found_or_could_have_missed_is_not_excluded) {
  const auto of = call_paths();
  const ClassSums found{{barrier}, {{stencil, 100}, {split, 1}}};
  EXPECT_TRUE(excluded_paths(of, std::vector{found, with_refinement})[0].empty());
  const ClassSums few{{barrier}, {{stencil, 5}}};
  EXPECT_TRUE(excluded_paths(of, std::vector{few, with_refinement})[0].empty());
  // Classes of few samples each: together they have enough.
  EXPECT_FALSE(excluded_paths(of, std::vector{few, few, few, with_refinement})[0].empty());
  // Iterations without any call are not iterations in which main() was not called.
  const ClassSums silent{{}, {{stencil, 100}}};
  const auto excluded = excluded_paths(of, std::vector{silent, with_refinement});
  EXPECT_FALSE(excluded[0][main_of]);
  EXPECT_TRUE(excluded[0][split]);
}

/// What the sums of both classes have of the excluded path goes to the class that has it, although both share a tree.
TEST(ExcludedPaths, iterations_get_nothing_of_what_their_class_excludes) {
  constexpr std::uint32_t own = 0, excluded = 1;
  std::vector<UserShares::Cluster> clusters(2);
  clusters[0].paths = {{own, 200, 200}};
  clusters[0].on_cpu = 200;
  clusters[1].class_index = 1;
  clusters[1].paths = {{own, 7, 7}, {excluded, 3, 3}};
  clusters[1].on_cpu = 10;
  for (auto& cluster : clusters) cluster.user_ticks = cluster.user_weight = cluster.on_cpu;
  const auto divide = [&](const UserShares::Excluded& by_class) {
    UserShares shares(clusters, by_class);
    const auto iteration = [](std::int32_t cluster) {
      SharePools::Iteration of;
      of.cluster = cluster;
      of.kept = true;
      of.variables.value = {1, 1, 1, 1, 1};
      of.least_on_cpu = of.most_on_cpu = of.cpu = 1;
      return of;
    };
    for (int i = 0; i < 200; ++i) shares.learn(0, iteration(0).variables, std::vector<PathSamples>{{own, 1}});
    for (int i = 0; i < 10; ++i)
      shares.learn(1, iteration(1).variables, std::vector<PathSamples>{{i < 7 ? own : excluded, 1}});
    shares.grow();
    for (int i = 0; i < 210; ++i) shares.weigh(iteration(i < 200 ? 0 : 1));
    const SharePools pools = shares.settle();
    std::array<double, 2> of_excluded{};
    for (const std::int32_t cluster : {0, 1})
      for (const auto& of : pools.pool_of(iteration(cluster))->shares)
        if (of.path == excluded) of_excluded[static_cast<std::size_t>(cluster)] = of.share;
    return of_excluded;
  };
  const auto with = divide({{0, {false, true}}});
  EXPECT_EQ(with[0], 0);
  EXPECT_NEAR(with[1], 0.3, 0.001);
}

}  // namespace
}  // namespace refrain::run
