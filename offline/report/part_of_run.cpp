#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "offline/report/loop_view.hpp"
#include "offline/report/text_page.hpp"
#include "offline/report/units.hpp"
#include "offline/run/iterations.hpp"
#include "offline/run/loop_pools.hpp"

namespace refrain::report {
namespace {

const LoopGroup& only_loop(const LoopView& view, const char* option) {
  if (view.groups.size() == 1) return view.groups[0];
  std::string names;
  for (const auto& group : view.groups) names += (names.empty() ? "" : ", ") + group.name;
  throw UsageError(fmt::format("{}: several loops are marked ({}); choose one with --loop", option, names));
}

/// How the values of one iteration were found, and at how many locations.
struct Origins {
  std::int64_t exact = 0, alone = 0, shared = 0, unsaved = 0, overflow = 0, recorded = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;  ///< members of the shared clusters
  std::optional<SamplesOfPools> pool;
  bool threads = false;      ///< some ranks have several threads
  std::int64_t sharing = 1;  ///< iterations that have its vector, where most do

  void add(const run::IterationProfiles& profiles, std::int32_t cluster, bool samples_recorded) {
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

  void add_pool(const run::IterationProfiles& profiles, std::int64_t number, std::int32_t cluster,
                std::span<const std::int64_t> row) {
    if (profiles.cluster_unit(cluster) == nullptr || profiles.is_exact(cluster)) return;
    const auto divided = profiles.shares().of(number, cluster, row);
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
    if (sharing > 1)
      text =
          fmt::format("The log does not keep this iteration: its times, calls and bytes are the mean of {} iterations.",
                      human_count(sharing));
    if (shared > 0)
      text += fmt::format(" Their division among call paths is reconstructed{} from {} cluster of {}{}.", on(shared),
                          sharing > 1 ? "the kept iteration's" : "its",
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
    if (unsaved > 0)
      text += fmt::format(" Its cluster {}{}: there are no call paths.", sharing > 1 ? "is not known" : "was not saved",
                          on(unsaved));
    return text;
  }
};

/// Makes the tree of one iteration or cluster.
class PartMaker {
 public:
  PartMaker(const experiment::Experiment& experiment, const LoopView& view, const LoopGroup& group,
            analysis::Symbolizer& symbolizer, const analysis::CallTreeOptions& options, bool one_rank)
      : experiment_(experiment),
        view_(view),
        group_(group),
        builder_(experiment.definitions(), symbolizer, options, one_rank) {}

  PartTree iteration(std::int64_t number) {
    std::vector<std::string> absent;
    Origins origins;
    origins.threads = group_.threads;
    for (const LoopPlace& of : group_.locations)
      if (!add_iteration(of, number, origins)) absent.push_back(report::name_of(of));
    if (absent.size() == group_.locations.size())
      throw UsageError(fmt::format("--iteration {}: loop {} has {}, counted from 0", number, group_.name,
                                   plural(group_.iterations, "iteration", "iterations")));
    std::string what = fmt::format("iteration {} of loop {}", human_count(number), group_.name);
    if (!absent.empty()) {
      what += ", which " + absent[0];
      if (absent.size() > 1) what += fmt::format(" and {} more", absent.size() - 1);
      what += " did not reach";
    }
    PartTree made{builder_.finish(), {{what, origins.text()}, {}, {}, {}}, {}};
    made.part.samples_recorded = origins.recorded == origins.all();
    made.part.pool_samples = origins.pool;
    made.part.reconstructed = origins.shared > 0;
    return made;
  }

  PartTree cluster(std::int32_t number) {
    const LoopPlace& of = group_.locations[0];
    const auto open = view_.open(experiment_, of);
    const experiment::Unit* unit = open ? open->profiles->cluster_unit(number) : nullptr;
    if (unit == nullptr)
      throw UsageError(fmt::format("--cluster {}: loop {} on {} has {}, counted from 0", number, group_.name,
                                   report::name_of(of),
                                   plural(static_cast<std::int64_t>(of.clusters), "cluster", "clusters")));
    add(*open, *unit, true);
    const experiment::Cluster& cluster = open->loop().clusters[static_cast<std::size_t>(number)];
    PartTree made{builder_.finish(), {}, of.rank};
    auto& subject = made.part.subject;
    subject.push_back(fmt::format("cluster {} of loop {} on {}: {}, exact sums over them", number, group_.name,
                                  report::name_of(of), plural(cluster.members, "iteration", "iterations")));
    subject.push_back(fmt::format(
        "first {}, last {}, nearest to their mean {}; {} per iteration{}", human_count(cluster.first),
        human_count(cluster.last), human_count(cluster.exemplar),
        human_time(made.tree.totals.wall_s / static_cast<double>(std::max<std::int64_t>(1, cluster.members))),
        cluster.overflow ? "; of several classes (overflow)" : ""));
    if (group_.locations.size() > 1)
      subject.push_back(group_.threads ? "Every thread has clusters of its own: --rank and --thread choose another."
                                       : "Every rank has clusters of its own: --rank chooses another.");
    return made;
  }

 private:
  void add(const OpenLoop& open, const experiment::Unit& unit, bool is_exact) {
    open.profiles->with_rows(unit, is_exact, [this](const run::Leaf& leaf) { builder_.add(leaf); });
  }

  /// False: the location has no such iteration.
  bool add_iteration(const LoopPlace& of, std::int64_t number, Origins& origins) {
    const auto open = view_.open(experiment_, of);
    bool found = false;
    if (!open) return found;
    run::with_iteration(open->loop(), number,
                        [&](std::int64_t, std::int32_t cluster, std::span<const std::int64_t> row) {
                          if (open->was_absent(cluster, row)) return;
                          found = true;
                          const run::IterationProfiles& profiles = *open->profiles;
                          origins.sharing = std::max(origins.sharing, run::sharing_vector(open->loop(), number));
                          std::optional<std::vector<run::SampledPath>> recorded;
                          if (const auto* samples = profiles.recorded_samples(number)) recorded = *samples;
                          origins.add(profiles, cluster, recorded || profiles.is_exact(cluster));
                          origins.add_pool(profiles, number, cluster, row);
                          add(*open, profiles.unit_of(number, cluster, row, recorded ? &*recorded : nullptr),
                              profiles.is_exact(cluster));
                        });
    return found;
  }

  const experiment::Experiment& experiment_;
  const LoopView& view_;
  const LoopGroup& group_;
  analysis::CallTreeBuilder builder_;
};

}  // namespace

PartTree part_of_run(const Source& source, const Request& request, const LoopView& view) {
  const LoopGroup& group = only_loop(view, request.iteration ? "--iteration" : "--cluster");
  const auto is_first = [&](const LoopPlace& of) { return of.rank == group.locations[0].rank; };
  const bool one_rank = request.cluster || std::ranges::all_of(group.locations, is_first);
  const analysis::CallTreeOptions options = tree_options(request, source.progress);
  PartMaker maker(*source.experiment, view, group, source.symbolizer, options, one_rank);
  if (request.iteration) {
    // Pools are kept only if all ranks are shown: those of a few ranks are found in less time than those of all.
    const bool has_all = request.ranks.empty() && !request.some_threads();
    if (has_all && *request.iteration < group.iterations) keep_pools(*source.experiment, run::Asked::Yes);
    return maker.iteration(*request.iteration);
  }
  return maker.cluster(static_cast<std::int32_t>(*request.cluster));
}

}  // namespace refrain::report
