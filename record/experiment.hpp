#pragma once
/// The experiment of this job: its directory, its manifest, and what its ranks tell each other of it. Ordinary context,
/// one thread at a time.

#include <cstdint>

#include "config/configuration.hpp"
#include "measurement/peers.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

enum class Ending : std::uint8_t {
  Complete,  ///< MPI_Finalize, or the ordinary end of a program without MPI: all ranks write together
  Left,      ///< the process ends by its own will, without MPI_Finalize: it writes what it has, alone
  Killed,    ///< the same, it dies of a signal
  Warned,    ///< a signal announced the end: it writes what it has, and goes on
};

/// So many seconds from now, on the monotonic clock: what exchanges with other ranks take.
std::int64_t deadline_in(std::int64_t seconds);

/// Rank 0 makes the directory and its manifest (state "running"); all ranks learn its name. `mpi_library`: what MPI
/// calls itself; empty before MPI_Init. `why_not_the_task_clock`: samples are made by the timer; empty: they are not;
/// valid to the end. False: there is no experiment, which rank 0 has said in one line; the job goes on unmeasured.
bool open_experiment(const config::Configuration& configuration, const measurement::Peers& peers,
                     const char* mpi_library, const char* why_not_the_task_clock);

/// What an unmeasured rank does in MPI_Init, so that measured ones need not wait for it. True: there is an experiment.
/// `is_off`: by REFRAIN_ENABLE.
bool decline_experiment(const measurement::Peers& peers, bool is_off);
/// What an unmeasured rank does in MPI_Finalize: it takes part as a rank without data.
void write_nothing(const measurement::Peers& peers);

/// In MPI_Init: compares the clocks of the machines, if rank 0 has told so with the name of the experiment. False: the
/// exchange failed, and nothing may be exchanged afterwards.
bool compare_clocks(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);
/// In MPI_Finalize: the same, and then agrees on a sample of events, likewise.
bool agree_with_peers(const measurement::Peers& peers, std::int64_t deadline_monotonic_ns);

/// Where the experiment of this job is, as an absolute path; empty as long as there is none.
const char* experiment_directory();
/// Which of its ranks this process is.
int rank_in_experiment();
/// Which one it is in an experiment of its own.
inline constexpr int rank_before_mpi = 0;
/// The one that this process had for itself when the ranks opened theirs, if that is another; else null.
const char* experiment_before_mpi();

/// Writes the profile, with the peers' when the ending is complete, and the final manifest if it is the end. A
/// profile that is whole takes the place of this rank's part file. At most one line on stderr. False: this rank's data
/// was not written.
bool write_experiment(const config::Configuration& configuration, const RankRecord& record,
                      const measurement::Peers& peers, Ending ending);

}  // namespace refrain::record
