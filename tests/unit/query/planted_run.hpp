#pragma once
/// A made-up run of two ranks, whose numbers stand in the tests. Values are seconds, of the metrics wall, mpi, visits
/// and late_sender (known of the run only):
///
///     main                     rank 0: outside 1, cluster 0 2     rank 1: outside 4, not divided
///     main > MPI_Recv          rank 0: cluster 1 8 (3 visits)     rank 1: 16 (5 visits)
///     main > solve > MPI_Recv  rank 0: -                          rank 1: 32 (7 visits)
///     (blocked)                rank 0: outside 64                 rank 1: -
///
/// late_sender in main > MPI_Recv: 0.5 on rank 0. main > MPI_Recv has waited for 6 s, 2 of them on rank 0 and 3 on rank
/// 1; main > solve > MPI_Recv for 10 s, no rank is known; of others it is not known. The loop "steps" of rank 0 has
/// three iterations, of the clusters 0, 1, 1.

#include "offline/query/runs.hpp"

namespace refrain::query {

class PlantedRun : public database::RunSource {
 public:
  explicit PlantedRun(std::string name = "planted") {
    facts_.experiment = std::move(name);
    facts_.program = "app";
    facts_.processes = 2;
    // In the order of levels, which is not the preorder.
    nodes_.resize(5);
    nodes_[0] = {.name = "main"};
    nodes_[1] = {.kind = run::PathKind::Mpi, .parent = 0, .name = "MPI_Recv"};
    nodes_[2] = {.parent = 0, .name = "solve", .error_s = 0.25};
    nodes_[3] = {.kind = run::PathKind::Other, .name = "(blocked)"};
    nodes_[4] = {.kind = run::PathKind::Mpi, .parent = 2, .name = "MPI_Recv"};
    nodes_[1].wait_s = 6;
    nodes_[1].wait_by_rank = {{0, 2.0}, {1, 3.0}};
    nodes_[1].wait_kind = "late_sender";
    nodes_[4].wait_s = 10;
    locations_ = {{0, 0, "rank 0"}, {1, 0, "rank 1"}};
    metrics_ = {{"wall", "s"}, {"mpi", "s", 0}, {"visits", "1"}};
    metrics_.push_back({"late_sender", "s", 1, "messages that come late", run::Adds::Exact, run::Metric::Found});
    loops_ = {"steps"};
  }

  std::string digest() const override { return "none"; }

  void for_each_node(std::size_t location, const TakeNode& take) override {
    const std::vector<double> main = {3, 0, 0, 0}, blocked = {64, 0, 0, 0}, receive = {8, 8, 3, 0.5},
                              other_main = {4, 0, 0, 0}, other_receive = {16, 16, 5, 0}, in_solve = {32, 32, 7, 0};
    ++passes;
    take(0, location == 0 ? main : other_main);
    take(1, location == 0 ? receive : other_receive);
    if (location == 0) take(3, blocked);
    else take(4, in_solve);
  }
  std::vector<run::UnitRef> units(std::size_t location) override {
    using run::UnitRef;
    if (location == 1) return {{}};
    return {{UnitRef::Outside}, {UnitRef::Cluster, 0, 0}, {UnitRef::Cluster, 0, 1}};
  }
  void for_each_node_of(std::size_t location, const run::UnitRef& unit, const TakeNode& take) override {
    if (unit.of == run::UnitRef::Run) return for_each_node(location, take);
    const std::vector<double> outside = {1, 0, 0, 0}, blocked = {64, 0, 0, 0}, first = {2, 0, 0, 0},
                              second = {8, 8, 3, 0};
    ++passes;
    if (unit.of == run::UnitRef::Outside) {
      take(0, outside);
      take(3, blocked);
    } else {
      take(unit.number == 0 ? 0 : 1, unit.number == 0 ? first : second);
    }
  }
  std::vector<database::RunLoop> loops_of(std::size_t location) override {
    return location == 0 ? std::vector<database::RunLoop>{{0, 3}} : std::vector<database::RunLoop>{};
  }
  std::int64_t iterations(std::size_t location) override { return location == 0 ? 3 : 0; }
  void for_each_iteration(std::size_t location, const std::function<void(const database::RunCluster&)>&,
                          const std::function<void(const database::RunIteration&)>& take) override {
    if (location != 0) return;
    take({0, 0, 0, 2, 0, 2});
    take({0, 1, 1, 4.5, 4.5, 0});
    take({0, 2, 1, 3.5, 3.5, database::unknown});
  }

  int passes = 0;  ///< over a location or unit
};

}  // namespace refrain::query
