#include "offline/patterns/matched_waits.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "offline/analysis/run_totals.hpp"
#include "offline/trace/matched_messages.hpp"

namespace refrain::patterns {
namespace {

using format::MetricId;
using trace::MatchedMessage;

/// Of a node at a location.
using Place = std::pair<std::uint32_t, std::uint32_t>;

/// What the profile has of calls that have received or completed messages.
struct Received {
  double messages = 0, ns = 0;
};
std::map<Place, Received> received_messages(const trace::Trace& trace, const Naming& naming) {
  std::map<Place, Received> received;
  const experiment::Experiment& experiment = trace.experiment();
  experiment::RankHandle rank;
  for (std::uint32_t location = 0; location < trace.locations().size(); ++location) {
    const trace::LocationOfTrace& of = trace.locations()[location];
    if (!rank || rank->rank != of.rank) {
      const auto at = std::ranges::find(experiment.ranks(), of.rank);
      if (at == experiment.ranks().end()) continue;
      rank = experiment.rank(static_cast<std::size_t>(at - experiment.ranks().begin()), experiment::Depth::Run);
    }
    if (!rank) continue;
    const auto at = std::ranges::find(rank->locations, of.thread, &experiment::Location::thread);
    if (at == rank->locations.end()) continue;
    const auto& paths = experiment.definitions().paths;
    const auto totals = analysis::totals_of_run(*rank, *at, paths);
    for (const experiment::PathTotals& row : totals.paths) {
      if (paths[row.path].kind != format::NodeKind::Region) continue;
      const auto value = [&](MetricId metric) {
        return static_cast<double>(totals.columns[row.first + format::column_of(metric)]);
      };
      const double completed = value(MetricId::MessagesCompleted);
      Received& to = received[{naming.node_of(row.path), location}];
      to.messages += completed > 0 ? completed : value(MetricId::MessagesReceived);
      to.ns += static_cast<double>(row.ticks) * 1e9 / rank->ticks_per_second;
    }
  }
  return received;
}

/// So few numbers of messages tell nothing.
constexpr std::size_t fewest_numbers = 10;

/// Of a share that n groups tell, whatever they say: the standard deviation by Laplace's rule of succession.
double least_deviation(double n) { return std::sqrt((n + 1) / ((n + 2) * (n + 2) * (n + 3))); }

/// What is known of a node, over all locations.
struct OfNode {
  double ns = 0;              ///< of the run
  double range_ns = 0;        ///< how far the bounds of what it was are apart
  double unseen_time_ns = 0;  ///< in calls with messages that are not in the sample
  std::uint64_t messages = 0;
  /// By number of messages: by what its messages have waited more than others, for the run. A number is sampled on all
  /// channels or on none.
  std::unordered_map<std::uint64_t, double> residuals;
};

double error_of(const OfNode& of) {
  double squares = 0;
  for (const auto& [ordinal, residual] : of.residuals) squares += residual * residual;
  const auto n = static_cast<double>(of.residuals.size());
  return std::sqrt(squares * n / std::max(n - 1, 1.0) + of.range_ns * of.range_ns / 12 +
                   std::pow(of.unseen_time_ns * least_deviation(n), 2));
}

}  // namespace

std::vector<MatchedWait> matched_waits(const trace::Trace& trace, const Naming& naming,
                                       std::optional<unsigned> as_level) {
  if (trace.archive() || (!as_level && !trace.level_of_messages())) return {};
  trace::MatchedMessages matched(trace, as_level);
  auto reader = trace.read();
  while (const trace::Event* event = reader.next()) matched.add(*event);
  std::map<Place, std::vector<MatchedMessage>> by_place;
  for (const MatchedMessage& of : matched.pairs())
    if (of.receive.path != trace::no_path)
      by_place[{naming.node_of(of.receive.path), of.receive.location}].push_back(of);
  const auto received = received_messages(trace, naming);
  std::map<std::uint32_t, OfNode> nodes;
  const auto weight = static_cast<double>(std::uint64_t{1} << matched.level());
  for (const auto& [place, messages] : by_place) {
    const auto all = received.find(place);
    if (all == received.end() || all->second.messages <= 0) continue;
    const auto sampled = static_cast<double>(messages.size());
    const double times = std::max(all->second.messages / sampled, 1.0);
    const trace::LateSenders of = trace::late_senders(messages, matched.level());
    const double least = times * of.least_ns / weight, most = times * of.most_ns / weight;
    OfNode& node = nodes[place.first];
    node.ns += (least + most) / 2;
    node.range_ns += most - least;
    node.unseen_time_ns += all->second.ns * std::sqrt(std::max(1 - 1 / times, 0.0));
    node.messages += messages.size();
    double mean = 0;
    for (const MatchedMessage& message : messages) mean += static_cast<double>(message.waiting_ns()) / sampled;
    // What one message has waited is more than its part in the waiting of a call that completes several.
    const double part = mean > 0 ? (least + most) / 2 / (times * sampled * mean) : 0;
    for (const MatchedMessage& message : messages)
      node.residuals[message.key.ordinal] +=
          times * part * (static_cast<double>(message.waiting_ns()) - mean) * std::sqrt(std::max(1 - 1 / times, 0.0));
  }
  std::vector<MatchedWait> waits;
  for (const auto& [number, of] : nodes)
    if (of.residuals.size() >= fewest_numbers) waits.push_back({number, of.ns, error_of(of), of.messages});
  return waits;
}

}  // namespace refrain::patterns
