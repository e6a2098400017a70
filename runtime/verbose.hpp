#pragma once
/// The lines that REFRAIN_VERBOSE=on prints about this process on stderr. Ordinary context.

#include "config/configuration.hpp"
#include "record/rank_profile.hpp"

namespace refrain::runtime {

/// Prints which runtime measures, how it samples and where the results go. `mpi` is the version string of the MPI
/// library, or null.
void tell_begin(const config::Configuration& configuration, const char* mpi, const char* directory);

/// Prints what rank 0 has written, and what each rank has lost.
void tell_end(const record::RankRecord& record, const char* directory);

}  // namespace refrain::runtime
