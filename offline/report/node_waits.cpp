#include "offline/report/node_waits.hpp"

#include <algorithm>
#include <cmath>

#include "format/mpi_functions.hpp"
#include "statistics/statistics.hpp"

namespace refrain::report {

const char* name_of(NodeWait::Method method) {
  constexpr const char* names[] = {"", "events", "sampled", "matched", "minimum"};
  return names[static_cast<std::size_t>(method)];
}

namespace {

using Method = NodeWait::Method;

/// A method that covers less of a call path's time says too little about it; one that covers as much stands for all.
constexpr double least_known = 0.5;

/// `open`: the part of the time that may or may not be waiting; `number`: of the calls or messages that tell.
double confidence_of(double open, double number) {
  return std::clamp(1 - open, 0.0, 1.0) * number / (number + waits::fewest_calls);
}

/// Take the place of the number of a loop in run::signs_of().
constexpr std::uint64_t of_rests = 0xa54ff53a5f1d36f1, of_places = 0x510e527fade682d1;

/// Extends what is known of a part of a call path's time to all of it: the rest is taken to have waited for the same
/// part of its time, with the error of a part that may be anything.
void extend(NodeWait& node, std::uint32_t number, double known_s, double time_s) {
  const double rest = std::max(time_s - known_s, 0.0), part = std::clamp(node.seconds / known_s, 0.0, 1.0);
  const double times = time_s / known_s;
  node.seconds *= times;
  node.replicates = node.replicates.scaled(times);
  for (auto& [rank, replicates] : node.replicates_by_rank) replicates = replicates.scaled(times);
  node.replicates_of_rest.add(run::signs_of(of_rests, number),
                              statistics::uniform_deviation_from(part * rest, 0, rest) * 1e9);
  node.replicates += node.replicates_of_rest;
}

void limit_to(NodeWait& node, double most_s) {
  if (node.seconds > most_s) {
    for (auto& [rank, seconds] : node.by_rank) seconds *= most_s / node.seconds;
    node.seconds = most_s;
  }
  const double part = node.limit_error(most_s);
  if (part == 1) return;
  for (auto& [rank, replicates] : node.replicates_by_rank) replicates = replicates.scaled(part);
  node.replicates_of_rest = node.replicates_of_rest.scaled(part);
}

/// What events tell about all call paths of a node.
struct SearchedNode {
  patterns::PathWaits::Of sum;
  run::Replicates replicates() const {
    run::Replicates all;
    for (const auto& [rank, of] : sum.replicates) all += of;
    return all;
  }
  double largest_s = -1;  ///< waiting of the call path that `kind` comes from
};

std::map<std::uint32_t, SearchedNode> sum_up(const patterns::PathWaits& waits, const analysis::CallTree& tree) {
  std::map<std::uint32_t, SearchedNode> nodes;
  for (const patterns::PathWaits::Of& row : waits.paths) {
    const auto path = static_cast<std::size_t>(row.path);
    if (path >= tree.node_of.size()) continue;
    SearchedNode& to = nodes[tree.node_of[path]];
    to.sum.seconds += row.seconds;
    to.sum.seen_s += row.seen_s;
    to.sum.known_s += row.known_s;
    if (row.matched) {
      auto& matched = to.sum.matched ? *to.sum.matched : to.sum.matched.emplace();
      matched.seconds += row.matched->seconds;
      matched.replicates += row.matched->replicates;
      matched.messages += row.matched->messages;
      matched.is_late_receiver = row.matched->is_late_receiver;
    }
    if (row.seconds > to.largest_s) {
      to.largest_s = row.seconds;
      to.sum.kind = row.kind;
    }
    for (const auto& [rank, seconds] : row.by_rank) to.sum.by_rank[rank] += seconds;
    for (const auto& [rank, replicates] : row.replicates) to.sum.replicates[rank] += replicates;
  }
  return nodes;
}

void add_searched(const patterns::PathWaits& waits, const analysis::CallTree& tree, std::vector<NodeWait>& of) {
  for (const auto& [at, searched] : sum_up(waits, tree)) {
    const patterns::PathWaits::Of& row = searched.sum;
    NodeWait& node = of[at];
    const double time = tree.nodes[at].exclusive_s;
    const double known_s = std::min({row.known_s, row.seen_s, time}), known = time > 0 ? known_s / time : 0;
    if (row.known_s > 0) node.searched_s = row.seconds;
    node.events_known_s = known_s;
    if (row.matched) node.matched_s = row.matched->seconds;
    if (known >= least_known) {
      node.method = waits.is_sampled || known < nearly_all_known ? Method::Sampled : Method::Events;
      node.seconds = row.seconds;
      node.replicates = searched.replicates();
      node.has_replicates_by_rank = waits.ranks_in_block == 1;
      if (node.has_replicates_by_rank) node.replicates_by_rank = row.replicates;
      node.known_s = known_s;
      if (node.method == Method::Sampled) extend(node, at, known_s, time);
      node.confidence = waits.confidence * known;
      node.kind = row.kind;
      for (const auto& [rank, seconds] : row.by_rank)
        node.by_rank[rank] = row.seconds > 0 ? seconds * node.seconds / row.seconds : 0;
    } else if (row.matched) {
      node.method = Method::Matched;
      node.known_s = time;
      // Events tell about the known part; single messages stand for the rest.
      const double rest = 1 - known;
      node.seconds = row.matched->seconds * rest + (known > 0 ? row.seconds : 0);
      node.replicates = row.matched->replicates.scaled(rest);
      if (known > 0) node.replicates += searched.replicates();
      const double error_s = row.matched->replicates.error_ns() * 1e-9;
      node.confidence = confidence_of(time > 0 ? error_s / time : 0, row.matched->messages);
      node.kind = row.matched->is_late_receiver ? "late_receiver" : "late_sender";
    }
  }
}

void add_minima(const analysis::MinimumWaits& minima, const analysis::CallTree& tree, std::vector<NodeWait>& of) {
  struct Sum {
    double calls = 0, time_s = 0;
    std::map<std::string_view, double> kinds_s;
  };
  std::vector<Sum> sums(of.size());
  for (const analysis::MinimumWaits::OfPath& row : minima.paths()) {
    if (row.path >= tree.node_of.size()) continue;
    const std::uint32_t at = tree.node_of[row.path];
    if (!of[at].minimum) of[at].minimum.emplace();
    *of[at].minimum += row.estimate;
    Sum& sum = sums[at];
    sum.calls += row.calls;
    sum.time_s += row.time_s;
    for (const auto& [kind, seconds] : row.kinds_s) sum.kinds_s[kind] += seconds;
  }
  for (std::size_t i = 0; i < of.size(); ++i) {
    NodeWait& node = of[i];
    if (!node.minimum) continue;
    const double time = tree.nodes[i].exclusive_s;
    node.minimum->extend(sums[i].time_s, time);
    if (node.method != Method::None) continue;
    node.method = Method::Minimum;
    static_cast<run::Estimate&>(node) = estimate_of(*node.minimum);
    node.known_s = std::min(sums[i].time_s, time);
    const double range = node.minimum->most_s - node.minimum->least_s;
    node.confidence = confidence_of(time > 0 ? range / time : 0, sums[i].calls);
    const auto most = std::ranges::max_element(sums[i].kinds_s, {}, [](const auto& kind) { return kind.second; });
    if (node.seconds > 0 && most != sums[i].kinds_s.end()) node.kind = most->first;
  }
}

}  // namespace

std::vector<NodeWait> waits_of(const analysis::CallTree& tree, const patterns::PathWaits* in_events,
                               const analysis::MinimumWaits* minima) {
  std::vector<NodeWait> waits(tree.nodes.size());
  if (in_events) add_searched(*in_events, tree, waits);
  if (minima) add_minima(*minima, tree, waits);
  // An estimate may exceed the time of the calls.
  for (std::size_t node = 0; node < waits.size(); ++node) limit_to(waits[node], tree.nodes[node].exclusive_s);
  return waits;
}

run::Estimate estimate_of(const waits::Estimate& minimum) {
  return {.seconds = minimum.seconds,
          .below_s = std::max(minimum.seconds - minimum.least_s, 0.0),
          .above_s = std::max(minimum.most_s - minimum.seconds, 0.0)};
}

run::Replicates replicates_of_rank(const NodeWait& wait, std::uint32_t node, std::int32_t rank, double part) {
  // The errors of ranks are independent of each other, and grow with the time that a rank has spent there.
  if (!wait.has_replicates_by_rank)
    return replicates_of_place(node, rank, wait.replicates.error_ns() * 1e-9 * std::sqrt(part));
  run::Replicates replicates = wait.replicates_of_rest.scaled(part);
  if (const auto own = wait.replicates_by_rank.find(rank); own != wait.replicates_by_rank.end())
    replicates += own->second;
  return replicates;
}

run::Replicates replicates_of_place(std::uint32_t node, std::int32_t rank, double deviation_s) {
  run::Replicates replicates;
  replicates.add(run::signs_of(of_places + node, rank), deviation_s * 1e9);
  return replicates;
}

bool is_untold(const analysis::TreeNode& node, const NodeWait& wait) {
  if (node.kind != run::PathKind::Mpi || wait.method != NodeWait::Method::None) return false;
  const format::MpiFunction* known = format::find_mpi_function(node.name);
  return known && known->waits != format::MpiWaits::nobody && known->waits != format::MpiWaits::job;
}

std::vector<NodeWait> waits_of(const Document& d) {
  const bool has_minima = d.minimum_waits && d.minimum_waits->any();
  // The waiting of some threads alone is not known.
  const patterns::PathWaits* const in_events = d.found.waits(d.request.has_usual_names());
  if (!d.request.shows_call_tree() || d.request.some_threads() || (!in_events && !has_minima)) return {};
  return waits_of(d.tree, in_events, has_minima ? d.minimum_waits : nullptr);
}

}  // namespace refrain::report
