#include <cmath>
#include <fmt/format.h>
#include <map>

#include "offline/explorer/loop_parts.hpp"
#include "offline/explorer/loop_summary.hpp"
#include "offline/explorer/places.hpp"
#include "offline/explorer/unit_parts.hpp"

namespace refrain::explorer {
namespace {

using run::PathKind;

constexpr std::size_t most_paths = 30, most_iterations = 16, most_typical = 12;

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

/// Number of locations that each reconstructed location represents; 0: not reconstructed.
std::vector<double> weights_of(const LoopInput& input, const report::LoopGroup& group) {
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

/// Makes the units of one loop.
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
    UnitPlan plan{.iterations = iterations_, .weights = weights_of(input_, group_)};
    plan.curves = plan_curves();
    plan.first = run_.units.size();
    const std::vector<std::int64_t> wanted = choose_iterations(list_classes());
    plan.classes = iterations_.classes.count;
    std::vector<std::int64_t> ascending = wanted;
    std::ranges::sort(ascending);
    for (const std::int64_t i : ascending) {
      plan.single.emplace_back(i, run_.units.size() - plan.first);
      list_iteration(i);
    }
    put_classes_of_bins(plan.first);
    plan_locations(plan);
    keep_by_place(plan, wanted);
    const std::size_t metrics = input_.own.metrics().size();
    for (std::size_t m = 0; m < metrics; ++m)
      plan.part_of.push_back(input_.own.is_below(m, "mpi")    ? ClusterMixture::Part::Mpi
                             : input_.own.is_below(m, "user") ? ClusterMixture::Part::User
                                                              : ClusterMixture::Part::Other);
    tell_chosen(plan);
    if (plan.units() > 0 || !plan.curves.nodes.empty()) read(plan);
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

  /// Returns an iteration of each class, the one that is nearest to the mean of the class.
  std::vector<std::int64_t> list_classes() {
    const std::int64_t width = iterations_.width;
    const std::vector<analysis::JobIteration>& all = iterations_.all;
    const analysis::JobClasses& classes = iterations_.classes;
    const auto loop = static_cast<std::int32_t>(run_.loops.size());
    std::vector<std::int64_t> typical;
    for (std::uint32_t c = 0; c < classes.count; ++c) {
      Unit unit{Unit::Class, fmt::format("{}class {}", prefix(), c + 1), loop};
      unit.reconstructed = group_.kept_every > 1;  // the clusters of many iterations are assumed
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
      if (nearest >= 0) typical.push_back(nearest * width);
      run_.units.push_back(std::move(unit));
    }
    return typical;
  }

  /// Returns the typical iterations of the classes with most iterations, then the slowest iterations.
  std::vector<std::int64_t> choose_iterations(std::vector<std::int64_t> typical) const {
    const std::vector<analysis::JobIteration>& all = iterations_.all;
    std::vector<std::int64_t> wanted = std::move(typical);
    wanted.resize(std::min(wanted.size(), most_typical));
    std::vector<std::size_t> slowest;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (std::isfinite(all[i].wall)) slowest.push_back(i);
    std::ranges::stable_sort(slowest, std::greater<>{}, [&](std::size_t i) { return all[i].slowest; });
    for (const std::size_t i : slowest) {
      if (wanted.size() == most_iterations) break;
      const std::int64_t iteration = iterations_.of_peaks[i];
      if (std::ranges::find(wanted, iteration) == wanted.end()) wanted.push_back(iteration);
    }
    return wanted;
  }

  /// Adds a unit for the iteration. Its times are those of its group until its locations have been read.
  void list_iteration(std::int64_t i) {
    const analysis::JobIteration& of = iterations_.all[static_cast<std::size_t>(i / iterations_.width)];
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

  /// Plans to read only some locations for classes or single iterations that would take too long at all of them.
  void plan_locations(UnitPlan& plan) const {
    if (has_few_locations(group_)) return;
    std::int64_t clusters = 0;
    for (const run::LoopPlace& of : group_.locations) clusters += static_cast<std::int64_t>(of.clusters);
    const auto single = static_cast<std::int64_t>(plan.single.size());
    plan.classes_are_of_all = clusters * nodes_ <= input_.path_values;
    plan.single_are_of_all = single * nodes_ * locations_ <= input_.path_values;
  }

  /// Keeps values by place while there is room: for all classes or none, then for single iterations in the order of
  /// `wanted`.
  void keep_by_place(const UnitPlan& plan, const std::vector<std::int64_t>& wanted) {
    const std::size_t each = values_of_unit();
    std::size_t room = input_.unit_values;
    const auto keep = [&](std::size_t unit, bool is_kept) {
      if (is_kept) room -= each;
      run_.units[plan.first + unit].by_place = is_kept;
      table_.keep_by_place(static_cast<std::uint32_t>(plan.first + unit), is_kept);
    };
    const bool keeps_classes = plan.classes_are_of_all && plan.classes * each <= room;
    for (std::size_t unit = 0; unit < plan.classes; ++unit) keep(unit, keeps_classes);
    std::size_t lacking = 0;
    for (const std::int64_t i : wanted) {
      const bool is_kept = plan.single_are_of_all && each <= room;
      if (!is_kept) ++lacking;
      keep(std::ranges::find(plan.single, i, &std::pair<std::int64_t, std::size_t>::first)->second, is_kept);
    }
    std::string names;
    if (plan.classes > 0 && plan.classes_are_of_all && !keeps_classes) names = "classes";
    if (lacking > 0 && plan.single_are_of_all) {
      if (!names.empty()) names += " and ";
      if (lacking < wanted.size()) names += fmt::format("{} of {} ", lacking, wanted.size());
      names += "single iterations";
    }
    if (!names.empty())
      run_.lacks.push_back(
          {"trees", fmt::format("{}: {} are in the file for all ranks together only.", group_.name, names)});
  }

  /// Number of values by place that a unit has at the call paths of the loop.
  std::size_t values_of_unit() const {
    const std::uint32_t end = loop_.node == 0 ? static_cast<std::uint32_t>(nodes_) : input_.nodes.end(loop_.node);
    std::size_t rows = 0;
    for (std::uint32_t node = loop_.node; node < end; ++node)
      rows += metrics_at(input_.tree.nodes[node], input_.asked_for);
    return rows * input_.places;
  }

  void tell_chosen(const UnitPlan& plan) {
    if (has_few_locations(group_)) return;
    constexpr const char* chosen =
        "{} of {} threads, which are those that differ most from the median in user code or in MPI, and others from "
        "all over the run";
    const auto count = std::ranges::count_if(plan.weights, [](double weight) { return weight > 0; });
    const std::string threads = fmt::format(chosen, count, locations_);
    if (!plan.curves.nodes.empty())
      run_.lacks.push_back({"iterations", fmt::format("{}: call paths are shown of {}.", group_.name, threads)});
    if (plan.single_are_of_all && !plan.single.empty())
      run_.lacks.push_back(
          {"trees",
           fmt::format("{}: call paths of single iterations are reconstructed on {}. On the others they are the mean "
                       "of the iteration's cluster, scaled to its exact time in MPI and in user code.",
                       group_.name, threads)});
    std::string estimated;
    if (!plan.classes_are_of_all && plan.classes > 0) estimated = "classes";
    if (!plan.single_are_of_all) estimated += estimated.empty() ? "single iterations" : " and of single iterations";
    if (estimated.empty()) return;
    std::string scaled;
    if (iterations_.width == 1 || plan.single_are_of_all) scaled = "their time";
    else if (!plan.classes_are_of_all && plan.classes > 0) scaled = "the time of classes";
    if (!scaled.empty()) scaled = fmt::format("; {} in MPI and in user code is scaled to that of all threads", scaled);
    run_.lacks.push_back(
        {"trees", fmt::format("{}: call paths of {} are of all ranks together only, and are estimated from {}{}.",
                              group_.name, estimated, threads, scaled)});
  }

  void read(const UnitPlan& plan) {
    const std::vector<bool> chosen = plan.chosen();
    const auto places = static_cast<std::size_t>(std::ranges::count(chosen, true));
    std::vector<CurveBuilder> curves(plan.curves.nodes.size(), CurveBuilder(plan.curves.bins, places));
    std::vector<Scaled> scaled(plan.units());
    std::vector<MeanTimes> single(plan.single.size());
    for_each_rank_of(
        input_, group_, plan.reads_all() ? std::vector<bool>() : chosen, experiment::Depth::Whole, bytes_of_rank(plan),
        std::vector<PlaceParts>(),
        [&](std::size_t number, const run::OpenLoop& open, std::vector<PlaceParts>& made) {
          made.push_back(parts_of(input_, plan, number, open));
        },
        [&](const std::vector<PlaceParts>& made) {
          for (const PlaceParts& parts : made) {
            const double weight = plan.weights[parts.number];
            for (std::size_t n = 0; n < parts.curves.size(); ++n) curves[n].add(parts.curves[n], weight);
            const std::size_t place = input_.place_of(group_.locations[parts.number]);
            for (const auto& [unit, own] : parts.values.values) {
              const double value = plan.is_of_all(unit) ? own.value : weight * own.value;
              table_.add(static_cast<std::uint32_t>(plan.first + unit), own.metric, own.node, place, value);
              scaled[unit].add(plan.part_of[own.metric], value);
            }
            for (std::size_t c = 0; c < plan.classes; ++c)
              if (parts.values.is_estimated[c]) run_.units[plan.first + c].reconstructed = true;
            for (std::size_t n = 0; n < single.size(); ++n)
              single[n].add(parts.single[n], plan.single_are_of_all ? 1 : weight);
          }
        });
    if (iterations_.width > 1) put_times(plan, single);
    for (std::size_t unit = 0; unit < plan.units(); ++unit)
      if (!plan.is_of_all(unit)) scale(plan, unit, scaled[unit]);
    for (std::size_t n = 0; n < curves.size(); ++n) {
      Curves& done = loop_.curves.emplace_back(curves[n].finish());
      done.node = plan.curves.nodes[n];
      done.unit = "s";
    }
  }

  /// The times that were added to a unit.
  struct Scaled {
    double mpi = 0, user = 0;
    bool has_any = false;
    void add(ClusterMixture::Part part, double value) {
      has_any = true;
      if (part == ClusterMixture::Part::Mpi) mpi += value;
      if (part == ClusterMixture::Part::User) user += value;
    }
  };

  /// Scales the estimate of a unit to the time that all locations have in it.
  void scale(const UnitPlan& plan, std::size_t unit, const Scaled& estimated) {
    Unit& of = run_.units[plan.first + unit];
    of.reconstructed = true;
    of.has_values = estimated.has_any;
    if (!of.has_values) {
      run_.lacks.push_back(
          {"trees",
           fmt::format("{}: call paths are not known, none of the threads that are looked at was in it.", of.name)});
      return;
    }
    double mpi = 0, user = 0;
    for (std::size_t group = 0; group < iterations_.all.size(); ++group) {
      const bool is_in = unit < plan.classes ? iterations_.classes.of[group] == unit
                                             : iterations_.width == 1 && static_cast<std::int64_t>(group) == of.first;
      if (!is_in || iterations_.count[group] == 0) continue;
      mpi += iterations_.all[group].mpi * static_cast<double>(iterations_.count[group]);
      user += iterations_.all[group].user * static_cast<double>(iterations_.count[group]);
    }
    const auto factor = [](double exact, double has) { return exact > 0 && has > 0 ? exact / has : 1; };
    const double factors[] = {1, factor(mpi, estimated.mpi), factor(user, estimated.user)};
    table_.scale(static_cast<std::uint32_t>(plan.first + unit),
                 [&](std::size_t metric) { return factors[static_cast<std::size_t>(plan.part_of[metric])]; });
  }

  /// The mean times of a single iteration, which are needed where groups of iterations were put together.
  struct MeanTimes {
    double wall = 0, mpi = 0, user = 0, weight = 0;
    void add(const JobBuilder::Times& of, double weight_of) {
      if (of.count == 0) return;
      wall += weight_of * of.wall, mpi += weight_of * of.mpi, user += weight_of * of.user;
      weight += weight_of;
    }
  };
  void put_times(const UnitPlan& plan, const std::vector<MeanTimes>& single) {
    for (std::size_t n = 0; n < single.size(); ++n) {
      const MeanTimes& of = single[n];
      Unit& unit = run_.units[plan.first + plan.classes + n];
      if (of.weight > 0)
        unit.wall_s = of.wall / of.weight, unit.mpi_s = of.mpi / of.weight, unit.user_s = of.user / of.weight;
    }
  }

  /// Approximate size of the values of a rank's clusters, and of what is made of them.
  std::size_t bytes_of_rank(const UnitPlan& plan) const {
    constexpr std::size_t bytes_of_path = 64, metrics_of_path = 4;
    std::size_t clusters = 0;
    for (const run::LoopPlace& of : group_.locations) clusters += of.clusters;
    const std::size_t ranks = std::max<std::size_t>(input_.experiment->ranks().size(), 1);
    const std::size_t paths = static_cast<std::size_t>(nodes_) * clusters / ranks;
    const std::size_t values = static_cast<std::size_t>(nodes_ * locations_) / ranks * plan.units() * metrics_of_path;
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
