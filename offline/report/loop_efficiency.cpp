#include "offline/report/loop_efficiency.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "offline/analysis/job_classes.hpp"
#include "offline/findings/facts.hpp"
#include "offline/report/wait_iterations.hpp"
#include "offline/run/iterations.hpp"

namespace refrain::report {
namespace {

using analysis::EfficiencyOfRange;
using analysis::RankTimes;

/// The first iteration of a piece of a loop; `piece` may be one behind the last.
std::int64_t first_of_piece(const findings::LoopFacts& loop, std::size_t piece) {
  const auto all = static_cast<std::size_t>(std::max<std::int64_t>(loop.iterations, 0));
  return static_cast<std::int64_t>((piece * all + findings::LoopFacts::pieces - 1) / findings::LoopFacts::pieces);
}

/// The ranges of iterations that all ranks have.
std::vector<EfficiencyOfRange> ranges_of(const findings::LoopFacts& loop) {
  std::vector<EfficiencyOfRange> ranges;
  for (std::size_t piece = 0; piece < findings::LoopFacts::pieces; ++piece) {
    std::vector<RankTimes> ranks;
    const auto number = [&](const auto& pieces) { return pieces[piece].iterations[0] + pieces[piece].iterations[1]; };
    for (const auto& pieces : loop.user) {
      if (number(pieces) != number(loop.user[0])) break;  // this rank lacks some
      RankTimes& of = ranks.emplace_back();
      of.useful.value = pieces[piece].user_s[0] + pieces[piece].user_s[1];
      of.mpi_s = pieces[piece].mpi_s[0] + pieces[piece].mpi_s[1];
    }
    const auto of = ranks.size() == loop.user.size() ? analysis::efficiency_of(ranks) : std::nullopt;
    if (of)
      ranges.push_back({first_of_piece(loop, piece), first_of_piece(loop, piece + 1) - 1, of->parallel.value,
                        of->load_balance.value, of->communication.value});
  }
  return ranges;
}

/// Whether durations of calls are all that tells waiting: then each iteration has its own value.
bool is_by_durations(const std::vector<NodeWait>& waits) {
  return std::ranges::all_of(waits, [](const NodeWait& of) {
    return of.method == NodeWait::Method::None || of.method == NodeWait::Method::Minimum;
  });
}

/// Adds waiting by even and by odd iterations, so that the rank is chosen by one half and evaluated by the other.
void add_halves(const findings::Facts& facts, const findings::LoopFacts& loop, const IterationSource& source,
                std::vector<RankTimes>& to) {
  if (!loop.has_all_ranks) return;
  for (std::size_t r = 0; r < loop.ranks.size(); ++r) {
    const auto at = std::ranges::find(to, loop.ranks[r].rank, &RankTimes::rank);
    const auto open = facts.open(loop.ranks[r]);
    if (at == to.end() || !open || !at->wait) continue;
    const auto wait = source.of(*open->profiles, 0, nullptr);
    std::array<double, 2> wait_s{}, mpi_s{};
    run::for_each_iteration(open->profiles->loop(),
                            [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
                              const double seconds = wait(i, cluster, row);
                              if (i >= 0 && std::isfinite(seconds)) wait_s[static_cast<std::size_t>(i % 2)] += seconds;
                            });
    for (const auto& piece : loop.user[r])
      for (const std::size_t half : {0U, 1U}) mpi_s[half] += piece.mpi_s[half];
    const double all_s = wait_s[0] + wait_s[1];
    if (!(mpi_s[0] > 0) || !(mpi_s[1] > 0)) continue;
    at->halves.emplace();
    for (const std::size_t half : {0U, 1U}) {
      // Scaled to all iterations, by the part of its MPI time that each half has waited.
      const double part = all_s > 0 ? wait_s[half] / mpi_s[half] * (mpi_s[0] + mpi_s[1]) / all_s : 1;
      (*at->halves)[half] = {std::min(at->wait->seconds * part, at->mpi_s), at->wait->error_s()};
    }
  }
}

/// Calls `take` with each iteration of a rank: its number, its cluster and its times in seconds.
template <class Take>
void for_each_time(const run::OpenLoop& open, const Take& take) {
  const auto user = run::value_of_metric(*open.profiles, "user"), mpi = run::value_of_metric(*open.profiles, "mpi");
  if (!user || !mpi) return;
  run::for_each_iteration(open.profiles->loop(),
                          [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
                            const double user_s = user(i, cluster, row), mpi_s = mpi(i, cluster, row);
                            if (i >= 0 && std::isfinite(user_s) && std::isfinite(mpi_s))
                              take(i, cluster, user_s, mpi_s);
                          });
}

/// The iterations of a loop over the whole job. nullopt: a rank cannot be read or lacks some.
std::optional<std::vector<analysis::JobIteration>> iterations_of_job(const findings::Facts& facts,
                                                                     const findings::LoopFacts& loop) {
  std::vector<analysis::JobIteration> all(static_cast<std::size_t>(loop.iterations));
  const auto ranks = static_cast<double>(loop.ranks.size());
  analysis::PlaceSigns all_signs;
  for (std::size_t r = 0; r < loop.ranks.size(); ++r) {
    const auto open = facts.open(loop.ranks[r]);
    if (!open) return std::nullopt;
    const analysis::PlaceSigns signs(r);
    all_signs += signs;
    std::int64_t known = 0;
    for_each_time(*open, [&](std::int64_t i, std::int32_t, double user_s, double mpi_s) {
      if (i >= loop.iterations) return;
      ++known;
      analysis::JobIteration& of = all[static_cast<std::size_t>(i)];
      of.user += user_s / ranks;
      of.mpi += mpi_s / ranks;
      of.wall += (user_s + mpi_s) / ranks;
      of.slowest = std::max(of.slowest, user_s + mpi_s);
      signs.add(user_s + mpi_s, mpi_s, user_s, of.differences);
    });
    if (known != loop.iterations) return std::nullopt;
  }
  for (analysis::JobIteration& of : all) analysis::set_differences(of, all_signs, loop.ranks.size());
  return all;
}

std::vector<EfficiencyOfClass> classes_of(const findings::Facts& facts, const findings::LoopFacts& loop) {
  if (loop.ranks.empty() || !loop.has_all_ranks || loop.iterations <= 0) return {};
  const auto iterations = iterations_of_job(facts, loop);
  if (!iterations) return {};
  const analysis::JobClasses found = analysis::job_classes(*iterations);
  std::vector<EfficiencyOfClass> classes(found.count);
  for (std::size_t i = 0; i < found.of.size(); ++i) {
    EfficiencyOfClass& of = classes[found.of[i]];
    if (of.iterations++ == 0) of.first = static_cast<std::int64_t>(i);
    of.last = static_cast<std::int64_t>(i);
  }
  std::vector<std::vector<RankTimes>> times(found.count, std::vector<RankTimes>(loop.ranks.size()));
  double all_s = 0;
  for (std::size_t r = 0; r < loop.ranks.size(); ++r) {
    const auto open = facts.open(loop.ranks[r]);
    if (!open) return {};
    for_each_time(*open, [&](std::int64_t i, std::int32_t, double user_s, double mpi_s) {
      if (i >= loop.iterations) return;
      RankTimes& of = times[found.of[static_cast<std::size_t>(i)]][r];
      of.useful.value += user_s;
      of.mpi_s += mpi_s;
      all_s += user_s + mpi_s;
    });
  }
  for (std::uint32_t c = 0; c < found.count; ++c) {
    EfficiencyOfClass& to = classes[c];
    to.number = c;
    for (const RankTimes& rank : times[c]) to.share += rank.all_s() / all_s;
    const auto of = analysis::efficiency_of(times[c]);
    if (!of) continue;
    to.parallel = of->parallel.value;
    to.load_balance = of->load_balance.value;
    to.communication = of->communication.value;
  }
  return classes;
}

}  // namespace

std::vector<LoopTimes> times_of_loops(const std::shared_ptr<const experiment::Experiment>& experiment,
                                      const EfficiencyInput& input) {
  const analysis::MinimumWaits none(experiment->definitions());
  findings::Facts facts{*experiment, input.tree, input.minima ? *input.minima : none, {}};
  read_loops(facts);
  std::shared_ptr<const IterationSource> source;
  if (facts.minima.any() && is_by_durations(input.waits)) source = wait_iterations(experiment);
  std::vector<LoopTimes> loops;
  for (const findings::LoopFacts& loop : facts.loops) {
    const bool is_in_tree = std::ranges::any_of(
        input.tree.nodes, [&](const analysis::TreeNode& node) { return node.marked && node.name == loop.name; });
    if (!is_in_tree) continue;
    LoopTimes& of = loops.emplace_back(
        LoopTimes{loop.name, times_of_region(input, loop.name), ranges_of(loop), classes_of(facts, loop)});
    if (source && of.times.why_no_waits.empty()) add_halves(facts, loop, *source, of.times.ranks);
  }
  return loops;
}

}  // namespace refrain::report
