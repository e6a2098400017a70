#include "offline/findings/facts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "offline/experiment/rank_pass.hpp"
#include "offline/run/iteration_metrics.hpp"
#include "offline/run/iterations.hpp"

namespace refrain::findings {
namespace {

/// Leaves out ranks evenly if there is too much to read.
void leave_out_ranks(LoopFacts& loop) {
  const auto most = static_cast<std::size_t>(most_iterations_read / std::max<std::int64_t>(loop.iterations_to_read, 1));
  if (loop.ranks.size() <= most) return;
  loop.has_all_ranks = false;
  std::vector<run::LoopPlace> some;
  const std::size_t count = std::max<std::size_t>(most, 1);
  for (std::size_t i = 0; i < count; ++i) some.push_back(loop.ranks[i * loop.ranks.size() / count]);
  loop.ranks = std::move(some);
}

void read_iterations(const Facts& facts, LoopFacts& loop) {
  const std::int64_t all = std::max<std::int64_t>(loop.iterations, 0);
  loop.stride = std::max<std::int64_t>((all + most_values - 1) / most_values, 1);
  const auto count = static_cast<std::size_t>((all + loop.stride - 1) / loop.stride);
  std::vector<std::int64_t> known(count);
  std::vector<std::size_t> unread;
  loop.wall_s.assign(count, 0);
  loop.longest_user_s.assign(count, 0);
  loop.user.resize(loop.ranks.size());
  for (std::size_t r = 0; r < loop.ranks.size(); ++r) {
    const auto open = facts.open(loop.ranks[r]);
    if (!open) {
      unread.push_back(r);
      continue;
    }
    const auto wall = run::value_of_metric(*open->profiles, "wall"),
               user = run::value_of_metric(*open->profiles, "user"), mpi = run::value_of_metric(*open->profiles, "mpi");
    if (!wall || !user) continue;
    std::vector<double> user_s_of(count);
    run::for_each_iteration(open->profiles->loop(),
                            [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
                              if (i < 0 || i >= all) return;
                              const double wall_s = wall(i, cluster, row), user_s = user(i, cluster, row);
                              if (!std::isfinite(wall_s) || !std::isfinite(user_s) || wall_s <= 0) return;
                              const auto iteration = static_cast<std::size_t>(i);
                              loop.wall_s[loop.value_of(iteration)] += wall_s;
                              ++known[loop.value_of(iteration)];
                              user_s_of[loop.value_of(iteration)] += user_s;
                              LoopFacts::Piece& piece = loop.user[r][loop.piece_of(iteration)];
                              piece.user_s[iteration % 2] += user_s;
                              if (const double mpi_s = mpi ? mpi(i, cluster, row) : 0; std::isfinite(mpi_s))
                                piece.mpi_s[iteration % 2] += mpi_s;
                              ++piece.iterations[iteration % 2];
                            });
    for (std::size_t v = 0; v < count; ++v) loop.longest_user_s[v] = std::max(loop.longest_user_s[v], user_s_of[v]);
  }
  // A damaged rank does not affect the others.
  loop.has_all_ranks &= unread.empty();
  for (auto at = unread.rbegin(); at != unread.rend(); ++at) {
    loop.ranks.erase(loop.ranks.begin() + static_cast<std::ptrdiff_t>(*at));
    loop.user.erase(loop.user.begin() + static_cast<std::ptrdiff_t>(*at));
  }
  for (double& seconds : loop.longest_user_s) seconds /= static_cast<double>(loop.stride);
  // A mean over fewer ranks would be another level.
  for (std::size_t v = 0; v < count; ++v) {
    const auto first = static_cast<std::int64_t>(v) * loop.stride;
    const std::int64_t expected = std::min(loop.stride, all - first) * static_cast<std::int64_t>(loop.ranks.size());
    loop.wall_s[v] = known[v] == expected ? loop.wall_s[v] / static_cast<double>(known[v])
                                          : std::numeric_limits<double>::quiet_NaN();
  }
  loop.shape = analysis::shape_of(loop.wall_s);
}

}  // namespace

std::size_t LoopFacts::piece_of(std::size_t iteration) const {
  const auto all = static_cast<double>(std::max<std::int64_t>(iterations, 1));
  return std::min(static_cast<std::size_t>(static_cast<double>(iteration) / all * static_cast<double>(pieces)),
                  pieces - 1);
}

std::vector<const analysis::LocationSummary*> Facts::first_threads() const {
  std::vector<const analysis::LocationSummary*> first;
  for (const analysis::LocationSummary& of : tree.locations)
    if (of.thread == 0) first.push_back(&of);
  return first;
}

void Facts::for_each_user_time(const TakeUserTime& take) const {
  const run::Run run = run_of(experiment, tree);
  const run::Keys by_node = run::by_node(run.nodes());
  group(run, {.keys = &by_node, .place = run::Place::Thread, .metrics = {run::wall}, .has_errors = false}, {},
        [&](const run::Answer& of) {
          for (std::uint32_t node = 0; node < tree.nodes.size(); ++node)
            if (tree.nodes[node].kind == run::PathKind::User && of.has(node))
              take(of.rank, of.thread, node, of.exclusive_s(node, 0));
        });
}

void LoopFinder::add(const experiment::Rank& rank) {
  const auto at = std::ranges::lower_bound(experiment_.ranks(), rank.rank);
  const auto place = static_cast<std::size_t>(at - experiment_.ranks().begin());
  const auto paths = static_cast<std::int64_t>(experiment_.definitions().paths.size());
  run::for_each_loop_of(rank, place, [&](const run::LoopPlace& of, const experiment::Loop& loop) {
    if (of.thread != 0) return;
    auto known = std::ranges::find(loops, loop.name, &LoopFacts::name);
    if (known == loops.end()) known = loops.insert(known, LoopFacts{.name = loop.name});
    known->iterations = std::max(known->iterations, loop.iterations);
    known->iterations_to_read =
        std::max(known->iterations_to_read, loop.iterations + static_cast<std::int64_t>(of.clusters) * paths);
    known->ranks.push_back(of);
    ++known->processes;
  });
}

void read_loops(Facts& facts) {
  if (!facts.has_loops) {
    LoopFinder finder(facts.experiment);
    for_each_rank(facts.experiment, {}, experiment::Depth::Loops,
                  [&](const experiment::Rank& rank) { finder.add(rank); });
    facts.loops = std::move(finder.loops);
  }
  for (LoopFacts& loop : facts.loops) {
    leave_out_ranks(loop);
    read_iterations(facts, loop);
  }
}

}  // namespace refrain::findings
