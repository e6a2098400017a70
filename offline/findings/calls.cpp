// What MPI calls cost beside waiting, and time whose call path is not known.
#include <algorithm>
#include <map>
#include <utility>

#include "offline/experiment/rank_pass.hpp"
#include "offline/findings/facts.hpp"
#include "offline/findings/rules_of.hpp"
#include "statistics/statistics.hpp"

namespace refrain::findings {

using format::MetricId;

namespace {

/// The rank with most of the polling, if it has clearly more than the others.
Ranks rank_that_polls(const Facts& facts, double all_s) {
  constexpr std::size_t most_ranks = 1024;
  const auto ranks = facts.experiment.ranks().size();
  if (ranks < 2 || ranks > most_ranks) return {};
  double most_s = 0;
  std::int32_t most = 0;
  for_each_rank(facts.experiment, {}, experiment::Depth::Run, [&](const experiment::Rank& rank) {
    double here_s = 0;
    for (const auto& of : facts.minima.of_rank(rank)) here_s += of.polls_s;
    if (here_s > most_s) most = rank.rank, most_s = here_s;
  });
  const double clearly = 0.5 + 0.5 / static_cast<double>(ranks);
  return most_s > clearly * all_s ? Ranks({most}) : Ranks();
}

}  // namespace

void polling(const Facts& facts, std::vector<Finding>& found) {
  double polls = 0, seconds = 0;
  std::map<std::uint32_t, double> by_node;
  for (const auto& of : facts.minima.paths()) {
    if (of.path >= facts.tree.node_of.size() || !(of.polls > 0)) continue;
    polls += of.polls;
    seconds += of.polls_s;
    by_node[facts.tree.node_of[of.path]] += of.polls_s;
  }
  const double share = seconds / facts.elapsed_s();
  if (!(share >= least_share) || by_node.empty()) return;
  const auto largest = std::ranges::max_element(by_node, {}, [](const auto& of) { return of.second; });
  found.push_back({.share = share,
                   .paths = {path_to(facts.tree, largest->first)},
                   .ranks = rank_that_polls(facts, seconds),
                   .figures = {{Figure::Count, polls}}});
}

void small_messages(const Facts& facts, std::vector<Finding>& found) {
  constexpr double least_messages = 10'000;
  double messages = 0, bytes = 0, most_s = 0, seconds = 0, error_s = 0;
  std::uint32_t largest = 0;
  std::vector<double> without_waiting(facts.tree.nodes.size()), errors(facts.tree.nodes.size());
  for (const auto& of : facts.minima.paths()) {
    if (of.path >= facts.tree.node_of.size()) continue;
    without_waiting[facts.tree.node_of[of.path]] += of.floor_s();
    // The time without waiting is at least that of as many of the shortest calls, however far certain_errors reach.
    const double least_s = of.time_s - of.estimate.most_by_shortest_s;
    errors[facts.tree.node_of[of.path]] +=
        std::min(of.estimate.error_s(), (of.floor_s() - least_s) / statistics::certain_errors);
  }
  for (std::uint32_t node = 1; node < facts.tree.nodes.size(); ++node) {
    const analysis::TreeNode& of = facts.tree.nodes[node];
    const double sent = static_cast<double>(of.exclusive[MetricId::MessagesSent]),
                 received = static_cast<double>(of.exclusive[MetricId::MessagesReceived]);
    if (of.kind != run::PathKind::Mpi || sent + received <= 0) continue;
    messages += sent;
    bytes += sent > 0 ? static_cast<double>(of.exclusive[MetricId::BytesSent]) : 0;
    // Unknown time counts as 0.
    const double here_s = without_waiting[node] > 0 ? std::min(without_waiting[node], of.exclusive_s) : 0;
    seconds += here_s;
    error_s += here_s > 0 ? errors[node] : 0;
    if (here_s > most_s) {
      most_s = here_s;
      largest = node;
    }
  }
  const double all_s = facts.elapsed_s(), share = seconds / all_s;
  if (!(all_s > 0) || messages < least_messages || bytes > small_message_bytes * messages || share < least_share ||
      largest == 0)
    return;
  found.push_back({.share = share,
                   .error = error_s / all_s,
                   .paths = {path_to(facts.tree, largest)},
                   .figures = {{Figure::Count, messages}, {Figure::Bytes, bytes / messages}}});
}

void measurement_cost(const Facts& facts, std::vector<Finding>& found) {
  double seconds = 0;
  for (const auto* of : facts.first_threads()) seconds += of->refrain_s;
  const double share = seconds / facts.elapsed_s();
  if (share < least_share) return;
  found.push_back({.share = share,
                   .figures = {{Figure::Count, static_cast<double>(facts.tree.totals.mpi_calls)},
                               {Figure::Samples, static_cast<double>(facts.tree.totals.ticks_user)}}});
}

void unseen(const Facts& facts, std::vector<Finding>& found) {
  double seconds = 0;
  std::vector<std::string> names;
  for (const std::uint32_t child : facts.tree.nodes[0].children) {
    const analysis::TreeNode& of = facts.tree.nodes[child];
    const bool is_unknown =
        of.name == run::no_sample_name || of.name == run::arena_full_name || of.name == run::mpi_without_path_name;
    if (!is_unknown || !(of.inclusive_s > 0)) continue;
    seconds += of.inclusive_s;
    names.push_back(of.name);
  }
  // The share is of the time of all threads, because any of them may have such time.
  const double share = seconds / facts.tree.totals.wall_s;
  if (share >= least_share) found.push_back({.share = share, .names = std::move(names)});
}

}  // namespace refrain::findings
