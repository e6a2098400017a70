#pragma once
/// The experiment of this job: its directory, its manifest, and what its ranks tell each other about it. Ordinary
/// context, one thread at a time.

#include <cstdint>

#include "config/configuration.hpp"
#include "measurement/peers.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

enum class Ending : std::uint8_t {
  Complete,  ///< MPI_Finalize, or the ordinary end of a program without MPI: all ranks write together
  Left,      ///< the process ends by its own will without MPI_Finalize: it writes its data alone
  Killed,    ///< a signal ends the process: it writes its data alone
  Warned,    ///< a signal announced the end: the process writes its data alone, and goes on
};

/// The time `seconds` from now on the monotonic clock, in nanoseconds: a deadline for exchanges with other ranks.
std::int64_t deadline_in(std::int64_t seconds);

/// Rank 0 makes the directory and its manifest (state "running"); all ranks learn its name. `mpi_library` is the
/// version string of MPI, empty before MPI_Init. `why_not_the_task_clock` says why the timer makes the samples, and is
/// empty if the task clock does; it must stay valid until exit. False: there is no experiment, rank 0 has said so in
/// one line, and the job runs unmeasured.
bool open_experiment(const config::Configuration& configuration, const measurement::Peers& peers,
                     const char* mpi_library, const char* why_not_the_task_clock);

/// Takes part in MPI_Init for an unmeasured rank, so that measured ones need not wait for it. `is_off`: it is
/// unmeasured because of REFRAIN_ENABLE. True: there is an experiment.
bool decline_experiment(const measurement::Peers& peers, bool is_off);
/// Takes part in MPI_Finalize for an unmeasured rank: as a rank without data.
void write_nothing(const measurement::Peers& peers);

/// In MPI_Init: compares the clocks of the machines, if rank 0 announced it with the name of the experiment. False: the
/// exchange failed, and nothing may be exchanged afterwards.
bool compare_clocks(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);
/// In MPI_Finalize: compares the clocks again, then agrees on a sample of events if that was announced. False: as
/// above.
bool agree_with_peers(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);

/// The absolute path of this job's experiment; empty while there is none.
const char* experiment_directory();
/// The number of this process among the ranks of the experiment.
int rank_in_experiment();
/// The number of a process in an experiment of its own.
inline constexpr int rank_before_mpi = 0;
/// The experiment that this process had for itself until the ranks opened theirs, if it is a different one; else null.
const char* experiment_before_mpi();

/// Writes the profile, together with the peers if the ending is complete, and the final manifest if this is the end. A
/// complete profile replaces this rank's part file. Prints at most one line on stderr. False: this rank's data was not
/// written.
bool write_experiment(const config::Configuration& configuration, const RankRecord& record,
                      const measurement::Peers& peers, Ending ending);

}  // namespace refrain::record
