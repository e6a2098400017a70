#pragma once
/// The experiment directory of this job as the runtime uses it. Ordinary context, one thread at a time.

#include "archive/rank_profile.hpp"
#include "config/configuration.hpp"
#include "measurement/peers.hpp"
#include "runtime/calibration.hpp"

namespace refrain::runtime {

enum class Ending {
  Complete,    ///< MPI_Finalize, or the ordinary end of a program without MPI
  Incomplete,  ///< the process ends without MPI_Finalize: it writes what it has, alone
};

/// Rank 0 makes the directory and its manifest (state "running"); all ranks learn its name. False: there is none, which
/// rank 0 has said in one line; the job goes on unmeasured.
bool open_experiment(const config::Configuration& configuration, const measurement::Peers& peers,
                     const char* mpi_library);

/// Where the experiment of this job is, as an absolute path; empty as long as there is none.
const char* experiment_directory();

/// Writes the profile, with the peers' when the ending is complete, and the final manifest. At most one line on stderr.
void write_experiment(const config::Configuration& configuration, const Calibration& calibration,
                      const archive::RankRecord& record, const measurement::Peers& peers, Ending ending);

}  // namespace refrain::runtime
