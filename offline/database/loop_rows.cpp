#include "offline/database/loop_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "offline/analysis/iteration_shape.hpp"
#include "offline/experiment/clean_text.hpp"

namespace refrain::database {
namespace {

/// These limits keep a database small, however long a run was.
constexpr std::int64_t most_iterations = 2'000'000;  ///< sum over locations
constexpr std::int64_t most_steps = 1'000'000;       ///< of a loop

struct StepSum {
  std::int64_t locations = 0;
  double least_wall = 0, wall = 0, most_wall = 0, mpi = 0, least_user = 0, user = 0, most_user = 0;
};

/// Growth of the mean wall time of iterations. A property has a confidence, so the test is weaker than for a finding.
double growth_of(const std::vector<StepSum>& steps) {
  constexpr double most_by_chance = 1e-3;
  std::vector<double> wall;
  for (const StepSum& sum : steps)
    wall.push_back(sum.locations > 0 ? sum.wall / static_cast<double>(sum.locations)
                                     : std::numeric_limits<double>::quiet_NaN());
  const auto shape = analysis::shape_of(wall, most_by_chance);
  return shape.growth ? shape.growth->last - shape.growth->first : 0;
}

}  // namespace

void add_loops(Connection& connection, ObjectTables& tables, RunSource& source, const LoopsOfRun& of_run,
               std::vector<std::string>& notes) {
  const std::size_t locations = source.locations().size();
  std::int64_t all = 0;
  for (std::size_t i = 0; i < locations; ++i) all += source.iterations(i);
  if (all == 0) return;
  const bool each = all <= most_iterations;
  if (!each)
    notes.push_back(
        fmt::format("{} iterations of all locations are too many for the database: each loop has them over all "
                    "locations together",
                    all));
  auto& loops = tables.of("Loop", {"TestRun_Loops", "Name", "Count", "Growth"});
  auto& clusters = tables.of("Cluster", {"Loop_Clusters", "At", "Label", "Members", "First", "Last", "MeanWall"});
  auto& iterations = tables.of("Iteration", {"Loop_Iterations", "At", "Number", "Like", "Wall", "Mpi", "User"});
  const std::int64_t first_loop = integer_of(connection.one("SELECT COALESCE(MAX(\"id\"), 0) FROM \"Loop\"")) + 1;
  std::vector<std::int64_t> ids, counts;
  const auto id_of = [&](std::size_t loop) {
    // The count is known at the end: the row is written then, with this id.
    while (ids.size() <= loop) ids.push_back(first_loop + static_cast<std::int64_t>(ids.size()));
    counts.resize(ids.size());
    return ids[loop];
  };
  std::vector<std::vector<StepSum>> steps;
  bool is_cut = false, has_means = false;
  for (std::size_t i = 0; i < locations; ++i) {
    has_means = has_means || std::ranges::any_of(source.loops_of(i), &RunLoop::has_means);
    std::map<std::pair<std::size_t, std::int64_t>, std::int64_t> cluster_ids;
    source.for_each_iteration(
        i,
        [&](const RunCluster& cluster) {
          cluster_ids[{cluster.loop, cluster.label}] =
              clusters.add({id_of(cluster.loop), of_run.locations[i], cluster.label, cluster.members, cluster.first,
                            cluster.last, value_of(cluster.mean_wall_s)});
        },
        [&](const RunIteration& one) {
          const std::int64_t loop = id_of(one.loop);
          counts[one.loop] = std::max(counts[one.loop], one.number + 1);
          const auto like = cluster_ids.find({one.loop, one.cluster});
          if (each)
            iterations.add({loop, of_run.locations[i], one.number,
                            like == cluster_ids.end() ? Value() : Value(like->second), value_of(one.wall_s),
                            value_of(one.mpi_s), value_of(one.user_s)});
          if (one.number < 0 || one.number >= most_steps) {
            is_cut = true;
            return;
          }
          if (steps.size() <= one.loop) steps.resize(one.loop + 1);
          auto& of = steps[one.loop];
          const auto place = static_cast<std::size_t>(one.number);
          if (of.size() <= place) of.resize(place + 1);
          StepSum& sum = of[place];
          const bool is_first = sum.locations++ == 0;
          sum.least_wall = is_first ? one.wall_s : std::min(sum.least_wall, one.wall_s);
          sum.most_wall = is_first ? one.wall_s : std::max(sum.most_wall, one.wall_s);
          sum.least_user = is_first ? one.user_s : std::min(sum.least_user, one.user_s);
          sum.most_user = is_first ? one.user_s : std::max(sum.most_user, one.user_s);
          sum.wall += one.wall_s;
          sum.mpi += one.mpi_s;
          sum.user += one.user_s;
        });
    of_run.progress(i + 1, locations);
  }
  if (has_means)
    notes.push_back(
        "long loops: iterations that their logs do not keep have the mean of their group, and the cluster of its kept "
        "iteration");
  if (is_cut) notes.push_back(fmt::format("of a loop only the first {} iterations are in the database", most_steps));
  auto& step_table = tables.of("Step", {"Loop_Steps", "Number", "Locations", "MinWall", "MeanWall", "MaxWall",
                                        "MeanMpi", "MinUser", "MeanUser", "MaxUser"});
  for (std::size_t loop = 0; loop < ids.size(); ++loop) {
    loops.add({of_run.run, experiment::clean_text(source.loops()[loop]), counts[loop],
               loop < steps.size() ? Value(growth_of(steps[loop])) : Value()});
    if (loop >= steps.size()) continue;
    for (std::size_t number = 0; number < steps[loop].size(); ++number) {
      const StepSum& sum = steps[loop][number];
      if (sum.locations == 0) continue;
      const auto n = static_cast<double>(sum.locations);
      step_table.add({ids[loop], static_cast<std::int64_t>(number), sum.locations, value_of(sum.least_wall),
                      value_of(sum.wall / n), value_of(sum.most_wall), value_of(sum.mpi / n), value_of(sum.least_user),
                      value_of(sum.user / n), value_of(sum.most_user)});
    }
  }
}

}  // namespace refrain::database
