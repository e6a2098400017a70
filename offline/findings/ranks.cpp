// Ranks that differ over the whole run, and cores that they share.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "offline/analysis/cores.hpp"
#include "offline/analysis/sampled_difference.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/findings/facts.hpp"
#include "offline/findings/rules_of.hpp"
#include "statistics/statistics.hpp"

namespace refrain::findings {

namespace {

/// Time of user code on a CPU, and its uncertainty.
double computing_s(const analysis::LocationSummary& of) { return of.user_s - of.not_on_cpu_s; }
double doubt_s(const analysis::LocationSummary& of) { return (of.not_on_cpu_high_s - of.not_on_cpu_low_s) / 2; }

/// Inclusive seconds of the first threads, by node of the tree: the mean of some ranks, and that of the others.
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

/// The function with most of what the ranks compute more than the others; 0: there is none.
std::uint32_t late_node(const Facts& facts, const NodeTimes& times, double more_s) {
  return analysis::innermost_difference(
      facts.tree, more_s, [&](std::uint32_t node) { return times.own[node] - times.others[node]; },
      [&](std::uint32_t node) {
        return statistics::error_of_sampled_time(times.own[node] + times.others[node], facts.tree.period_s());
      });
}

/// The functions whose exclusive time, over all their call paths below `top`, makes most of the difference. Empty:
/// fewer than two of them have a certain part.
std::vector<Cause::Part> late_functions(const Facts& facts, const NodeTimes& times, std::uint32_t top, double more_s) {
  constexpr double least_part = 0.1;
  constexpr std::size_t most = 3;
  const analysis::CallTree& tree = facts.tree;
  struct Own {
    double more_s = 0, both_s = 0;
  };
  std::map<std::string, Own> by_name;
  std::vector<bool> is_below(tree.nodes.size());
  for (std::uint32_t node = 0; node < tree.nodes.size(); ++node) {
    const analysis::TreeNode& of = tree.nodes[node];
    is_below[node] = node == top || (node != 0 && is_below[static_cast<std::size_t>(of.parent)]);
    if (!is_below[node] || of.kind != run::PathKind::User) continue;
    double own = times.own[node], others = times.others[node];
    for (const std::uint32_t child : of.children) {
      own -= times.own[child];
      others -= times.others[child];
    }
    Own& sum = by_name[analysis::short_name(of.name)];
    sum.more_s += own - others;
    sum.both_s += own + others;
  }
  std::vector<Cause::Part> parts;
  for (const auto& [name, of] : by_name)
    if (of.more_s >= least_part * more_s &&
        of.more_s > statistics::certain_errors * statistics::error_of_sampled_time(of.both_s, tree.period_s()))
      parts.push_back({name, std::min(of.more_s / more_s, 1.0)});
  if (parts.size() < 2) return {};
  std::ranges::stable_sort(parts, std::greater<>{}, &Cause::Part::share);
  parts.resize(std::min(parts.size(), most));
  return parts;
}

/// Ranks that take longer in user code than the others, by one measure of it.
struct LateRanks {
  std::vector<std::int32_t> late, others;
  double late_s = 0, others_s = 0;  ///< means
  double more_s = 0;                ///< excess of the latest rank over the mean of all ranks
  double error_s = 0;               ///< of more_s
  const analysis::LocationSummary* latest = nullptr;
};

/// `measure`: seconds of a rank. Nothing: the others do not wait meanwhile, or there are no others.
template <class Measure>
std::optional<LateRanks> late_ranks_by(const std::vector<const analysis::LocationSummary*>& threads,
                                       const Measure& measure) {
  const auto count = static_cast<double>(threads.size());
  double mean_s = 0, others_mpi_s = 0;
  for (const auto* of : threads) mean_s += measure(*of) / count;
  LateRanks ranks;
  ranks.latest = *std::ranges::max_element(threads, {}, [&](const auto* of) { return measure(*of); });
  ranks.more_s = measure(*ranks.latest) - mean_s;
  for (const auto* of : threads) {
    const bool is_late = measure(*of) - mean_s > ranks.more_s / 2;
    (is_late ? ranks.late : ranks.others).push_back(of->rank);
    (is_late ? ranks.late_s : ranks.others_s) += measure(*of);
    if (!is_late) others_mpi_s += of->mpi_s;
  }
  if (ranks.others.empty()) return std::nullopt;
  std::ranges::sort(ranks.others);
  std::ranges::sort(ranks.late);
  ranks.late_s /= static_cast<double>(ranks.late.size());
  ranks.others_s /= static_cast<double>(ranks.others.size());
  others_mpi_s /= static_cast<double>(ranks.others.size());
  // A rank that reads files meanwhile, or has other work, does not wait.
  if (others_mpi_s - ranks.latest->mpi_s < ranks.more_s / 2) return std::nullopt;
  return ranks;
}

/// Finds late ranks by time on a CPU; if the bounds of that do not tell, by time in user code, which is known exactly:
/// a rank that has only a few milliseconds of it cannot have been late.
std::optional<LateRanks> late_ranks_of(const Facts& facts, bool& is_on_cpu) {
  const auto threads = facts.first_threads();
  const auto count = static_cast<double>(threads.size());
  if (threads.size() < 2) return std::nullopt;
  const auto is_worth_it = [&](const LateRanks& of) { return of.more_s * count >= least_share * facts.elapsed_s(); };
  auto ranks = late_ranks_by(threads, computing_s);
  if (!ranks) return std::nullopt;
  double mean_doubt_s = 0;
  for (const auto* of : threads) mean_doubt_s += doubt_s(*of) / count;
  is_on_cpu = is_worth_it(*ranks) && ranks->more_s >= doubt_s(*ranks->latest) + mean_doubt_s;
  ranks->error_s = statistics::uniform_deviation(2 * std::hypot(doubt_s(*ranks->latest), mean_doubt_s));
  if (is_on_cpu) return ranks;
  constexpr double least_ratio = 2;
  // A rank that sleeps or reads files is reported by another rule (blocked).
  if (!is_worth_it(*ranks) || ranks->late_s < least_ratio * ranks->others_s) return std::nullopt;
  ranks = late_ranks_by(threads, [](const analysis::LocationSummary& of) { return of.user_s; });
  if (!ranks || !is_worth_it(*ranks) || ranks->late_s < least_ratio * ranks->others_s) return std::nullopt;
  return ranks;
}

}  // namespace

void late_rank(const Facts& facts, std::vector<Finding>& found) {
  bool is_on_cpu = false;
  const auto ranks = late_ranks_of(facts, is_on_cpu);
  if (!ranks) return;
  const NodeTimes times = node_times(facts, ranks->late, ranks->others);
  // The times of functions are times on a CPU, which are a part of those in user code.
  const double difference_s = is_on_cpu ? ranks->late_s - ranks->others_s : times.own[0] - times.others[0];
  const std::uint32_t node = late_node(facts, times, difference_s);
  const double all_s = facts.elapsed_s() / static_cast<double>(facts.first_threads().size());
  Finding& finding = found.emplace_back();
  finding.share = ranks->more_s / all_s;
  finding.error = ranks->error_s / all_s;
  finding.ranks = Ranks(ranks->late);
  finding.figures = {{Figure::Mean, ranks->late_s}, {Figure::Others, ranks->others_s}};
  if (!is_on_cpu) finding.method = by_user_code;
  // A function that has all of the rank's time does not tell where in it the difference is.
  constexpr double nearly_all = 0.9;
  const bool is_everything = node == 0 || times.own[node] > nearly_all * times.own[0];
  if (is_everything) finding.cause.parts = late_functions(facts, times, node, difference_s);
  if (finding.cause.parts.empty() && node != 0) finding.cause.path = path_to(facts.tree, node);
  finding.cause.is_user = true;
}

namespace {

/// Which ranks had too few cores, and how long quotas have held threads back.
struct CoresOfRun {
  struct OfHost {
    double waited_s = 0;     ///< waiting for a core in user code
    double throttled_s = 0;  ///< by quotas
  };
  std::vector<analysis::SharedCores> shared;  ///< worst first
  std::map<std::string, OfHost> hosts;
};

CoresOfRun cores_of(const Facts& facts) {
  CoresOfRun all;
  constexpr std::size_t most_ranks_read = 4096;
  std::map<std::int32_t, double> waited_s;
  for (const auto* of : facts.first_threads()) waited_s[of->rank] = of->waited_for_core_s;
  const std::size_t ranks = facts.experiment.ranks().size();
  analysis::CoreUse cores;
  for (std::size_t place = 0; place < std::min(ranks, most_ranks_read); ++place)
    if (const auto rank = facts.experiment.rank(place, experiment::Depth::Run)) {
      cores.add(*rank);
      all.hosts[rank->host].waited_s += waited_s[rank->rank];
    }
  for (const analysis::NodeCores& node : cores.nodes()) all.hosts[node.host].throttled_s = node.throttled_s.value_or(0);
  all.shared = cores.shared();
  return all;
}

/// The shared cores of a host, with its name only if the run has several hosts.
std::optional<analysis::SharedCores> named(const CoresOfRun& cores, analysis::SharedCores of) {
  if (cores.hosts.size() < 2) of.host.clear();
  return of;
}

/// Adds why the ranks of the host with most of the waiting had no core, as far as that is known.
void add_why_no_core(const CoresOfRun& cores, Finding& finding) {
  const auto most = std::ranges::max_element(cores.hosts, {}, [](const auto& host) { return host.second.waited_s; });
  if (most == cores.hosts.end()) return;
  constexpr double worth_a_word = 0.25;
  const auto& [host, of] = *most;
  const auto here = std::ranges::find(cores.shared, host, &analysis::SharedCores::host);
  if (here != cores.shared.end()) finding.cores = named(cores, *here);
  if (of.throttled_s > worth_a_word * of.waited_s && (!finding.cores || finding.cores->quota > 0))
    finding.figures[Figure::Throttled] = of.throttled_s;
}

/// A part of the time of the first threads.
struct PartOfTime {
  double seconds = 0, low_s = 0, high_s = 0;
  Ranks mostly = {};  ///< the rank with most of it
};

PartOfTime part_of_time(const Facts& facts, const std::function<PartOfTime(const analysis::LocationSummary&)>& part) {
  constexpr double most_of_it = 0.75;
  PartOfTime all;
  double most_s = -1;
  std::int32_t rank = 0;
  const auto threads = facts.first_threads();
  for (const auto* of : threads) {
    const PartOfTime here = part(*of);
    all.seconds += here.seconds;
    all.low_s += here.low_s;
    all.high_s += here.high_s;
    if (here.low_s <= most_s) continue;
    most_s = here.low_s;
    rank = of->rank;
  }
  // The other ranks may have as much as their upper bounds.
  if (threads.size() > 1 && most_s > most_of_it * all.high_s) all.mostly = Ranks({rank});
  return all;
}

/// Adds a finding of a part that is known exactly. Null: the part is too small.
Finding* find_exact_part(const Facts& facts, double analysis::LocationSummary::*seconds, std::vector<Finding>& found) {
  const PartOfTime part = part_of_time(facts, [&](const analysis::LocationSummary& of) {
    return PartOfTime{of.*seconds, of.*seconds, of.*seconds};
  });
  const double all_s = facts.elapsed_s();
  if (part.seconds < least_share * all_s) return nullptr;
  return &found.emplace_back(Finding{.share = part.seconds / all_s, .ranks = part.mostly});
}

}  // namespace

void waiting_for_core(const Facts& facts, std::vector<Finding>& found) {
  if (Finding* finding = find_exact_part(facts, &analysis::LocationSummary::waited_for_core_s, found))
    add_why_no_core(cores_of(facts), *finding);
}

void blocked(const Facts& facts, std::vector<Finding>& found) {
  find_exact_part(facts, &analysis::LocationSummary::blocked_s, found);
}

void shared_core(const Facts& facts, std::vector<Finding>& found) {
  const PartOfTime part = part_of_time(facts, [](const analysis::LocationSummary& of) {
    const double told_apart_s = of.waited_for_core_s + of.blocked_s;
    return PartOfTime{of.off_untold_s, std::max(of.not_on_cpu_low_s - told_apart_s, 0.0),
                      std::max(of.not_on_cpu_high_s - told_apart_s, 0.0)};
  });
  const double all_s = facts.elapsed_s();
  if (part.low_s < least_share * all_s) return;
  Finding& finding = found.emplace_back();
  finding.share = part.seconds / all_s;
  finding.error = statistics::uniform_deviation(part.high_s - part.low_s) / all_s;
  finding.ranks = part.mostly;
  finding.figures = {{Figure::LowShare, part.low_s / all_s}, {Figure::HighShare, part.high_s / all_s}};
  if (const CoresOfRun cores = cores_of(facts); !cores.shared.empty()) finding.cores = named(cores, cores.shared[0]);
}

}  // namespace refrain::findings
