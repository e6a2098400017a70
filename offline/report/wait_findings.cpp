#include "offline/report/wait_findings.hpp"

#include <algorithm>
#include <map>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/patterns/headlines.hpp"
#include "waits/kinds.hpp"

namespace refrain::report {
namespace {

using findings::Cause;
using findings::Figure;
using findings::Finding;
using findings::OffCpu;

/// Events do not tell whether a location waited for a core or was blocked: its time off the CPU is taken to be what
/// most of it was in the run.
OffCpu off_cpu_of(const std::vector<analysis::LocationSummary>& locations, const trace::LocationOfTrace& location) {
  constexpr double most_of_it = 0.75;
  const auto at = std::ranges::find_if(locations, [&](const analysis::LocationSummary& of) {
    return of.rank == location.rank && of.thread == location.thread;
  });
  if (at == locations.end() || !(at->waited_for_core_s + at->blocked_s > 0)) return OffCpu::Unknown;
  if (at->waited_for_core_s > most_of_it * at->not_on_cpu_s) return OffCpu::WaitedForCore;
  return at->blocked_s > most_of_it * at->not_on_cpu_s ? OffCpu::Blocked : OffCpu::Either;
}

/// The cause of waiting as far as one activity tells: a call, or the function that takes most of a computation. Time
/// off the CPU in a computation has no call path: it may be that function's, too.
Cause cause_of(patterns::CauseResult of, const patterns::Naming& naming, OffCpu off_cpu) {
  constexpr double worth_a_word = 0.25;
  Cause cause{.is_user = !of.activity.is_call};
  if (of.activity.is_call) {
    if (of.activity.before) cause.path = naming.names_of(*of.activity.before);
    // Neither events nor profiles tell why the thread did not run in a call.
    if (of.off_cpu_ns > 0 && of.off_cpu_ns >= worth_a_word * of.ns) cause.off_cpu = OffCpu::Unknown;
    return cause;
  }
  double all_ns = 0, not_on_cpu_ns = 0;
  std::erase_if(of.by_node, [&](const auto& row) {
    const auto names = naming.names_of(row.node);
    const bool is_not_on_cpu = names.size() == 1 && names[0] == run::not_on_cpu_name;
    all_ns += row.severity.ns;
    if (is_not_on_cpu) not_on_cpu_ns += row.severity.ns;
    return is_not_on_cpu;
  });
  if (all_ns - not_on_cpu_ns >= worth_a_word * all_ns) cause.path = main_function(of, naming);
  if (not_on_cpu_ns > 0 && not_on_cpu_ns >= worth_a_word * all_ns) cause.off_cpu = off_cpu;
  // Without samples that tell more, the cause is in the function that makes both calls, unless that is only main.
  if (auto caller = common_path(of.activity, naming); !cause.is_known() && caller.size() > 1)
    cause.path = std::move(caller);
  return cause;
}

/// The function that caused most of the waiting, over all ranks; many causes if none has a fifth of it. Not known if
/// causes are known of less than half of it.
Cause main_cause(const patterns::CauseResults& causes, const WaitingOfRun& run, const trace::Trace& trace,
                 const patterns::Naming& naming) {
  constexpr double least_share = 0.2, nearly_all = 0.95, most_of_it = 0.5, least_of_rank = 0.1;
  constexpr std::size_t most_looked_at = 1000;
  struct Sum {
    double ns = 0;
    Cause of_largest;
    std::map<std::int32_t, double> by_rank_ns;
  };
  std::map<std::pair<std::string, OffCpu>, Sum> sums;
  double seen_ns = 0, known_ns = 0;
  for (std::size_t i = 0; i < std::min(causes.all.size(), most_looked_at); ++i) {
    const patterns::CauseResult& of = causes.all[i];
    if (seen_ns > nearly_all * causes.waiting_ns) break;
    seen_ns += of.ns;
    const trace::LocationOfTrace& location = trace.locations()[of.activity.location];
    Cause cause = cause_of(of, naming, off_cpu_of(run.locations, location));
    if (!cause.is_known()) continue;
    known_ns += of.ns;
    Sum& sum = cause.path.empty() ? sums[{"", cause.off_cpu}]
               : cause.is_user    ? sums[{cause.path.back(), OffCpu::No}]
                                  : sums[{analysis::short_path(cause.path), OffCpu::No}];
    if (sum.ns == 0) sum.of_largest = std::move(cause);
    sum.ns += of.ns;
    sum.by_rank_ns[location.rank] += of.ns;
  }
  if (causes.all.empty() || !(causes.waiting_ns > 0)) return {};
  const auto largest = std::ranges::max_element(sums, {}, [](const auto& of) { return of.second.ns; });
  if (largest == sums.end() || largest->second.ns < least_share * causes.waiting_ns)
    return {.is_many = known_ns >= most_of_it * causes.waiting_ns};
  Sum& sum = largest->second;
  std::vector<std::int32_t> ranks;
  for (const auto& [rank, ns] : sum.by_rank_ns)
    if (rank >= 0 && ns >= least_of_rank * sum.ns) ranks.push_back(rank);
  sum.of_largest.ranks = findings::Ranks(std::move(ranks));
  sum.of_largest.share = std::min(sum.ns / causes.waiting_ns, 1.0);
  return sum.of_largest;
}

/// The innermost function in which the call path of a headline differs from another headline that reads the same.
std::vector<std::string> difference_of(const patterns::Headline& of, const std::vector<patterns::Headline>& all,
                                       const patterns::Naming& naming) {
  const std::vector<std::string> names = naming.names_of(of.nodes.front());
  for (const patterns::Headline& other : all) {
    const std::vector<std::string> others = naming.names_of(other.nodes.front());
    if (&other == &of || other.pattern != of.pattern || analysis::short_path(others) != analysis::short_path(names))
      continue;
    const auto [at, there] = std::mismatch(names.rbegin(), names.rend(), others.rbegin(), others.rend());
    if (at != names.rend()) return {analysis::short_name(*at)};
  }
  return {};
}

/// The share of a headline is the waiting of its call paths; of several, of those that wait mainly in this way.
struct OfHeadline {
  std::vector<std::uint32_t> nodes;
  run::Estimate waiting;
  bool is_known = true;           ///< false: of some of them only what events tell about a part is known
  double kept_s = 0;              ///< waiting that events tell about
  double told_s = 0, time_s = 0;  ///< time of the calls: what events tell about, and all
  std::map<std::int32_t, double> by_rank_s;

  OfHeadline(const patterns::Headline& headline, const patterns::Analysis& analysis, const WaitingOfRun& run) {
    const auto pattern = std::ranges::find(analysis.patterns, headline.pattern,
                                           [](const patterns::PatternResult& of) { return of.about.name; });
    for (const std::uint32_t node : headline.nodes) {
      if (node >= run.waits.size() || pattern == analysis.patterns.end()) continue;
      const NodeWait& wait = run.waits[node];
      const bool is_told = wait.method != NodeWait::Method::None;
      if (headline.nodes.size() > 1 && is_told && wait.kind != headline.pattern) continue;
      const auto row = std::ranges::find(pattern->by_node, node, &patterns::PatternResult::ByNode::node);
      nodes.push_back(node);
      kept_s += row == pattern->by_node.end() ? 0 : row->severity.ns / 1e9;
      told_s += wait.events_known_s;
      time_s += run.tree.nodes[node].exclusive_s;
      waiting += wait;
      is_known &= is_told;
      for (const auto& [rank, waiting_s] : wait.by_rank) by_rank_s[rank] += waiting_s;
    }
    std::ranges::stable_sort(nodes, std::greater<>{}, [&](std::uint32_t node) { return run.waits[node].seconds; });
  }
  /// The rank that clearly waits more than the others.
  findings::Ranks mostly(std::size_t ranks) const {
    const auto most = std::ranges::max_element(by_rank_s, {}, [](const auto& of) { return of.second; });
    // Of two ranks that wait alike, one has slightly more than half by chance.
    const double least = 0.5 + 0.5 / static_cast<double>(std::max<std::size_t>(ranks, 2));
    return most != by_rank_s.end() && most->second > least * waiting.seconds ? findings::Ranks({most->first})
                                                                             : findings::Ranks();
  }
  bool are_all_told() const { return told_s >= nearly_all_known * time_s; }
};

/// Adds the call paths that have waited most and that no headline covers.
void add_untold(const std::vector<patterns::Headline>& headlines, const WaitingOfRun& run, std::vector<Finding>& all) {
  constexpr double least_share = 0.03;
  constexpr std::size_t most = 2;
  using Method = NodeWait::Method;
  const double elapsed_s = analysis::elapsed_s(run.locations);
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = 1; node < run.waits.size(); ++node) {
    const NodeWait& of = run.waits[node];
    const bool is_told = std::ranges::any_of(headlines, [&](const patterns::Headline& headline) {
      return std::ranges::find(headline.nodes, node) != headline.nodes.end();
    });
    // Waiting in MPI_Init is the launcher's, and polling has a finding of its own.
    const bool is_other = of.kind.empty() || of.kind == "wait_at_init" || of.kind == waits::polling_name;
    if ((of.method == Method::Matched || of.method == Method::Minimum) && !is_told && !is_other &&
        of.seconds >= least_share * elapsed_s)
      nodes.push_back(node);
  }
  std::ranges::stable_sort(nodes, std::greater<>{}, [&](std::uint32_t node) { return run.waits[node].seconds; });
  if (nodes.size() > most) nodes.resize(most);
  for (const std::uint32_t node : nodes) {
    const NodeWait& of = run.waits[node];
    Finding finding{.rule = of.kind,
                    .share = of.seconds / elapsed_s,
                    .error = of.error_s() / elapsed_s,
                    .paths = {analysis::path_to(run.tree, node)},
                    .method = name_of(of.method)};
    if (is_certain(finding)) all.push_back(std::move(finding));
  }
}

}  // namespace

std::vector<Finding> findings_of_waiting(const WaitingOfRun& run) {
  std::vector<Finding> all;
  add_untold({}, run, all);
  return all;
}

std::vector<Finding> findings_of_waiting(const WaitingOfRun& run, const patterns::Analysis& analysis,
                                         const trace::Trace& trace, const patterns::Naming& naming) {
  std::vector<Finding> all;
  const double elapsed_s = analysis::elapsed_s(run.locations);
  for (const patterns::Headline& headline : analysis.headlines) {
    const OfHeadline of(headline, analysis, run);
    if (of.nodes.empty()) continue;
    Finding finding{.rule = headline.pattern,
                    .share = of.waiting.seconds / elapsed_s,
                    .error = of.waiting.error_s() / elapsed_s,
                    .method = name_of(run.waits[of.nodes[0]].method),
                    .names = difference_of(headline, analysis.headlines, naming)};
    for (const std::uint32_t node : of.nodes) finding.paths.push_back(naming.names_of(node));
    finding.ranks = of.mostly(trace.experiment().ranks().size());
    finding.cause = main_cause(headline.causes, run, trace, naming);
    if (!of.are_all_told() && (!of.is_known || !is_certain(finding))) {
      if (!(of.told_s > 0) || !(of.time_s > 0)) continue;
      finding.share = finding.error = 0;
      finding.figures[Figure::ToldShare] = std::min(of.told_s / of.time_s, 1.0);
      finding.figures[Figure::WaitedShare] = std::min(of.kept_s / of.told_s, 1.0);
    }
    if (is_certain(finding)) all.push_back(std::move(finding));
  }
  add_untold(analysis.headlines, run, all);
  return all;
}

}  // namespace refrain::report
