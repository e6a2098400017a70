#pragma once
/// How the clocks of the machines of a job stand to each other: measured in MPI_Init and in MPI_Finalize, along the
/// tree of ranks (record/tree_exchange.hpp), wherever a rank and the one above it have different clocks. Offline a
/// straight line between both measurements corrects the times of events.
///
/// The rank below asks for the time again and again; what lies between question and answer bounds the error, so the
/// quickest answer counts (F. Cristian, Probabilistic clock synchronization, 1989).

#include <cstdint>
#include <span>

#include "measurement/peers.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

/// What tells this clock from those of other machines: the start of this kernel, and the namespace of time. Where the
/// kernel tells neither, the host name.
std::uint64_t identity_of_clock();

/// All ranks call it, in the same order as their other exchanges. False: not all ranks below this one have answered
/// before the deadline, or MPI failed; nothing may be exchanged afterwards.
bool measure_clock_offset(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);

/// Of this rank, one for each measurement; none where the rank above has the same clock.
std::span<const ClockOffset> clock_offsets();

}  // namespace refrain::record
