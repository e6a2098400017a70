// Ranks that differ over the whole run, and cores that they share.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <span>

#include "offline/analysis/cores.hpp"
#include "offline/analysis/human_units.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/findings/facts.hpp"
#include "offline/findings/rules_of.hpp"
#include "offline/findings/wording.hpp"

namespace refrain::findings {

using analysis::human_count;
using analysis::human_time;
namespace {

/// Time of user code on a CPU, and how far it may be wrong.
double computing_s(const analysis::LocationSummary& of) { return of.user_s - of.not_on_cpu_s; }
double doubt_s(const analysis::LocationSummary& of) { return (of.not_on_cpu_high_s - of.not_on_cpu_low_s) / 2; }

/// Standard deviation of what may be anywhere so far away to both sides.
double deviation_of(double half_width) { return half_width / std::sqrt(3.0); }

/// Seconds by node of the tree, with what is called there, of the first threads: the mean of some ranks, and of the
/// others.
struct NodeTimes {
  std::vector<double> own, others;
};

NodeTimes node_times(const Facts& facts, std::span<const std::int32_t> own, std::span<const std::int32_t> others) {
  const analysis::CallTree& tree = facts.tree;
  NodeTimes times{std::vector<double>(tree.nodes.size()), std::vector<double>(tree.nodes.size())};
  facts.for_each_user_time([&](std::int32_t of, std::int32_t thread, std::uint32_t node, double seconds) {
    if (thread != 0) return;
    if (std::ranges::binary_search(own, of)) times.own[node] += seconds / static_cast<double>(own.size());
    else if (std::ranges::binary_search(others, of)) times.others[node] += seconds / static_cast<double>(others.size());
  });
  for (auto* of : {&times.own, &times.others})
    for (std::size_t node = of->size(); node-- > 1;)
      (*of)[static_cast<std::size_t>(tree.nodes[node].parent)] += (*of)[node];
  return times;
}

/// The function that has most of what the rank computes more than the others; 0: none has.
std::uint32_t late_node(const Facts& facts, const NodeTimes& times, double more_s) {
  constexpr double most_of_it = 0.7, certain = 3;
  std::uint32_t at = 0;
  for (;;) {
    std::uint32_t best = 0;
    double best_s = 0;
    for (const std::uint32_t child : facts.tree.nodes[at].children) {
      if (facts.tree.nodes[child].kind != analysis::PathKind::User) continue;
      const double more = times.own[child] - times.others[child];
      const double error = std::sqrt(facts.tree.period_s() * (times.own[child] + times.others[child]));
      if (more > best_s && more > certain * error) {
        best = child;
        best_s = more;
      }
    }
    if (best == 0 || best_s < most_of_it * more_s) return at;
    at = best;
  }
}

/// Percent: "20 to 40 %", or "20 %".
std::string bounds_text(double low, double high) {
  const std::string from = fmt::format("{:.0f}", low), to = fmt::format("{:.0f}", high);
  return from == to ? from + " %" : from + " to " + to + " %";
}

}  // namespace

void late_rank(const Facts& facts, std::vector<Finding>& found) {
  const auto threads = facts.first_threads();
  if (threads.size() < 2) return;
  const auto count = static_cast<double>(threads.size());
  double mean_s = 0, mean_doubt_s = 0;
  for (const auto* of : threads) {
    mean_s += computing_s(*of) / count;
    mean_doubt_s += doubt_s(*of) / count;
  }
  const auto* latest = *std::ranges::max_element(threads, {}, [](const auto* of) { return computing_s(*of); });
  const double more_s = computing_s(*latest) - mean_s;
  if (more_s * count < least_share * facts.elapsed_s() || more_s < doubt_s(*latest) + mean_doubt_s) return;
  std::vector<std::int32_t> late, others;
  double late_s = 0, others_s = 0, others_mpi_s = 0;
  for (const auto* of : threads) {
    if (computing_s(*of) - mean_s > more_s / 2) {
      late.push_back(of->rank);
      late_s += computing_s(*of);
      continue;
    }
    others.push_back(of->rank);
    others_s += computing_s(*of);
    others_mpi_s += of->mpi_s;
  }
  if (others.empty()) return;
  std::ranges::sort(others);
  std::ranges::sort(late);
  late_s /= static_cast<double>(late.size());
  others_s /= static_cast<double>(others.size());
  others_mpi_s /= static_cast<double>(others.size());
  // Who reads files meanwhile, or has other work, does not wait.
  if (others_mpi_s - latest->mpi_s < more_s / 2) return;
  const NodeTimes times = node_times(facts, late, others);
  const std::uint32_t node = late_node(facts, times, late_s - others_s);
  std::string text = fmt::format("{} compute{} longer than the others, {} against their mean of {}", ranks_text(late),
                                 late.size() == 1 ? "s" : "", human_time(late_s), human_time(others_s));
  if (node != 0) text += ", in " + analysis::short_path(path_to(facts.tree, node));
  const double all_s = facts.elapsed_s();
  found.push_back({"",
                   more_s * count / all_s,
                   std::hypot(deviation_of(doubt_s(*latest)), deviation_of(mean_doubt_s)) * count / all_s,
                   text + (late.size() == 1 ? "; they wait for it" : "; they wait for them"),
                   {"--locations"}});
}

namespace {

/// Why user code was not on a CPU, as far as that is known.
std::string why_not_on_cpu(const experiment::Experiment& experiment) {
  constexpr std::size_t most_ranks_read = 4096;
  const std::size_t ranks = experiment.ranks().size();
  analysis::CoreUse cores;
  std::set<std::string> hosts;
  for (std::size_t place = 0; place < std::min(ranks, most_ranks_read); ++place)
    if (const auto rank = experiment.rank(place, experiment::Depth::Run)) {
      cores.add(*rank);
      hosts.insert(rank->host);
    }
  const auto shared = cores.shared();
  if (shared.empty()) return "threads share cores, sleep, or read and write files";
  return analysis::sentence(shared[0], hosts.size() > 1);
}

}  // namespace

void shared_core(const Facts& facts, std::vector<Finding>& found) {
  double seconds = 0, low_s = 0, high_s = 0;
  const analysis::LocationSummary* most = nullptr;
  const auto threads = facts.first_threads();
  for (const auto* of : threads) {
    if (!most || of->not_on_cpu_s > most->not_on_cpu_s) most = of;
    seconds += of->not_on_cpu_s;
    low_s += of->not_on_cpu_low_s;
    high_s += of->not_on_cpu_high_s;
  }
  const double all_s = facts.elapsed_s();
  if (low_s < least_share * all_s) return;
  constexpr double percent = 100, most_of_it = 0.75;
  // The others may have up to what they are uncertain by.
  const bool is_of_one = threads.size() > 1 && most->not_on_cpu_low_s > most_of_it * high_s;
  found.push_back(
      {"",
       seconds / all_s,
       deviation_of((high_s - low_s) / 2) / all_s,
       fmt::format("in user code the program was not on a CPU ({}){}: {}",
                   bounds_text(percent * low_s / all_s, percent * high_s / all_s),
                   is_of_one ? fmt::format(", mostly on rank {}", most->rank) : "", why_not_on_cpu(facts.experiment)),
       {"--locations", "--metric", "not_on_cpu"}});
}

}  // namespace refrain::findings
