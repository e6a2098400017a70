#pragma once
/// How long the call paths of a run have waited for other processes, by the best method that is available for each:
///
///     events    all events were kept: what the search has found
///     sampled   an estimate from the iterations whose events were kept, if they have calls of the call path
///     matched   an estimate from messages that were sampled one by one, if too little of a call path was kept
///     minimum   what calls took longer than short ones of their kind (waits/estimate.hpp): known of every run
///
/// The first available method counts, because it knows both ends of messages. Events count if they tell, for at least
/// half of a call path's time, how long its calls have waited: events that were not kept tell nothing, nor do those of
/// messages and collective operations whose other ends are not known. The rest is taken to have waited for the same
/// part of its time, with the error of a part that may be anything.
///
/// A NodeWait is an estimate: the waiting of several nodes is their sum, and its error that of the sum (run::Estimate).
/// Events, samples and messages have replicates, minima have bounds.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "offline/report/overview.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::report {

struct NodeWait : run::Estimate {
  enum class Method : std::uint8_t { None, Events, Sampled, Matched, Minimum } method = Method::None;
  double confidence = 0;                   ///< from 0 (it says nothing) to 1
  double known_s = 0;                      ///< time of the calls that the method covers
  double events_known_s = 0;               ///< time of the calls that events cover, whatever the method is
  std::string kind;                        ///< the pattern with most of the waiting; empty: none
  std::optional<double> searched_s;        ///< from the iterations that were kept, or from all events
  std::optional<double> matched_s;         ///< from messages that were sampled one by one
  std::optional<waits::Estimate> minimum;  ///< nullopt: it is not known who waits in these calls
  std::map<std::int32_t, double> by_rank;  ///< parts of `seconds`; only with events and samples of them
  /// Whether the replicates are known by rank: `replicates` is the sum of those by rank, and of those of the rest,
  /// which is time of which nothing is known at any rank.
  bool has_replicates_by_rank = false;
  std::map<std::int32_t, run::Replicates> replicates_by_rank;
  run::Replicates replicates_of_rest;
};
/// What is known of this part of a call path's time is taken to be known of all of it.
inline constexpr double nearly_all_known = 0.98;
/// "events", "sampled", "matched", "minimum"; "": not known.
const char* name_of(NodeWait::Method method);

/// By node of the tree: exclusive, and never more than the time of the node. `in_events`, `minima`: null: not known.
std::vector<NodeWait> waits_of(const analysis::CallTree& tree, const patterns::PathWaits* in_events,
                               const analysis::MinimumWaits* minima);
/// Empty: nothing is known for this document.
std::vector<NodeWait> waits_of(const Document& document);

/// The estimate from durations of calls, with its bounds.
run::Estimate estimate_of(const waits::Estimate& minimum);
/// The replicates of a rank in the calls of `node`; the rank has `part` of the node's time.
run::Replicates replicates_of_rank(const NodeWait& wait, std::uint32_t node, std::int32_t rank, double part);
/// Replicates of an error that is independent for each rank and node.
run::Replicates replicates_of_place(std::uint32_t node, std::int32_t rank, double deviation_s);

/// Whether processes may wait for each other in calls of the function and `wait` does not say for how long.
bool is_untold(const analysis::TreeNode& node, const NodeWait& wait);

}  // namespace refrain::report
