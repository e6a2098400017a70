// The call tree of hand-made profiles. Addresses without a module are their own names ("0x10"), so that no file is
// needed.
#include "offline/analysis/call_tree.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "offline/analysis/functions.hpp"
#include "tests/unit/analysis/tree_of.hpp"
#include "tests/unit/run/unit_rows.hpp"

namespace refrain::analysis {
namespace {

using experiment::CallPath;
using experiment::Profile;
using experiment::Unit;
using experiment::test::add_region;
using format::NodeKind;

void add_samples(Unit& unit, std::uint32_t path, std::int64_t samples, std::int64_t weight) {
  experiment::test::add_function(unit, path, samples, weight);
  unit.ticks_user += samples;
  unit.weight_user_ns += weight;
  unit.weight_user_squared += static_cast<double>(weight) * static_cast<double>(weight) / static_cast<double>(samples);
}

/// Root; 0x10 calls MPI_Send at two sites and is sampled; 0x10 calls 0x20, which is sampled.
Profile small_profile() {
  Profile profile;
  profile.complete = true;
  profile.regions = {"MPI_Send"};
  profile.paths = {
      {0, NodeKind::Root, -1, 0},        {0, NodeKind::Frame, -1, 0x10}, {1, NodeKind::Region, -1, 0},
      {0, NodeKind::Frame, -1, 0x18},    {3, NodeKind::Region, -1, 0},   {0, NodeKind::Function, -1, 0x10},
      {1, NodeKind::Function, -1, 0x20}, {0, NodeKind::Special, -1, 0},  {7, NodeKind::Function, -1, 0x30}};
  experiment::Rank rank;
  rank.ticks_per_second = 1e9;
  experiment::Location location;
  location.name = "main";
  location.losses.assign(format::loss_count, 0);
  Unit unit;
  unit.wall = 1'000;
  unit.mpi = 300;
  unit.mpi_calls = 7;
  unit.cpu_ns = 1'000;
  add_region(unit, 2, 3, 100, 24);
  add_region(unit, 4, 4, 200, 32);
  add_samples(unit, 5, 1, 100);
  add_samples(unit, 6, 2, 500);
  add_samples(unit, 8, 1, 100);
  location.units.push_back(unit);
  rank.locations.push_back(location);
  profile.ranks.push_back(rank);
  return profile;
}

std::map<std::string, const TreeNode*> by_path(const CallTree& tree) {
  std::map<std::string, const TreeNode*> nodes;
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    std::string path;
    for (const auto& name : path_to(tree, i)) path += "/" + name;
    nodes[path] = &tree.nodes[i];
  }
  return nodes;
}

double exclusive_sum(const CallTree& tree) {
  double sum = 0;
  for (const auto& node : tree.nodes) sum += node.exclusive_s;
  return sum;
}

TEST(CallTree, frames_and_functions_of_one_name_are_one_node) {
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(small_profile(), symbolizer);
  const auto nodes = by_path(tree);
  ASSERT_TRUE(nodes.contains("/0x10"));
  EXPECT_NEAR(nodes.at("/0x10")->exclusive_s, 100e-9, 1e-18);
  EXPECT_NEAR(nodes.at("/0x10/0x20")->exclusive_s, 500e-9, 1e-18);
  EXPECT_EQ(nodes.at("/0x10/MPI_Send")->kind, run::PathKind::Mpi);
  EXPECT_EQ(nodes.at("/0x10/MPI_Send")->exclusive[format::MetricId::Visits], 3);
  EXPECT_EQ(nodes.at("/0x10")->exclusive[format::MetricId::Visits], 0);
  EXPECT_EQ(nodes.at("/0x10")->inclusive[format::MetricId::Visits], 3);
  EXPECT_EQ(nodes.at("/(truncated)")->kind, run::PathKind::Other);
  EXPECT_EQ(nodes.at("/(truncated)/0x30")->exclusive[format::MetricId::Samples], 1);
  EXPECT_NEAR(nodes.at("/0x10")->inclusive_s, 700e-9, 1e-18);
  EXPECT_FALSE(nodes.contains("/(no sample)"));  // nothing there
  EXPECT_NEAR(exclusive_sum(tree), 1'000e-9, 1e-18);
}

TEST(CallTree, what_samples_decide_about_time_off_the_cpu_is_of_a_thread_not_of_its_units) {
  Profile profile = small_profile();
  auto& units = profile.ranks[0].locations[0].units;
  units[0].mpi = 600, units[0].cpu_ns = 500;
  units.push_back(units[0]);
  Unit& other = units[1];  // its few ticks have found MPI only
  other.ticks_user = 0, other.weight_user_ns = 0, other.weight_mpi_ns = 700, other.ticks_mpi = 4;
  other.values.resize(2);
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(profile, symbolizer);
  // Each has 400 of user code, of which 0 to 400 were not on the CPU: 0 in the first, 400 in the second. So of 1,000 of
  // CPU time 400 are user code and 600 MPI.
  EXPECT_NEAR(tree.totals.not_on_cpu_s, 400e-9, 1e-18);
  EXPECT_NEAR(tree.totals.not_on_cpu_high_s - tree.totals.not_on_cpu_low_s, 800e-9, 1e-18);
}

TEST(CallTree, depth_keeps_mpi_functions_and_all_time) {
  Profile profile = small_profile();
  profile.paths.push_back({6, NodeKind::Region, -1, 0});  // not visited
  profile.paths[6].kind = NodeKind::Frame;                // 0x10 -> 0x20 -> MPI_Send instead of a sample
  Unit& unit = profile.ranks[0].locations[0].units[0];
  unit.values.clear(), unit.columns.clear();
  add_region(unit, 9, 5, 300, 10);
  CallTreeOptions options;
  options.depth = 1;
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(profile, symbolizer, options);
  const auto nodes = by_path(tree);
  ASSERT_TRUE(nodes.contains("/0x10/MPI_Send"));
  EXPECT_EQ(nodes.at("/0x10/MPI_Send")->exclusive[format::MetricId::Visits], 5);
  EXPECT_FALSE(nodes.contains("/0x10/0x20"));
  EXPECT_NEAR(exclusive_sum(tree), 1'000e-9, 1e-18);
}

TEST(CallTree, callsites_keep_calls_apart) {
  Profile profile = small_profile();
  profile.modules = {{"[vdso]", ""}};
  for (auto& path : profile.paths)
    if (path.kind == NodeKind::Frame) path.module = 0;  // both call sites are in one function, "[vdso]"
  Symbolizer symbolizer;
  EXPECT_EQ(by_path(build_call_tree(profile, symbolizer)).at("/[vdso]/MPI_Send")->exclusive[format::MetricId::Visits],
            7);
  CallTreeOptions options;
  options.callsites = true;
  const CallTree tree = build_call_tree(profile, symbolizer, options);
  std::multimap<std::string, std::int64_t> visits;
  for (const auto& node : tree.nodes)
    if (node.kind == run::PathKind::Mpi) visits.emplace(node.name, node.exclusive[format::MetricId::Visits]);
  EXPECT_EQ(visits, (std::multimap<std::string, std::int64_t>{{"MPI_Send", 3}, {"MPI_Send", 4}}));
}

TEST(CallTree, functions_know_which_runtime_they_are_of) {
  Profile profile = small_profile();
  profile.modules = {{"/opt/lib/libopen-pal.so.40", ""}, {"/opt/lib/libsolver.so", ""}};
  profile.paths[6].module = 0;  // what 0x10 calls
  profile.paths[1].module = profile.paths[5].module = 1;
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(profile, symbolizer);
  EXPECT_EQ(Runtime::Mpi, by_path(tree).at("/libsolver.so+0x10/libopen-pal.so.40+0x20")->runtime);
  EXPECT_EQ(Runtime::None, by_path(tree).at("/libsolver.so+0x10")->runtime);
  EXPECT_EQ(Runtime::None, by_path(tree).at("/libsolver.so+0x10/MPI_Send")->runtime);
}

TEST(CallTree, refrains_own_frames_are_left_out) {
  Profile profile = small_profile();
  profile.modules = {{"/opt/lib/librefrain-openmpi.so", ""}, {"/opt/lib/libother.so", ""}};
  profile.paths[1].module = 0;
  Symbolizer symbolizer;
  EXPECT_TRUE(by_path(build_call_tree(profile, symbolizer)).contains("/MPI_Send"));
  profile.paths[1].module = 1;
  EXPECT_TRUE(by_path(build_call_tree(profile, symbolizer)).contains("/libother.so+0x10/MPI_Send"));
}

TEST(CallTree, samples_in_refrains_own_functions_are_the_callers) {
  Profile profile = small_profile();
  profile.modules = {{"/opt/lib/librefrain-openmpi.so", ""}};
  Symbolizer symbolizer;
  const auto before = build_call_tree(profile, symbolizer);
  const auto* callee = by_path(before).at("/0x10/0x20");
  const auto* caller = by_path(before).at("/0x10");
  profile.paths[6].module = 0;  // what 0x10 calls
  const auto tree = build_call_tree(profile, symbolizer);
  EXPECT_FALSE(by_path(tree).contains("/0x10/librefrain-openmpi.so+0x20"));
  const auto* both = by_path(tree).at("/0x10");
  EXPECT_EQ(both->exclusive[format::MetricId::Samples],
            caller->exclusive[format::MetricId::Samples] + callee->exclusive[format::MetricId::Samples]);
  EXPECT_NEAR(both->exclusive_s, caller->exclusive_s + callee->exclusive_s, 1e-18);
  profile.paths[5].module = 0;  // without a caller it has a name
  EXPECT_TRUE(by_path(build_call_tree(profile, symbolizer)).contains("/librefrain-openmpi.so+0x10"));
}

TEST(CallTree, lost_paths_of_a_full_arena_are_told_from_missing_samples) {
  Profile profile = small_profile();
  auto& location = profile.ranks[0].locations[0];
  location.units[0].weight_user_ns += 700;
  Symbolizer symbolizer;
  EXPECT_TRUE(by_path(build_call_tree(profile, symbolizer)).contains("/(no sample)"));
  location.losses[static_cast<std::size_t>(format::Loss::ArenaFull)] = 1;
  const auto tree = build_call_tree(profile, symbolizer);
  ASSERT_TRUE(by_path(tree).contains("/(arena full)"));
  EXPECT_NEAR(by_path(tree).at("/(arena full)")->exclusive_s, 350e-9, 1e-18);
}

TEST(CallTree, spread_is_over_ranks_and_absent_ranks_count_as_zero) {
  Profile profile = small_profile();
  profile.ranks.push_back(profile.ranks[0]);
  profile.ranks[1].rank = 1;
  profile.ranks[1].locations[0].rank = 1;
  profile.ranks[1].ticks_per_second = 2e9;  // the same ticks are half the time
  auto& unit = profile.ranks[1].locations[0].units[0];
  unit.values.erase(unit.values.begin());  // no MPI_Send of the first site
  Symbolizer symbolizer;
  const CallTree tree = build_call_tree(profile, symbolizer);
  const auto* send = by_path(tree).at("/0x10/MPI_Send");
  EXPECT_EQ(send->spread.min, 0);
  EXPECT_NEAR(send->spread.max, 100e-9, 1e-18);
  EXPECT_NEAR(send->spread.mean, 50e-9, 1e-18);
  EXPECT_NEAR(tree.totals.wall_s, 1'500e-9, 1e-18);
  EXPECT_NEAR(exclusive_sum(tree), tree.totals.wall_s, 1e-18);
  CallTreeOptions options;
  options.where.ranks = [](int rank) { return rank == 1; };
  const CallTree one = build_call_tree(profile, symbolizer, options);
  EXPECT_NEAR(one.totals.wall_s, 500e-9, 1e-18);
  EXPECT_FALSE(by_path(one).contains("/0x10/MPI_Send"));  // of no value there
}

TEST(CallTree, a_path_into_recursion_counts_once_in_the_flat_view) {
  Profile profile = small_profile();
  profile.paths = {{0, NodeKind::Root, -1, 0},
                   {0, NodeKind::Frame, -1, 0x10},
                   {1, NodeKind::Frame, -1, 0x10},
                   {2, NodeKind::Function, -1, 0x10},
                   {1, NodeKind::Function, -1, 0x20}};
  Unit unit;
  unit.wall = unit.cpu_ns = 1'000;
  add_samples(unit, 3, 1, 600);
  add_samples(unit, 4, 1, 400);
  profile.ranks[0].locations[0].units = {unit};
  Symbolizer symbolizer;
  const auto functions = function_totals(build_call_tree(profile, symbolizer));
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "0x10");
  EXPECT_NEAR(functions[0].exclusive_s, 600e-9, 1e-18);
  EXPECT_NEAR(functions[0].inclusive_s, 1'000e-9, 1e-18);
}

TEST(CallTree, standard_errors_are_those_of_the_shares) {
  Symbolizer symbolizer;
  Profile profile = small_profile();
  auto& unit = profile.ranks[0].locations[0].units[0];
  unit.values.clear(), unit.columns.clear();
  unit.mpi = 0, unit.mpi_calls = 0, unit.ticks_user = 0, unit.weight_user_ns = 0, unit.weight_user_squared = 0;
  add_samples(unit, 5, 10, 100);
  add_samples(unit, 6, 30, 300);  // 40 samples of 10
  const CallTree tree = build_call_tree(profile, symbolizer);
  EXPECT_NEAR(by_path(tree).at("/0x10/0x20")->standard_error_s, 1'000e-9 * std::sqrt(.75 * .25 / 40), 1e-15);
}

TEST(CallTree, a_function_has_one_error_whatever_calls_it_and_ranks_are_independent) {
  Symbolizer symbolizer;
  Profile profile = small_profile();
  profile.paths[8].offset = 0x20;  // the same function below (truncated)
  auto& unit = profile.ranks[0].locations[0].units[0];
  unit.values.clear(), unit.columns.clear();
  unit.mpi = 0, unit.mpi_calls = 0, unit.ticks_user = 0, unit.weight_user_ns = 0, unit.weight_user_squared = 0;
  add_samples(unit, 5, 20, 200);
  add_samples(unit, 6, 10, 100);
  add_samples(unit, 8, 10, 100);  // 40 samples of 10, half of them in 0x20
  const auto error_of = [&] {
    const CallTree tree = build_call_tree(profile, symbolizer);
    const auto functions = function_totals(tree);
    const auto at = std::ranges::find(functions, "0x20", &FunctionTotals::name);
    EXPECT_NEAR(at->exclusive_s, .5 * tree.totals.wall_s, 1e-18);
    EXPECT_NEAR(at->exclusive_error_s, at->inclusive_error_s, 1e-18);
    return at->exclusive_error_s;
  };
  const double of_one = 1'000e-9 * std::sqrt(.5 * .5 / 40);
  EXPECT_NEAR(error_of(), of_one, 1e-15);
  profile.ranks.push_back(profile.ranks[0]);
  profile.ranks[1].rank = profile.ranks[1].locations[0].rank = 1;
  EXPECT_NEAR(error_of(), std::sqrt(2) * of_one, 1e-15);
  // A rank that does something else makes the others no less certain: its time has no error at all.
  auto& other = profile.ranks[1].locations[0].units[0];
  other.values.clear(), other.columns.clear();
  other.ticks_user = 0, other.weight_user_ns = 0, other.weight_user_squared = 0;
  add_samples(other, 5, 40, 400);
  const auto functions = function_totals(build_call_tree(profile, symbolizer));
  EXPECT_NEAR(std::ranges::find(functions, "0x20", &FunctionTotals::name)->exclusive_error_s, of_one, 1e-15);
}

TEST(CallTree, time_is_conserved_for_random_experiments) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 200; ++i) {
    Profile profile;
    profile.regions = {"MPI_Send", "MPI_Recv"};
    profile.paths = {{0, NodeKind::Root, -1, 0}};
    while (profile.paths.size() < 60) {
      const auto parent = static_cast<std::uint32_t>(random() % profile.paths.size());
      const NodeKind above = profile.paths[parent].kind;
      if (above == NodeKind::Region || above == NodeKind::Function) continue;
      const NodeKind kind = std::array{NodeKind::Frame, NodeKind::Function, NodeKind::Region}[random() % 3];
      profile.paths.push_back({parent, kind, -1, kind == NodeKind::Region ? random() % 2 : random() % 9});
    }
    for (int r = 0; r < 5; ++r) {
      experiment::Rank rank;
      rank.rank = r;
      rank.ticks_per_second = 2.3e9 + 1e5 * r;
      rank.call_cost.median = 90.5;
      rank.tick_cost.median = 9'000.7;
      for (int t = 0; t < 3; ++t) {
        experiment::Location location;
        location.rank = r, location.thread = t;
        location.losses.assign(format::loss_count, 0);
        for (int u = 0; u < 4; ++u) {
          Unit unit;
          unit.wall = static_cast<std::int64_t>(random() % 100'000'000'000);
          for (std::uint32_t p = 1; p < profile.paths.size(); ++p) {
            if (random() % 3) continue;
            if (profile.paths[p].kind == NodeKind::Region) {
              const auto time = static_cast<std::int64_t>(random() % 1'000'000'000);
              add_region(unit, p, 3, time);
              unit.mpi += time;
              unit.mpi_calls += 3;
            } else if (profile.paths[p].kind == NodeKind::Function) {
              add_samples(unit, p, 1, static_cast<std::int64_t>(random() % 20'000'000));
            }
          }
          unit.cpu_ns = static_cast<std::int64_t>(random() % 50'000'000'000);
          location.units.push_back(std::move(unit));
        }
        rank.locations.push_back(std::move(location));
      }
      profile.ranks.push_back(std::move(rank));
    }
    Symbolizer symbolizer;
    CallTreeOptions options;
    options.depth = static_cast<int>(random() % 4);
    options.callsites = random() % 2;
    const CallTree tree = build_call_tree(profile, symbolizer, options);
    ASSERT_NEAR(exclusive_sum(tree) / tree.totals.wall_s, 1, 1e-12);
    ASSERT_NEAR(tree.nodes[0].inclusive_s / tree.totals.wall_s, 1, 1e-12);
    double mpi = 0;
    for (const auto& node : tree.nodes) mpi += node.kind == run::PathKind::Mpi ? node.exclusive_s : 0;
    ASSERT_NEAR(mpi, tree.totals.mpi_s, 1e-9 * tree.totals.wall_s);
    ASSERT_NEAR(tree.totals.mpi_s + tree.totals.user_s + tree.totals.refrain_s, tree.totals.wall_s,
                1e-12 * tree.totals.wall_s);
  }
}

}  // namespace
}  // namespace refrain::analysis
