#include "offline/report/part_of_run.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "offline/analysis/iterations.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"

namespace refrain::report {
namespace {

/// The experiment without any time in it.
experiment::Experiment shell_of(const experiment::Experiment& experiment) {
  experiment::Experiment shell;
  shell.directory = experiment.directory;
  shell.manifest = experiment.manifest;
  static_cast<experiment::ProfileDefinitions&>(shell.profile) = experiment.profile;
  for (const auto& rank : experiment.profile.ranks)
    static_cast<experiment::RankDefinition&>(shell.profile.ranks.emplace_back()) = rank;
  return shell;
}

void put(experiment::Experiment& shell, const LoopOfLocation& of, experiment::Unit unit) {
  experiment::Location location;
  static_cast<experiment::LocationDefinition&>(location) = *of.location;
  location.units.push_back(std::move(unit));
  for (auto& rank : shell.profile.ranks)
    if (rank.rank == of.rank->rank) rank.locations.push_back(std::move(location));
}

const LoopGroup& only_loop(const LoopView& view, const char* option) {
  if (view.groups.size() == 1) return view.groups[0];
  std::string names;
  for (const auto& group : view.groups) names += (names.empty() ? "" : ", ") + group.name;
  throw UsageError(fmt::format("{}: several loops are marked ({}); choose one with --loop", option, names));
}

/// How the values of one iteration were found, on how many locations.
struct Origins {
  std::int64_t exact = 0, alone = 0, shared = 0, unsaved = 0, overflow = 0, recorded = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;  ///< members of the shared clusters
  std::optional<SamplesOfPools> pool;
  bool threads = false;  ///< some ranks have several

  void add(const analysis::IterationProfiles& profiles, std::int32_t cluster, bool samples_recorded) {
    recorded += samples_recorded;
    if (profiles.cluster_unit(cluster) == nullptr) {
      ++unsaved;
      return;
    }
    const experiment::Cluster& of = profiles.loop().clusters[static_cast<std::size_t>(cluster)];
    if (profiles.is_exact(cluster)) ++exact;
    else if (of.members == 1) ++alone;
    else ++shared;
    overflow += of.overflow;
    if (of.members == 1) return;
    least = std::min(least, of.members);
    most = std::max(most, of.members);
  }

  void add_pool(const analysis::IterationProfiles& profiles, std::int64_t number, std::int32_t cluster,
                std::span<const std::int64_t> row) {
    if (profiles.cluster_unit(cluster) == nullptr || profiles.is_exact(cluster)) return;
    const auto divided = profiles.shares().of(number, cluster, row, profiles.totals_of(cluster, row));
    if (divided.pool == nullptr) return;
    const double samples = divided.pool->samples;
    pool = pool ? SamplesOfPools{std::min(pool->least, samples), std::max(pool->most, samples)}
                : SamplesOfPools{samples, samples};
  }

  std::int64_t all() const { return exact + alone + shared + unsaved; }

  std::string text() const {
    const std::int64_t all = this->all();
    const auto on = [&](std::int64_t count) {
      if (all <= 1) return std::string();
      return " on " + (threads ? plural(count, "thread", "threads") : plural(count, "rank", "ranks"));
    };
    std::string text = "Wall time, MPI time, calls and bytes are exact.";
    if (shared > 0)
      text += fmt::format(" Their division among call paths is reconstructed{} from its cluster of {}{}.", on(shared),
                          least < most ? fmt::format("{} to ", human_count(least)) : "",
                          plural(most, "iteration", "iterations"));
    if (alone > 0)
      text += fmt::format(
          " It has a cluster of its own{}, but few samples: its user code is divided as in similar iterations.",
          on(alone));
    if (exact > 0) text += fmt::format(" It has a cluster of its own{}: nothing is reconstructed.", on(exact));
    if (pool)
      text += fmt::format(
          " User code is divided as the {} samples of similar iterations are; functions that none of them hit are not "
          "here, and have less than {} of it (3/n).",
          pool->least < pool->most
              ? fmt::format("{} to {}", human_count(std::llround(pool->least)), human_count(std::llround(pool->most)))
              : human_count(std::llround(pool->most)),
          percent(std::min(1.0, 3 / pool->least), 1) + " %");
    if (recorded > 0 && shared + alone > 0)
      text += fmt::format(" Samples are those that were recorded in it{}; they are too few to divide its time.",
                          recorded < all ? on(recorded) : "");
    if (overflow > 0)
      text += fmt::format(
          " That is one of several classes (overflow){}: it may show call paths that the iteration did "
          "not take.",
          on(overflow));
    if (unsaved > 0) text += fmt::format(" Its cluster was not saved{}: there are no call paths.", on(unsaved));
    return text;
  }
};

PartOfRun iteration(const experiment::Experiment& experiment, const Options& options, const LoopGroup& group,
                    std::int64_t number) {
  PartOfRun part{shell_of(experiment), options, {}, {}};
  std::vector<std::string> absent;
  Origins origins;
  for (const LoopOfLocation& of : group.locations) {
    origins.threads = origins.threads || of.location->thread != 0;
    bool found = false;
    analysis::with_iteration(
        of.profiles->loop(), number, [&](std::int64_t, std::int32_t cluster, std::span<const std::int64_t> row) {
          if (was_absent(of, cluster, row)) return;
          found = true;
          std::optional<std::vector<analysis::SampledPath>> recorded;
          if (const auto* samples = of.profiles->recorded_samples(number)) recorded = *samples;
          origins.add(*of.profiles, cluster, recorded || of.profiles->is_exact(cluster));
          origins.add_pool(*of.profiles, number, cluster, row);
          put(part.experiment, of, of.profiles->unit_of(number, cluster, row, recorded ? &*recorded : nullptr));
        });
    if (!found) absent.push_back(report::name_of(*of.location));
  }
  if (absent.size() == group.locations.size())
    throw UsageError(fmt::format("--iteration {}: loop {} has {}, counted from 0", number, group.name,
                                 plural(group.iterations, "iteration", "iterations")));
  std::string what = fmt::format("iteration {} of loop {}", human_count(number), group.name);
  if (!absent.empty()) {
    what += ", which " + absent[0];
    if (absent.size() > 1) what += fmt::format(" and {} more", absent.size() - 1);
    what += " did not reach";
  }
  part.subject = {what, origins.text()};
  part.samples_recorded = origins.recorded == origins.all();
  part.pool_samples = origins.pool;
  part.reconstructed = origins.shared > 0;
  return part;
}

PartOfRun cluster(const experiment::Experiment& experiment, const Options& options, const LoopGroup& group,
                  std::int32_t number) {
  const LoopOfLocation& of = group.locations[0];
  const experiment::Loop& loop = of.profiles->loop();
  const experiment::Unit* unit = of.profiles->cluster_unit(number);
  if (unit == nullptr)
    throw UsageError(fmt::format("--cluster {}: loop {} on {} has {}, counted from 0", number, group.name,
                                 report::name_of(*of.location),
                                 plural(static_cast<std::int64_t>(loop.clusters.size()), "cluster", "clusters")));
  PartOfRun part{shell_of(experiment), options, {}, {}};
  part.options.ranks = {of.rank->rank};
  put(part.experiment, of, *unit);
  const experiment::Cluster& cluster = loop.clusters[static_cast<std::size_t>(number)];
  part.subject.push_back(fmt::format("cluster {} of loop {} on {}: {}, exact sums over them", number, group.name,
                                     report::name_of(*of.location),
                                     plural(cluster.members, "iteration", "iterations")));
  part.subject.push_back(fmt::format(
      "first {}, last {}, nearest to their mean {}; {} per iteration{}", human_count(cluster.first),
      human_count(cluster.last), human_count(cluster.exemplar),
      human_time(static_cast<double>(unit->wall) / static_cast<double>(std::max<std::int64_t>(1, cluster.members)) /
                 of.profiles->constants().ticks_per_second),
      cluster.overflow ? "; of several classes (overflow)" : ""));
  const auto is_thread = [](const LoopOfLocation& one) { return one.location->thread != 0; };
  if (group.locations.size() > 1)
    part.subject.push_back(std::ranges::any_of(group.locations, is_thread)
                               ? "Every thread has clusters of its own: --rank and --thread choose another."
                               : "Every rank has clusters of its own: --rank chooses another.");
  return part;
}

}  // namespace

PartOfRun part_of_run(const experiment::Experiment& experiment, const Options& options, const LoopView& view) {
  if (options.iteration) return iteration(experiment, options, only_loop(view, "--iteration"), *options.iteration);
  return cluster(experiment, options, only_loop(view, "--cluster"), *options.cluster);
}

}  // namespace refrain::report
