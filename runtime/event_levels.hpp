#pragma once
/// Which iterations of a sample of events all ranks have (events/span_store.hpp): of each loop those at the highest
/// level that any location of any rank has come to.

#include <cstdint>
#include <span>

#include "archive/rank_profile.hpp"
#include "measurement/peers.hpp"

namespace refrain::runtime {

/// Of this rank: for each loop the highest level of its locations. The locations are closed or paused.
std::span<const archive::EventLevel> own_event_levels();

/// One maximum over all ranks, up and down the tree (archive/tree_exchange.hpp); then the locations of this rank drop
/// what other ranks do not have. They are closed. False: the exchange failed, and nothing was dropped.
bool agree_on_event_levels(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);
/// The part of a rank that keeps no events.
bool help_to_agree_on_event_levels(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);

}  // namespace refrain::runtime
