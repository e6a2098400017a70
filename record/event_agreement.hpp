#pragma once
/// Which iterations of a sample of events all ranks have (events/span_store.hpp): of each loop those at the highest
/// level that any location of any rank has come to, and of the slowest ones those that most ranks have kept. So it is
/// with the messages that are sampled one by one (events/matched_sample.hpp).

#include <cstdint>

#include "measurement/peers.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

/// Fills in what the record of this rank says of its sample, as it is now: the locations are closed or paused. After
/// the ranks have agreed, what they have agreed on. Valid until the next call. Nothing: no memory.
void describe_event_sample(RankRecord& record);

/// Whether all ranks have agreed.
bool have_agreed_on_events();

/// One maximum over all ranks, up and down the tree (record/tree_exchange.hpp); then the locations of this rank drop
/// what other ranks do not have. They are closed. False: the exchange failed, and nothing was dropped.
bool agree_on_events(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);
/// The part of a rank that keeps no events.
bool help_to_agree_on_events(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);

}  // namespace refrain::record
