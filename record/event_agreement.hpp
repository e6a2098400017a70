#pragma once
/// Ranks agree on the iterations of a sample of events that all of them have (events/span_store.hpp): for each loop,
/// those at the highest level that any location of any rank has reached, and of the slowest ones those that most ranks
/// have kept. They also agree on the level of messages that are sampled one by one (events/matched_sample.hpp).

#include <cstdint>

#include "measurement/peers.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

/// Fills in what the record of this rank says about its sample: after the agreement what was agreed on, before it the
/// present state. All locations must be closed or paused. Valid until the next call. Fills in nothing if memory runs
/// out.
void describe_event_sample(RankRecord& record);

/// Whether all ranks have agreed.
bool have_agreed_on_events();

/// Computes one maximum over all ranks, up and down the tree (record/tree_exchange.hpp); then the locations of this
/// rank, which must be closed, drop what other ranks do not have. False: the exchange failed, and nothing was dropped.
bool agree_on_events(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);
/// Takes part in the agreement for a rank that keeps no events.
bool help_to_agree_on_events(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);

}  // namespace refrain::record
