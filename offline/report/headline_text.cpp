#include "offline/report/headline_text.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/patterns/headlines.hpp"
#include "offline/report/patterns_view.hpp"
#include "waits/kinds.hpp"

namespace refrain::report {
namespace {

using analysis::short_path;

/// Time of the location off the CPU. Events do not say which of the two a part of it was: it is named by what most of
/// it was in the run.
std::string off_cpu_text(const analysis::CallTree& tree, const trace::LocationOfTrace& location) {
  constexpr double most_of_it = 0.75;
  const auto at = std::ranges::find_if(tree.locations, [&](const analysis::LocationSummary& of) {
    return of.rank == location.rank && of.thread == location.thread;
  });
  if (at == tree.locations.end() || !(at->waited_for_core_s + at->blocked_s > 0)) return "time not on a CPU";
  if (at->waited_for_core_s > most_of_it * at->not_on_cpu_s) return "time spent waiting for a core";
  return at->blocked_s > most_of_it * at->not_on_cpu_s ? "time spent blocked (sleep, locks or files)"
                                                       : "time spent waiting for a core or blocked";
}

/// Of a computation the function that takes most of it. Time off the CPU has no call path: it may be that function's,
/// too.
std::string function_text(const patterns::CauseResult& of, const patterns::Naming& naming, const std::string& off_cpu) {
  constexpr double worth_a_word = 0.25;
  patterns::CauseResult on_cpu = of;
  double all_ns = 0, not_on_cpu_ns = 0;
  std::erase_if(on_cpu.by_node, [&](const auto& row) {
    const auto names = naming.names_of(row.node);
    const bool is_not_on_cpu = names.size() == 1 && names[0] == run::not_on_cpu_name;
    all_ns += row.severity.ns;
    if (is_not_on_cpu) not_on_cpu_ns += row.severity.ns;
    return is_not_on_cpu;
  });
  const auto function = main_function(on_cpu, naming);
  const bool has_function = !function.empty() && all_ns - not_on_cpu_ns >= worth_a_word * all_ns,
             has_other = not_on_cpu_ns >= worth_a_word * all_ns && not_on_cpu_ns > 0;
  if (has_function) return short_path(function) + (has_other ? " and " + off_cpu : "");
  return has_other ? off_cpu : std::string();
}

std::string activity_text(const patterns::CauseResult& of, const patterns::Naming& naming, const std::string& off_cpu) {
  const auto path = [&](const std::optional<std::uint32_t>& node) {
    return node ? short_path(naming.names_of(*node)) : std::string("the begin");
  };
  if (of.activity.is_call) return path(of.activity.before);
  if (std::string text = function_text(of, naming, off_cpu); !text.empty()) return text;
  return fmt::format("computation between {} and {}", path(of.activity.before), path(of.activity.after));
}

/// The end of the call path; where another headline of the pattern would read the same, with the innermost frame in
/// which they differ.
std::string path_text(const patterns::Headline& of, const std::vector<patterns::Headline>& all,
                      const patterns::Naming& naming) {
  const std::vector<std::string> names = naming.names_of(of.node);
  std::string text = short_path(names);
  for (const patterns::Headline& other : all) {
    const std::vector<std::string> others = naming.names_of(other.node);
    if (other.node == of.node || other.pattern != of.pattern || short_path(others) != short_path(names)) continue;
    const auto [at, there] = std::mismatch(names.rbegin(), names.rend(), others.rbegin(), others.rend());
    if (at != names.rend()) return text + " below " + analysis::short_name(*at);
  }
  return text;
}

std::string text_of(const patterns::Headline& of, const std::vector<patterns::Headline>& all,
                    std::span<const trace::LocationOfTrace> locations, const patterns::Naming& naming,
                    const analysis::CallTree& tree) {
  constexpr double nearly_all = 0.75;
  std::string pattern = of.pattern;
  std::ranges::replace(pattern, '_', ' ');
  std::string line = fmt::format("{} in {}", pattern, path_text(of, all, naming));
  if (of.others > 0) line += fmt::format(" and {} more call path{}", of.others, of.others == 1 ? "" : "s");
  if (of.location) line += fmt::format(", mostly on {}", place_of(locations[*of.location]));
  if (!of.cause) return line;
  const std::string part = of.cause_share < nearly_all ? fmt::format("caused for {:.0f} % by", 100 * of.cause_share)
                                                       : std::string("caused by");
  const trace::LocationOfTrace& location = locations[of.cause->activity.location];
  return line + fmt::format("; {} {} on {}", part, activity_text(*of.cause, naming, off_cpu_text(tree, location)),
                            place_of(location));
}

/// Of a headline's call paths.
struct OfPaths {
  double seconds = 0, error_s = 0;  ///< of the run
  bool is_known = true;             ///< else of some of them nothing is known but what events tell of a part
  bool are_all_told = true;         ///< events tell of nearly all calls
  double kept_s = 0;                ///< waiting that events tell of
  double told_s = 0, time_s = 0;    ///< time of the calls, of which they tell and of all
};

OfPaths of_paths(const patterns::Headline& headline, const patterns::Analysis& analysis, const WaitingOfRun& run) {
  const auto pattern = std::ranges::find(analysis.patterns, headline.pattern,
                                         [](const patterns::PatternResult& of) { return of.about.name; });
  OfPaths all;
  for (const std::uint32_t node : headline.nodes) {
    if (node >= run.waits.size() || pattern == analysis.patterns.end()) continue;
    const NodeWait& wait = run.waits[node];
    const auto row = std::ranges::find(pattern->by_node, node, &patterns::PatternResult::ByNode::node);
    const double kept_s = row == pattern->by_node.end() ? 0 : row->severity.ns / 1e9;
    const double time_s = run.tree.nodes[node].exclusive_s;
    all.kept_s += kept_s;
    all.told_s += wait.events_known_s;
    all.time_s += time_s;
    all.are_all_told &= wait.events_known_s >= nearly_all_known * time_s;
    const bool is_by_events = wait.method == NodeWait::Method::Events || wait.method == NodeWait::Method::Sampled;
    if (is_by_events && wait.searched_s && *wait.searched_s > 0) {
      // What events tell of is one kind among those that the call path has waited in.
      const double part = std::min(kept_s / *wait.searched_s, 1.0);
      all.seconds += part * wait.seconds;
      all.error_s += part * wait.error_s;
    } else if (!is_by_events && wait.kind == headline.pattern) {
      all.seconds += wait.seconds;
      all.error_s += wait.error_s;
    } else {
      all.is_known = false;
    }
  }
  return all;
}

std::vector<std::string> more_of_waiting() { return {"--waits"}; }

std::string words_of(std::string kind) {
  std::ranges::replace(kind, '_', ' ');
  return kind;
}

/// The largest ones of which events tell too little to have made a headline.
void add_untold(const patterns::Analysis& analysis, const WaitingOfRun& run, std::vector<findings::Finding>& all) {
  constexpr double least_share = 0.03;
  constexpr std::size_t most = 2;
  using Method = NodeWait::Method;
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = 1; node < run.waits.size(); ++node) {
    const NodeWait& of = run.waits[node];
    const bool is_told = std::ranges::any_of(analysis.headlines, [&](const patterns::Headline& headline) {
      return std::ranges::find(headline.nodes, node) != headline.nodes.end();
    });
    // The launcher's, and what has a sentence of its own.
    const bool is_other = of.kind.empty() || of.kind == "wait_at_init" || of.kind == waits::polling_name;
    if ((of.method == Method::Matched || of.method == Method::Minimum) && !is_told && !is_other &&
        of.seconds >= least_share * run.elapsed_s)
      nodes.push_back(node);
  }
  std::ranges::stable_sort(nodes, std::greater<>{}, [&](std::uint32_t node) { return run.waits[node].seconds; });
  if (nodes.size() > most) nodes.resize(most);
  for (const std::uint32_t node : nodes) {
    const NodeWait& of = run.waits[node];
    findings::Finding finding{
        .rule = of.kind,
        .share = of.seconds / run.elapsed_s,
        .error = of.error_s / run.elapsed_s,
        .text = fmt::format("{} in {}, as {} tell", words_of(of.kind), short_path(analysis::path_to(run.tree, node)),
                            of.method == Method::Matched ? "single messages" : "durations of calls"),
        .more = more_of_waiting()};
    if (is_certain(finding)) all.push_back(std::move(finding));
  }
}

}  // namespace

std::vector<findings::Finding> findings_of(const patterns::Analysis& analysis,
                                           std::span<const trace::LocationOfTrace> locations,
                                           const patterns::Naming& naming, const WaitingOfRun& run) {
  std::vector<findings::Finding> all;
  for (const patterns::Headline& of : analysis.headlines) {
    findings::Finding finding{.rule = of.pattern,
                              .share = of.severity.ns / 1e9 / run.elapsed_s,
                              .error = of.severity.error_ns / 1e9 / run.elapsed_s,
                              .text = text_of(of, analysis.headlines, locations, naming, run.tree),
                              .more = more_of_waiting()};
    if (const OfPaths paths = of_paths(of, analysis, run); !paths.are_all_told) {
      finding.share = paths.seconds / run.elapsed_s;
      finding.error = paths.error_s / run.elapsed_s;
      if (!paths.is_known || !is_certain(finding)) {
        if (!(paths.told_s > 0) || !(paths.time_s > 0)) continue;
        finding.share = finding.error = 0;
        constexpr double percent = 100;
        finding.text += fmt::format("; events tell of {:.0f} % of these calls' time, and {:.0f} % of that was waiting",
                                    percent * std::min(paths.told_s / paths.time_s, 1.0),
                                    percent * std::min(paths.kept_s / paths.told_s, 1.0));
      }
    }
    if (is_certain(finding)) all.push_back(std::move(finding));
  }
  add_untold(analysis, run, all);
  return all;
}

}  // namespace refrain::report
