#pragma once
/// How long the call paths of a run have waited for other processes, by the best method that each has:
///
///     events    all events were kept: what the search has found
///     sampled   an estimate from the iterations of which events were kept, where these have calls of the call path
///     matched   an estimate from messages that were sampled one by one, where too little of a call path was kept
///     minimum   what calls took longer than short ones of their kind (waits/estimate.hpp): known of every run
///
/// The first that there is counts, as it knows both ends of messages. Events count when they tell of at least half of a
/// call path's time for how long its calls have waited: those that were not kept tell nothing, nor do those of messages
/// and collective operations of which the other ends are not known. The rest is taken to have waited in the same part
/// of its time, with the error of a part that may be any.
///
/// A NodeWait is an estimate: waiting of several nodes is their sum, and its error that of the sum (run::Estimate).
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
  double confidence = 0;                   ///< from 0, it says nothing, to 1
  double known_s = 0;                      ///< time of the calls of which the method tells
  double events_known_s = 0;               ///< ... of which events tell, whatever the method is
  std::string kind;                        ///< the pattern that has most of it; empty: of none
  std::optional<double> searched_s;        ///< what iterations that were kept say, or all events
  std::optional<double> matched_s;         ///< what messages that were sampled one by one say
  std::optional<waits::Estimate> minimum;  ///< nothing: who waits in these calls is not known
  std::map<std::int32_t, double> by_rank;  ///< of `seconds`, of events and samples of them
  /// Whether `replicates` are known by rank: their sum, with those of time of which nothing is known at any rank.
  bool has_replicates_by_rank = false;
  std::map<std::int32_t, run::Replicates> replicates_by_rank;
  run::Replicates replicates_of_rest;
};
/// What is known of so much of a call path's time is known of all of it.
inline constexpr double nearly_all_known = 0.98;
/// "events", "sampled", "matched", "minimum"; "": it is not known.
const char* name_of(NodeWait::Method method);

/// By node of the tree, exclusive, never more than its time. `in_events`, `minima`: null: not known.
std::vector<NodeWait> waits_of(const analysis::CallTree& tree, const patterns::PathWaits* in_events,
                               const analysis::MinimumWaits* minima);
/// Empty: nothing is known of this document.
std::vector<NodeWait> waits_of(const Document& document);

/// By durations of calls, which have bounds.
run::Estimate estimate_of(const waits::Estimate& minimum);
/// Those of a rank in the calls of `node`, of which the rank has `part` of the time.
run::Replicates replicates_of_rank(const NodeWait& wait, std::uint32_t node, std::int32_t rank, double part);
/// Of what may be off at the rank and node by themselves.
run::Replicates replicates_of_place(std::uint32_t node, std::int32_t rank, double deviation_s);

/// Processes may wait for each other in calls of the function, and `wait` does not say for how long.
bool is_untold(const analysis::TreeNode& node, const NodeWait& wait);

}  // namespace refrain::report
