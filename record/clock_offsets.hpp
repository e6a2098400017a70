#pragma once
/// Measures the offsets between the clocks of a job's machines, in MPI_Init and in MPI_Finalize, along the tree of
/// ranks (record/tree_exchange.hpp), wherever a rank and its parent have different clocks. Offline, a straight line
/// between the two measurements corrects the times of events.
///
/// The child asks for the time repeatedly. The round trip bounds the error, so the quickest answer is used (F.
/// Cristian, Probabilistic clock synchronization, 1989).

#include <cstdint>
#include <span>

#include "measurement/peers.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

/// Identifies this machine's clock: a hash of the kernel's boot id and of the time namespace. If the kernel tells
/// neither, of the host name.
std::uint64_t identity_of_clock();

/// Collective: all ranks call it in the same order as their other exchanges. False: a rank below this one did not
/// answer before the deadline, or MPI failed; nothing may be exchanged afterwards.
bool measure_clock_offset(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);

/// Offsets of this rank, one for each measurement; none if the parent has the same clock.
std::span<const ClockOffset> clock_offsets();

}  // namespace refrain::record
