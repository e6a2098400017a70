// Findings of waiting have the shares that the call tree has.
#include "offline/report/wait_findings.hpp"

#include <gtest/gtest.h>

#include "offline/findings/sentence.hpp"

namespace refrain::report {
namespace {

using run::PathKind;
using Method = NodeWait::Method;

/// Two ranks of 50 s that call MPI at three call paths.
class Waiting {
 public:
  Waiting() {
    tree.locations.resize(2);
    for (auto& of : tree.locations) of.wall_s = 50;
    tree.locations[1].rank = 1;
    tree.nodes.emplace_back();
    add(0, "main");
    for (const char* name : {"MPI_Recv", "MPI_Allreduce", "MPI_Test"}) add(1, name);
    waits.resize(tree.nodes.size());
  }
  void wait(std::uint32_t node, Method method, double seconds, double error_s, const char* kind) {
    waits[node].method = method;
    waits[node].seconds = seconds;
    waits[node].error_s = error_s;
    waits[node].kind = kind;
  }
  std::vector<findings::Finding> found() const { return findings_of_waiting({tree, tree.locations, waits}); }

 private:
  void add(std::int32_t parent, const char* name) {
    analysis::TreeNode& node = tree.nodes.emplace_back();
    node.parent = parent;
    node.name = name;
    node.kind = parent == 0 ? PathKind::User : PathKind::Mpi;
    node.exclusive_s = 20;
    tree.nodes[static_cast<std::size_t>(parent)].children.push_back(static_cast<std::uint32_t>(tree.nodes.size() - 1));
  }
  analysis::CallTree tree;
  std::vector<NodeWait> waits;
};

TEST(FindingsOfWaiting, without_events_are_what_durations_of_calls_tell) {
  Waiting run;
  run.wait(2, Method::Minimum, 12, 0.5, "late_sender");
  run.wait(3, Method::Minimum, 15, 1, "wait_at_nxn");
  run.wait(4, Method::Minimum, 18, 1, "polling");  // it has a rule of its own
  const auto found = run.found();
  ASSERT_EQ(2u, found.size());
  EXPECT_EQ(
      "15.0 +- 1.0 % of the time: ranks wait in main > MPI_Allreduce for the last rank, as durations of calls "
      "tell",
      findings::line_of(found[0]));
  EXPECT_DOUBLE_EQ(0.12, found[1].share) << "of the elapsed time of all ranks";
  EXPECT_DOUBLE_EQ(0.005, found[1].error);
  EXPECT_EQ("minimum", found[1].method);
}

TEST(FindingsOfWaiting, are_none_where_it_may_as_well_be_nothing) {
  Waiting run;
  run.wait(2, Method::Minimum, 12, 5, "late_sender");
  run.wait(3, Method::Minimum, 2, 0, "wait_at_nxn");  // less than 3 %
  EXPECT_TRUE(run.found().empty());
}

}  // namespace
}  // namespace refrain::report
