#include "report/part_of_run.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "analysis/iterations.hpp"
#include "report/text_page.hpp"
#include "report/units.hpp"

namespace refrain::report {
namespace {

/// The experiment without any time in it.
archive::Experiment shell_of(const archive::Experiment& experiment) {
  archive::Experiment shell;
  shell.directory = experiment.directory;
  shell.manifest = experiment.manifest;
  const archive::Profile& from = experiment.profile;
  archive::Profile& to = shell.profile;
  to.version = from.version;
  to.ranks_expected = from.ranks_expected;
  to.complete = from.complete;
  to.regions = from.regions;
  to.modules = from.modules;
  to.paths = from.paths;
  for (const auto& rank : from.ranks) {
    archive::Rank& copy = to.ranks.emplace_back();
    copy.rank = rank.rank;
    copy.process_id = rank.process_id;
    copy.host = rank.host;
    copy.ticks_per_second = rank.ticks_per_second;
    copy.begin_epoch_ns = rank.begin_epoch_ns;
    copy.call_cost = rank.call_cost;
    copy.tick_cost = rank.tick_cost;
    copy.communicators = rank.communicators;
  }
  return shell;
}

void put(archive::Experiment& shell, const LoopOfLocation& of, archive::Unit unit) {
  const archive::Location& from = *of.location;
  archive::Location location;
  location.rank = from.rank;
  location.thread = from.thread;
  location.os_thread_id = from.os_thread_id;
  location.name = from.name;
  location.begin = from.begin;
  location.end = from.end;
  location.losses = from.losses;
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

PartOfRun iteration(const archive::Experiment& experiment, const Options& options, const LoopGroup& group,
                    std::int64_t number) {
  PartOfRun part{shell_of(experiment), options, {}};
  std::vector<std::string> absent;
  std::map<std::string, std::int64_t> origins;  // how the values were found, on how many locations
  std::size_t present = 0;
  bool estimated = false;
  for (const LoopOfLocation& of : group.locations) {
    bool found = false;
    analysis::for_each_iteration(of.profiles->loop(), [&](std::int64_t i, std::int32_t cluster,
                                                          std::span<const std::int64_t> row) {
      if (i != number) return;
      found = true;
      put(part.experiment, of, of.profiles->unit_of(cluster, row));
      const bool known = of.profiles->cluster_unit(cluster) != nullptr;
      const auto& clusters = of.profiles->loop().clusters;
      const std::int64_t members = known ? clusters[static_cast<std::size_t>(cluster)].members : 0;
      const bool overflow = known && clusters[static_cast<std::size_t>(cluster)].overflow;
      estimated |= members != 1;
      ++origins[!known         ? "no cluster of it was saved, so no call paths"
                : members == 1 ? fmt::format("cluster {} of it alone", cluster)
                               : fmt::format("cluster {} of {}{}", cluster, plural(members, "iteration", "iterations"),
                                             overflow ? " of several classes" : "")];
    });
    if (found) ++present;
    else absent.push_back(report::name_of(*of.location));
  }
  if (present == 0)
    throw UsageError(fmt::format("--iteration {}: loop {} has {}, counted from 0", number, group.name,
                                 plural(group.iterations, "iteration", "iterations")));
  part.subject.push_back(fmt::format("iteration {} of loop {}", human_count(number), group.name));
  if (!absent.empty())
    part.subject.push_back(fmt::format("It was not reached by {}{}.", absent[0],
                                       absent.size() > 1 ? fmt::format(" and {} more", absent.size() - 1) : ""));
  std::string how = estimated
                        ? "Wall time, MPI time, calls and bytes of the iteration are exact. Their division among call "
                          "paths is reconstructed from its cluster on each rank: "
                        : "Exact: the iteration has a cluster of its own on each rank: ";
  constexpr std::size_t most = 4;
  std::size_t said = 0;
  for (const auto& [origin, count] : origins) {
    if (said == most) break;
    how += (said++ ? "; " : "") + origin + (present > 1 ? fmt::format(" ({})", plural(count, "rank", "ranks")) : "");
  }
  if (origins.size() > most) how += fmt::format("; {} other clusters", origins.size() - most);
  part.subject.push_back(how + ".");
  return part;
}

PartOfRun cluster(const archive::Experiment& experiment, const Options& options, const LoopGroup& group,
                  std::int32_t number) {
  const LoopOfLocation& of = group.locations[0];
  const archive::Loop& loop = of.profiles->loop();
  const archive::Unit* unit = of.profiles->cluster_unit(number);
  if (unit == nullptr)
    throw UsageError(fmt::format("--cluster {}: loop {} on {} has {}, counted from 0", number, group.name,
                                 report::name_of(*of.location),
                                 plural(static_cast<std::int64_t>(loop.clusters.size()), "cluster", "clusters")));
  PartOfRun part{shell_of(experiment), options, {}};
  part.options.ranks = {of.rank->rank};
  put(part.experiment, of, *unit);
  const archive::Cluster& cluster = loop.clusters[static_cast<std::size_t>(number)];
  part.subject.push_back(fmt::format("cluster {} of loop {} on {}: {}, exact sums over them", number, group.name,
                                     report::name_of(*of.location),
                                     plural(cluster.members, "iteration", "iterations")));
  part.subject.push_back(fmt::format(
      "first {}, last {}, nearest to their mean {}; {} per iteration{}", human_count(cluster.first),
      human_count(cluster.last), human_count(cluster.exemplar),
      human_time(static_cast<double>(unit->wall) / static_cast<double>(std::max<std::int64_t>(1, cluster.members)) /
                 of.profiles->constants().ticks_per_second),
      cluster.overflow ? "; of several classes (overflow)" : ""));
  if (group.locations.size() > 1) part.subject.push_back("Every rank has clusters of its own: --rank chooses another.");
  return part;
}

}  // namespace

PartOfRun part_of_run(const archive::Experiment& experiment, const Options& options, const LoopView& view) {
  if (options.iteration) return iteration(experiment, options, only_loop(view, "--iteration"), *options.iteration);
  return cluster(experiment, options, only_loop(view, "--cluster"), *options.cluster);
}

}  // namespace refrain::report
