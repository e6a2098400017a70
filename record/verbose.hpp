#pragma once
/// What REFRAIN_VERBOSE=on says about this process, a few lines on stderr. Ordinary context.

#include "archive/rank_profile.hpp"

namespace refrain::record {

/// Which runtime measures, how it samples and where the results go. `mpi` is what the MPI library calls itself, or
/// null.
void tell_begin(const char* mpi, const char* directory);

/// What rank 0 has written, and what each rank has lost.
void tell_end(const archive::RankRecord& record, const char* directory);

}  // namespace refrain::record
