#include <cmath>
#include <fmt/format.h>
#include <map>

#include "offline/explorer/cluster_mixture.hpp"
#include "offline/explorer/loop_parts.hpp"
#include "offline/explorer/loop_summary.hpp"
#include "offline/explorer/places.hpp"

namespace refrain::explorer {
namespace {

using run::PathKind;

constexpr std::size_t most_paths = 30, most_iterations = 16;
/// Values of classes and iterations by place.
constexpr std::int64_t most_unit_cells = std::int64_t{1} << 21;

/// The largest call paths below the loop.
std::vector<std::uint32_t> largest_below(const LoopInput& input, std::uint32_t top) {
  const auto& tree = input.tree;
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = top + 1; node < input.nodes.end(top); ++node)
    if (tree.nodes[node].kind != PathKind::Other && tree.nodes[node].inclusive_s > 0) nodes.push_back(node);
  std::ranges::stable_sort(nodes, std::greater<>{}, [&](std::uint32_t node) { return tree.nodes[node].inclusive_s; });
  if (nodes.size() > most_paths) nodes.resize(most_paths);
  return nodes;
}

/// The locations that are reconstructed.
std::vector<bool> chosen_of(const LoopInput& input, const report::LoopGroup& group) {
  std::map<std::pair<std::int32_t, std::int32_t>, const analysis::LocationSummary*> summaries;
  for (const analysis::LocationSummary& of : input.tree.locations) summaries[{of.rank, of.thread}] = &of;
  std::vector<Thread> threads;
  for (const run::LoopPlace& of : group.locations) {
    Thread& thread = threads.emplace_back(Thread{{}, of.rank, of.thread});
    const auto at = summaries.find({of.rank, of.thread});
    if (at != summaries.end()) thread.user_s = at->second->user_s, thread.mpi_s = at->second->mpi_s;
  }
  return choose_threads(threads, most_reconstructed_locations);
}

/// Curves of call paths at chosen locations, of one iteration in `stride`.
struct PathCurves {
  std::vector<std::uint32_t> nodes;
  std::vector<run::PathSelection> selections;  ///< by node
  std::int64_t stride = 1;
  Bins bins{1, 1};
};

/// What each location is asked for.
struct UnitPlan {
  const JobIterations& iterations;
  std::vector<bool> is_chosen;  ///< by location
  PathCurves curves = {};
  std::size_t first = 0;  ///< the first unit; others are counted from there, classes before iterations
  std::size_t units = 0;  ///< how many there are
  bool reads_classes = false;
  std::map<std::int64_t, std::size_t> single = {};  ///< units of single iterations
  std::vector<ClusterMixture::Part> part_of = {};   ///< by metric

  bool has_values() const { return reads_classes || !single.empty(); }
};

/// What one location has of it.
struct PlaceParts {
  std::size_t number = 0;
  std::vector<BinnedPlace> curves;
  ClusterMixture::Result values;
};

/// Reads locations; several threads at a time.
class PartsReader {
 public:
  PartsReader(const LoopInput& input, const UnitPlan& plan) : input_(input), plan_(plan) {}

  PlaceParts read(std::size_t number, const run::OpenLoop& open) const {
    PlaceParts parts;
    parts.number = number;
    const run::IterationProfiles& profiles = *open.profiles;
    const bool is_chosen = plan_.is_chosen[number];
    std::vector<run::IterationValue> curves;
    if (is_chosen) {
      parts.curves.resize(plan_.curves.nodes.size(), BinnedPlace(plan_.curves.bins));
      for (const auto& selection : plan_.curves.selections)
        curves.push_back(value_of_callpaths(profiles, selection, "wall"));
    }
    const std::size_t clusters = open.loop().clusters.size();
    ClusterMixture mixture(clusters, plan_.units);
    std::vector<ClusterMixture::Value> exact;
    const auto mpi = value_of_metric(profiles, "mpi"), user = value_of_metric(profiles, "user");
    const analysis::JobClasses& classes = plan_.iterations.classes;
    for_each_present(open, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
      if (is_chosen && i % plan_.curves.stride == 0)
        for (std::size_t n = 0; n < curves.size(); ++n)
          if (curves[n]) parts.curves[n].add(plan_.curves.bins.of(i), curves[n](i, cluster, row));
      if (!plan_.has_values()) return;
      const bool has_cluster = cluster >= 0 && static_cast<std::size_t>(cluster) < clusters;
      const auto put = [&](std::size_t unit) {
        mixture.put(cluster, unit, mpi ? mpi(i, cluster, row) : NAN, user ? user(i, cluster, row) : NAN);
      };
      if (has_cluster) mixture.add(cluster);
      const auto group = static_cast<std::size_t>(i / plan_.iterations.width);
      if (has_cluster && plan_.reads_classes && group < classes.of.size()) put(classes.of[group]);
      const auto single = plan_.single.find(i);
      if (single == plan_.single.end()) return;
      const bool needs_no_model = profiles.cluster_unit(cluster) == nullptr || profiles.is_exact(cluster);
      if (is_chosen || needs_no_model || !has_cluster) add_iteration(open, i, cluster, row, single->second, exact);
      else put(single->second);
    });
    const auto values_of = [&](std::size_t cluster) {
      std::vector<OwnValue> values;
      if (const experiment::Unit* unit = profiles.cluster_unit(static_cast<std::int32_t>(cluster)))
        profiles.with_rows(*unit, true, [&](const run::Leaf& leaf) { values = input_.own.of(leaf); });
      return values;
    };
    parts.values = mixture.values(values_of, plan_.part_of, input_.nodes.size());
    parts.values.values.insert(parts.values.values.end(), exact.begin(), exact.end());
    return parts;
  }

 private:
  void add_iteration(const run::OpenLoop& open, std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row,
                     std::size_t unit, std::vector<ClusterMixture::Value>& to) const {
    const run::IterationProfiles& profiles = *open.profiles;
    profiles.with_rows(profiles.unit_of(i, cluster, row), profiles.is_exact(cluster), [&](const run::Leaf& leaf) {
      for (const OwnValue& own : input_.own.of(leaf)) to.push_back({unit, own});
    });
  }

  const LoopInput& input_;
  const UnitPlan& plan_;
};

/// Of one loop.
class UnitMaker {
 public:
  UnitMaker(const LoopInput& input, const report::LoopGroup& group, const JobIterations& iterations, Loop& loop,
            ValueTable& table, Run& run)
      : input_(input),
        group_(group),
        iterations_(iterations),
        loop_(loop),
        table_(table),
        run_(run),
        nodes_(static_cast<std::int64_t>(input.tree.nodes.size())),
        locations_(static_cast<std::int64_t>(group.locations.size())) {}

  void make() {
    UnitPlan plan{.iterations = iterations_, .is_chosen = chosen_of(input_, group_)};
    plan.curves = plan_curves();
    plan.first = run_.units.size();
    std::vector<std::int64_t> wanted = list_classes();
    choose_iterations(wanted);
    for (const std::int64_t i : wanted) {
      plan.single.emplace(i, run_.units.size() - plan.first);
      list_iteration(i);
    }
    plan.units = run_.units.size() - plan.first;
    put_classes_of_bins(plan.first);
    plan_classes(plan);
    const std::size_t metrics = input_.own.metrics().size();
    for (std::size_t m = 0; m < metrics; ++m)
      plan.part_of.push_back(input_.own.is_below(m, "mpi")    ? ClusterMixture::Part::Mpi
                             : input_.own.is_below(m, "user") ? ClusterMixture::Part::User
                                                              : ClusterMixture::Part::Other);
    tell_chosen(plan);
    if (plan.has_values() || !plan.curves.nodes.empty()) read(plan);
  }

 private:
  PathCurves plan_curves() {
    PathCurves curves;
    const std::vector<std::uint32_t> nodes = largest_below(input_, loop_.node);
    const std::int64_t places = std::clamp<std::int64_t>(locations_, 1, most_reconstructed_locations);
    const std::int64_t evaluations = group_.iterations * places * static_cast<std::int64_t>(nodes.size());
    curves.stride = std::max<std::int64_t>((evaluations + most_single_values - 1) / most_single_values, 1);
    if (nodes.empty() || group_.iterations / curves.stride < 1) return curves;
    if (curves.stride > 1)
      run_.lacks.push_back(
          {"iterations", fmt::format("{}: call paths are shown of every {}. iteration.", group_.name, curves.stride)});
    const auto looked_at = static_cast<std::size_t>(group_.iterations / curves.stride);
    curves.bins = Bins(group_.iterations, std::max<std::size_t>(std::min(most_bins(input_, group_), looked_at), 1));
    curves.nodes = nodes;
    for (const std::uint32_t node : nodes)
      curves.selections.push_back({.paths = analysis::paths_below(input_.tree, {node})});
    return curves;
  }

  std::string prefix() const { return input_.view.groups.size() > 1 ? group_.name + " " : std::string(); }

  /// Returns the iterations that are nearest to the mean of their class.
  std::vector<std::int64_t> list_classes() {
    const std::int64_t width = iterations_.width;
    const std::vector<analysis::JobIteration>& all = iterations_.all;
    const analysis::JobClasses& classes = iterations_.classes;
    const auto loop = static_cast<std::int32_t>(run_.loops.size());
    std::vector<std::int64_t> typical;
    for (std::uint32_t c = 0; c < classes.count; ++c) {
      Unit unit{Unit::Class, fmt::format("{}class {}", prefix(), c + 1), loop};
      double wall = 0, mpi = 0, user = 0, count = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (classes.of[i] != c || !std::isfinite(all[i].wall)) continue;
        if (count == 0) unit.first = static_cast<std::int64_t>(i) * width;
        unit.last = std::min((static_cast<std::int64_t>(i) + 1) * width, group_.iterations) - 1;
        wall += all[i].wall, mpi += all[i].mpi, user += all[i].user, ++count;
      }
      if (count > 0) unit.wall_s = wall / count, unit.mpi_s = mpi / count, unit.user_s = user / count;
      unit.count = std::min(static_cast<std::int64_t>(count) * width, group_.iterations);
      for (const auto& [begin, end] : analysis::runs_of_class(classes.of, c))
        unit.ranges.emplace_back(begin * width, std::min((end + 1) * width, group_.iterations) - 1);
      std::int64_t nearest = -1;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (classes.of[i] == c && std::isfinite(all[i].wall) &&
            (nearest < 0 ||
             std::abs(all[i].wall - unit.wall_s) < std::abs(all[static_cast<std::size_t>(nearest)].wall - unit.wall_s)))
          nearest = static_cast<std::int64_t>(i);
      if (nearest >= 0) typical.push_back(nearest);
      run_.units.push_back(std::move(unit));
    }
    return typical;
  }

  /// Adds the slowest ones to those that are typical of classes, and leaves out what is too much.
  void choose_iterations(std::vector<std::int64_t>& wanted) {
    const std::vector<analysis::JobIteration>& all = iterations_.all;
    const std::int64_t most = most_path_values / std::max<std::int64_t>(nodes_ * locations_, 1);
    if (iterations_.width != 1 || !is_small(group_) || most == 0) {
      run_.lacks.push_back({"iterations", fmt::format("{}: single iterations are not in the file, they are too many; "
                                                      "classes are.",
                                                      group_.name)});
      wanted.clear();
      return;
    }
    std::vector<std::size_t> slowest;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (std::isfinite(all[i].wall)) slowest.push_back(i);
    std::ranges::stable_sort(slowest, std::greater<>{}, [&](std::size_t i) { return all[i].slowest; });
    for (const std::size_t i : slowest)
      if (wanted.size() < std::min(most_iterations, iterations_.classes.count + std::size_t{4}) &&
          std::ranges::find(wanted, static_cast<std::int64_t>(i)) == wanted.end())
        wanted.push_back(static_cast<std::int64_t>(i));
    if (const auto count = static_cast<std::int64_t>(wanted.size()); count > most) {
      run_.lacks.push_back({"iterations", fmt::format("{}: {} single iterations are in the file; more of {} call paths "
                                                      "on {} threads are too many.",
                                                      group_.name, most, nodes_, locations_)});
      wanted.resize(static_cast<std::size_t>(most));
    }
    std::ranges::sort(wanted);
  }

  void list_iteration(std::int64_t i) {
    const analysis::JobIteration& of = iterations_.all[static_cast<std::size_t>(i)];
    run_.units.push_back({Unit::Iteration, fmt::format("{}iteration {}", prefix(), i),
                          static_cast<std::int32_t>(run_.loops.size()), 1, i, i, of.wall, of.mpi, of.user, true});
  }

  static std::uint32_t class_of_bin(const std::vector<std::uint32_t>& of, std::int64_t first, std::int64_t last,
                                    std::size_t unit) {
    std::map<std::uint32_t, std::int64_t> counts;
    for (std::int64_t i = first; i <= last && i < static_cast<std::int64_t>(of.size()); ++i)
      ++counts[of[static_cast<std::size_t>(i)]];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
    return most == counts.end() ? 0 : static_cast<std::uint32_t>(unit) + most->first;
  }
  void put_classes_of_bins(std::size_t first) {
    const std::int64_t width = iterations_.width;
    for (std::int64_t bin = 0; bin < loop_.bins && iterations_.classes.count > 0; ++bin)
      loop_.classes.push_back(class_of_bin(iterations_.classes.of, bin * loop_.width / width,
                                           ((bin + 1) * loop_.width - 1) / width, first));
  }

  void keep_by_place(std::size_t first, std::size_t count) {
    const bool are_kept = static_cast<std::int64_t>(count) * locations_ * nodes_ <= most_unit_cells;
    for (std::size_t unit = first; unit < first + count; ++unit) {
      run_.units[unit].by_place = are_kept;
      table_.keep_by_place(static_cast<std::uint32_t>(unit), are_kept);
    }
    if (!are_kept)
      run_.lacks.push_back(
          {"trees",
           fmt::format("{}: classes and iterations are in the file for all ranks together only.", group_.name)});
  }

  void plan_classes(UnitPlan& plan) {
    std::int64_t clusters = 0;
    for (const auto& of : group_.locations) clusters += static_cast<std::int64_t>(of.clusters);
    const std::size_t classes = iterations_.classes.count;
    const bool are_few = clusters * nodes_ <= most_path_values;
    plan.reads_classes = are_few && classes > 0;
    for (std::size_t unit = plan.first; unit < plan.first + classes; ++unit) run_.units[unit].has_values = are_few;
    if (are_few) {
      keep_by_place(plan.first, classes);
    } else {
      run_.lacks.push_back(
          {"trees",
           fmt::format("{}: call trees of classes are not in the file: {} clusters on {} threads are too many.",
                       group_.name, clusters, group_.locations.size())});
    }
    if (!plan.single.empty()) keep_by_place(plan.first + classes, plan.single.size());
  }

  void tell_chosen(const UnitPlan& plan) {
    if (has_few_locations(group_)) return;
    constexpr const char* chosen =
        "{} of {} threads, which are those that differ most from the median in user code or in MPI, and others from "
        "all over the run";
    const auto count = std::ranges::count(plan.is_chosen, true);
    const std::string threads = fmt::format(chosen, count, locations_);
    if (!plan.curves.nodes.empty())
      run_.lacks.push_back({"iterations", fmt::format("{}: call paths are shown of {}.", group_.name, threads)});
    if (!plan.single.empty())
      run_.lacks.push_back(
          {"trees",
           fmt::format("{}: call paths of single iterations are reconstructed on {}. On the others they are the mean "
                       "of the iteration's cluster, scaled to its exact time in MPI and in user code.",
                       group_.name, threads)});
  }

  void read(const UnitPlan& plan) {
    const auto places = static_cast<std::size_t>(std::ranges::count(plan.is_chosen, true));
    std::vector<CurveBuilder> curves(plan.curves.nodes.size(), CurveBuilder(plan.curves.bins, places));
    const PartsReader reader(input_, plan);
    for_each_rank_of(
        input_, group_, plan.has_values() ? std::vector<bool>() : plan.is_chosen, experiment::Depth::Whole,
        bytes_of_rank(plan), std::vector<PlaceParts>(),
        [&](std::size_t number, const run::OpenLoop& open, std::vector<PlaceParts>& made) {
          made.push_back(reader.read(number, open));
        },
        [&](const std::vector<PlaceParts>& made) {
          for (const PlaceParts& parts : made) {
            for (std::size_t n = 0; n < parts.curves.size(); ++n) curves[n].add(parts.curves[n]);
            const std::size_t place = input_.place_of(group_.locations[parts.number]);
            for (const auto& [unit, own] : parts.values.values)
              table_.add(static_cast<std::uint32_t>(plan.first + unit), own.metric, own.node, place, own.value);
            for (std::size_t c = 0; c < iterations_.classes.count; ++c)
              if (parts.values.is_estimated[c]) run_.units[plan.first + c].reconstructed = true;
          }
        });
    for (std::size_t n = 0; n < curves.size(); ++n) {
      Curves& done = loop_.curves.emplace_back(curves[n].finish());
      done.node = plan.curves.nodes[n];
      done.unit = "s";
    }
  }

  /// What clusters have, and what is made of them.
  std::size_t bytes_of_rank(const UnitPlan& plan) const {
    constexpr std::size_t bytes_of_path = 64, metrics_of_path = 4;
    std::size_t clusters = 0;
    for (const run::LoopPlace& of : group_.locations) clusters += of.clusters;
    const std::size_t ranks = std::max<std::size_t>(input_.experiment->ranks().size(), 1);
    const std::size_t paths = static_cast<std::size_t>(nodes_) * clusters / ranks;
    const std::size_t values = static_cast<std::size_t>(nodes_ * locations_) / ranks * plan.units * metrics_of_path;
    return paths * bytes_of_path + values * sizeof(ClusterMixture::Value);
  }

  const LoopInput& input_;
  const report::LoopGroup& group_;
  const JobIterations& iterations_;
  Loop& loop_;
  ValueTable& table_;
  Run& run_;
  const std::int64_t nodes_, locations_;
};

}  // namespace

void add_units(const LoopInput& input, const report::LoopGroup& group, const JobIterations& iterations, Loop& loop,
               ValueTable& table, Run& run) {
  UnitMaker(input, group, iterations, loop, table, run).make();
}

}  // namespace refrain::explorer
