#pragma once
/// The experiment directory of this job as the runtime uses it. Ordinary context, one thread at a time.

#include <cstdint>

#include "archive/rank_profile.hpp"
#include "guest/callbacks.hpp"
#include "measurement/peers.hpp"

namespace refrain::record {

/// So many seconds from now, on the monotonic clock: what exchanges with other ranks take.
std::int64_t deadline_in(std::int64_t seconds);

/// Rank 0 makes the directory and its manifest (state "running"); all ranks learn its name. False: there is none, which
/// rank 0 has said in one line; the job goes on unmeasured.
bool open_experiment(const char* mpi_library);

/// What an unmeasured rank does in MPI_Init, so that measured ones need not wait for it. True: there is an experiment.
/// `is_off`: by REFRAIN_ENABLE.
bool decline_experiment(const measurement::Peers& peers, bool is_off);
/// What an unmeasured rank does in MPI_Finalize: it takes part as a rank without data.
void write_nothing(const measurement::Peers& peers);

/// Whether the ranks agree on a sample of events at the end, as rank 0 has told with the name of the experiment.
bool events_are_agreed_on();

/// Whether they compare the clocks of their machines, likewise.
bool clocks_are_compared();

/// Writes the profile, with the peers' when the ending is complete, and the final manifest if it is the end. At most
/// one line on stderr. False: this rank's data was not written.
bool write_experiment(const archive::RankRecord& record, const measurement::Peers& peers, guest::Ending ending);

}  // namespace refrain::record
