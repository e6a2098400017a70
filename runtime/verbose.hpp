#pragma once
/// What REFRAIN_VERBOSE=on says about this process, a few lines on stderr. Ordinary context.

#include "config/configuration.hpp"
#include "record/rank_profile.hpp"

namespace refrain::runtime {

/// Which runtime measures, how it samples and where the results go. `mpi` is what the MPI library calls itself, or
/// null.
void tell_begin(const config::Configuration& configuration, const char* mpi, const char* directory);

/// What rank 0 has written, and what each rank has lost.
void tell_end(const record::RankRecord& record, const char* directory);

}  // namespace refrain::runtime
