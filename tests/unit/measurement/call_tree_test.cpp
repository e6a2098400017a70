#include "measurement/call_tree.hpp"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <sys/resource.h>
#include <tuple>

namespace refrain::measurement {
namespace {

constexpr std::size_t mebibyte = 1 << 20;

struct Tree : CallTree {
  explicit Tree(std::size_t bytes) { EXPECT_TRUE(create(bytes)); }
  ~Tree() { destroy(); }
};

TEST(CallTree, equal_steps_lead_to_one_node_and_any_difference_to_another) {
  Tree tree(4 * mebibyte);
  bool full = false;
  const NodeId a = tree.child(root_node, NodeKind::Frame, 0x1000, full);
  EXPECT_EQ(a, tree.child(root_node, NodeKind::Frame, 0x1000, full));
  EXPECT_NE(a, tree.child(root_node, NodeKind::Function, 0x1000, full));
  EXPECT_NE(a, tree.child(root_node, NodeKind::Frame, 0x1001, full));
  EXPECT_NE(a, tree.child(a, NodeKind::Frame, 0x1000, full));  // recursion is kept
  EXPECT_FALSE(full);
}

TEST(CallTree, agrees_with_a_map_over_many_random_steps) {
  Tree tree(64 * mebibyte);
  std::map<std::tuple<std::uint32_t, int, std::uint64_t>, NodeId> truth;
  std::mt19937_64 random(7);
  bool full = false;
  for (int i = 0; i < 200'000; ++i) {
    const NodeId parent{static_cast<std::uint32_t>(random() % std::min<std::uint32_t>(tree.size(), 5000))};
    const NodeKind kind = random() % 2 ? NodeKind::Frame : NodeKind::Region;
    const std::uint64_t key = random() % 40 + 1;
    const auto step = std::tuple{static_cast<std::uint32_t>(parent), static_cast<int>(kind), key};
    const NodeId node = tree.child(parent, kind, key, full);
    const auto [known, fresh] = truth.emplace(step, node);
    ASSERT_EQ(known->second, node);
    ASSERT_LT(tree.node(node).parent, static_cast<std::uint32_t>(node));
    (void)fresh;
  }
  EXPECT_FALSE(full);
  EXPECT_EQ(tree.size(), truth.size() + 2);  // the root and (arena full)
}

TEST(CallTree, values_of_different_nodes_never_overlap) {
  Tree tree(16 * mebibyte);
  bool full = false;
  std::vector<NodeId> nodes;
  for (std::uint64_t i = 1; i <= 2000; ++i)
    nodes.push_back(tree.child(root_node, i % 2 ? NodeKind::Region : NodeKind::Function, i, full));
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t c = 0; c < columns_of(tree.node(nodes[i]).kind); ++c)
      tree.values(nodes[i])[c] = static_cast<std::int64_t>(i * 10 + c);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t c = 0; c < columns_of(tree.node(nodes[i]).kind); ++c)
      ASSERT_EQ(tree.values(nodes[i])[c], static_cast<std::int64_t>(i * 10 + c));
}

TEST(CallTree, a_full_tree_keeps_counting_every_mpi_function_below_arena_full) {
  Tree tree(mebibyte);
  bool full = false;
  std::uint64_t key = 1;
  while (!full) tree.values(tree.child(root_node, NodeKind::Function, key++, full));
  // The same function from many new places meets in one node; existing paths are still found.
  bool again = false;
  const NodeId known = tree.child(root_node, NodeKind::Function, 1, again);
  EXPECT_FALSE(again);
  EXPECT_EQ(tree.node(known).key, 1u);
  const NodeId lost = tree.child(root_node, NodeKind::Frame, key + 1, full);
  EXPECT_EQ(tree.node(lost).kind, NodeKind::Special);
  std::map<std::uint64_t, NodeId> regions;
  for (std::uint64_t region = 0; region < 500; ++region) {
    const NodeId leaf = tree.child(lost, NodeKind::Region, region, full);
    ASSERT_EQ(tree.node(leaf).kind, NodeKind::Region);
    ++tree.values(leaf)[column_of(MetricId::Visits)];
    regions[region] = leaf;
  }
  for (std::uint64_t region = 0; region < 500; ++region) {
    EXPECT_EQ(tree.child(known, NodeKind::Region, region, full), regions[region]) << "from another full place";
    EXPECT_EQ(tree.values(regions[region])[column_of(MetricId::Visits)], 1);
  }
}

#ifndef __SANITIZE_THREAD__  // which needs memory of its own meanwhile
TEST(CallTree, that_is_given_no_more_memory_goes_on_below_arena_full) {
  Tree tree(32 * mebibyte);
  rlimit before{};
  getrlimit(RLIMIT_DATA, &before);
  const rlimit nothing{4096, before.rlim_max};  // 0 would stand for no limit
  setrlimit(RLIMIT_DATA, &nothing);             // what is not open yet cannot be opened; nothing below allocates
  bool full = false;
  std::uint64_t key = 1;
  while (!full && key < 100'000) ++tree.values(tree.child(root_node, NodeKind::Function, key++, full))[0];
  const std::uint32_t nodes = tree.size();
  const NodeId lost = tree.child(root_node, NodeKind::Frame, key, full);
  std::int64_t visits = 0;
  for (std::uint64_t region = 0; region < 1000; ++region)
    visits += ++tree.values(tree.child(lost, NodeKind::Region, region, full))[column_of(MetricId::Visits)];
  setrlimit(RLIMIT_DATA, &before);
  EXPECT_TRUE(full);
  EXPECT_LT(nodes, 20'000u);
  EXPECT_EQ(visits, 1000);
  full = false;
  const NodeId later = tree.child(root_node, NodeKind::Function, key + 1, full);
  EXPECT_FALSE(full) << "there is memory again";
  EXPECT_EQ(tree.node(later).key, key + 1);
}
#endif

TEST(CallTree, only_what_a_tree_needs_can_be_touched) {
  const auto usable_kib = [] {
    std::size_t kib = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      std::uint64_t begin = 0, end = 0;
      char rights[5] = {};
      if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) == 3 && rights[1] == 'w')
        kib += (end - begin) >> 10;
    }
    return kib;
  };
  const std::size_t before = usable_kib();
  Tree tree(512 * mebibyte);
  EXPECT_LT(usable_kib(), before + 2048);
}

TEST(CallTree, all_of_the_memory_can_be_used) {
  // What a node takes: itself, the pool's share and its place among the touched ones, and 8 slots of the index with its
  // earlier sizes at most. Half of what the first three need is what the index left unreachable at sizes just below a
  // power of two.
  constexpr std::size_t bytes_per_node = sizeof(Node) + 10 * sizeof(std::int64_t) + 9 * sizeof(std::uint32_t);
  for (const std::size_t memory : {1, 3, 4, 7, 11, 16, 23, 32, 45, 64}) {
    Tree tree(memory * mebibyte);
    bool full = false;
    for (std::uint64_t key = 1; !full; ++key) (void)tree.child(root_node, NodeKind::Frame, key, full);
    EXPECT_GE(tree.size() + 1024, memory * mebibyte / bytes_per_node) << memory << " MiB";
    EXPECT_LE(tree.bytes_in_use(), memory * mebibyte);
  }
  Tree tree(32 * mebibyte);
  bool full = false;
  for (std::uint64_t key = 1; !full; ++key) (void)tree.child(root_node, NodeKind::Frame, key, full);
  EXPECT_GT(tree.size(), 250'000u);
}

TEST(CallTree, a_thousand_call_paths_fit_into_a_mebibyte) {
  Tree tree(32 * mebibyte);
  bool full = false;
  for (std::uint64_t path = 0; path < 1000; ++path) {  // 8 frames of their own each, then an MPI function
    NodeId node = root_node;
    for (std::uint64_t depth = 0; depth < 8; ++depth)
      node = tree.child(node, NodeKind::Frame, 0x400000 + path * 64 + depth, full);
    ++tree.values(tree.child(node, NodeKind::Region, path % 5, full))[0];
  }
  EXPECT_LE(tree.bytes_in_use(), mebibyte);
}

}  // namespace
}  // namespace refrain::measurement
