#include "offline/run/loop_pools.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "offline/experiment/kept_pools.hpp"
#include "offline/experiment/rank_pass.hpp"
#include "offline/run/iteration_profile.hpp"

namespace refrain::run {
namespace {

using experiment::Depth;
using experiment::Experiment;

/// Reads the first rank only: where iterations begin at an MPI call, the other ranks are like it.
bool may_have_loops(const Experiment& experiment) {
  const auto is_mark = [](const experiment::CallPath& of) { return of.kind == experiment::NodeKind::Marked; };
  if (std::ranges::any_of(experiment.definitions().paths, is_mark)) return true;
  const auto first = experiment.ranks().empty() ? nullptr : experiment.rank(0, Depth::Loops);
  return first && std::ranges::any_of(first->locations, [](const auto& of) { return !of.loops.empty(); });
}

/// Whether there are more iterations and rows of clusters, of which there may be one per call path, than are processed
/// unasked.
bool is_much(const Experiment& experiment) {
  constexpr std::int64_t most = std::int64_t{1} << 26;
  const auto paths = static_cast<std::int64_t>(experiment.definitions().paths.size());
  std::int64_t left = most;
  for_each_rank(experiment, {}, Depth::Loops, [&](const experiment::Rank& rank) {
    for (const experiment::Location& location : rank.locations)
      for (const experiment::Loop& loop : location.loops)
        left -= std::min(loop.iterations, most) + static_cast<std::int64_t>(loop.clusters.size()) * paths;
  });
  return left < 0;
}

/// Runs `work` and drops the damage that it finds. False: it found some.
template <class Work>
bool is_undamaged(const Work& work) {
  std::exception_ptr error;
  const auto damage = experiment::DamageLog::put_aside([&] {
    try {
      work();
    } catch (...) {
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  return damage.empty();
}

struct PoolsOfRank {
  experiment::PoolBytes loops;
  bool is_damaged = false;
};

PoolsOfRank pools_of(const Experiment& experiment, const experiment::Rank& rank) {
  PoolsOfRank of;
  of.is_damaged = !is_undamaged([&] {
    for (const experiment::Location& location : rank.locations)
      for (std::size_t loop = 0; loop < location.loops.size(); ++loop)
        of.loops[{rank.rank, location.thread, static_cast<std::uint32_t>(loop)}] =
            IterationProfiles(experiment.definitions(), rank, location, loop).shares().packed();
  });
  if (of.is_damaged) of.loops.clear();
  return of;
}

/// False: something was damaged.
bool find_all(const Experiment& experiment, const std::function<void(double share)>& progress,
              experiment::PoolBytes& all) {
  constexpr std::size_t most_bytes = std::size_t{32} << 20, more_for_a_rank = std::size_t{48} << 10, most_threads = 8;
  std::vector<std::size_t> places(experiment.ranks().size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::size_t left = most_bytes + more_for_a_rank * places.size(), done = 0;
  bool is_whole = true;
  std::atomic<bool> is_full = false;  // then no more pools are taken
  const auto find = [&](const experiment::RankHandle& rank) {
    if (!rank) return PoolsOfRank{{}, true};
    return is_full ? PoolsOfRank() : pools_of(experiment, *rank);
  };
  const auto take = [&](PoolsOfRank& of) {
    is_whole &= !of.is_damaged;
    std::size_t size = 0;
    for (const auto& [loop, bytes] : of.loops) size += bytes.size();
    if (size > left) is_full = true;
    if (!is_full) {
      left -= size;
      all.merge(of.loops);
    }
    ++done;
    if (progress) progress(static_cast<double>(done) / static_cast<double>(places.size()));
  };
  return is_undamaged([&] { make_and_use(experiment, places, Depth::Whole, most_threads, find, take); }) && is_whole;
}

}  // namespace

void keep_pools(const Experiment& experiment, Asked asked, const std::function<void(double share)>& progress) {
  if (experiment.directory().empty() || experiment.manifest().state == "running") return;
  bool is_whole = experiment.damages() == 0;
  if (experiment.pools()) return;
  if (asked == Asked::No) {
    bool is_wanted = false;
    is_whole &= is_undamaged([&] { is_wanted = may_have_loops(experiment) && !is_much(experiment); });
    if (!is_wanted || !is_whole) return;
  }
  experiment::PoolBytes all;
  is_whole &= find_all(experiment, progress, all);
  if (all.empty()) return;
  std::string file = experiment::file_of_pools(experiment, all);
  all.clear();
  std::shared_ptr<const experiment::KeptPools> pools;
  try {
    if (is_whole) {
      experiment::keep_file_of_pools(experiment, file);
      pools = read_kept_pools(experiment);
    }
  } catch (const std::system_error&) {  // another user's directory, or a packed experiment
  }
  if (!pools) pools = std::make_shared<const experiment::KeptPools>(std::move(file), experiment);
  experiment.have_pools(std::move(pools));
}

}  // namespace refrain::run
