#pragma once
/// Writes the measurement into the experiment directory. docs/file-format.md has the format and the protocol of the
/// ranks. Runtime half; ordinary context, one thread per process.
///
/// Nothing here crashes, prints, leaves a descriptor open, changes errno or outlasts the deadline (except in system
/// calls on a file system that hangs). Memory comes from mapped pages and is given back.

#include <cstdint>

#include "measurement/peers.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

struct WriteOutcome {
  bool written;     ///< this rank's data is in the experiment directory
  bool in_part;     ///< it is in a part file
  bool complete;    ///< on rank 0: the data of every rank is in profile.refrain
  char line[1024];  ///< for stderr, without newline; empty if there is nothing to say, or if rank 0 says it
};

/// Collective over the job: all ranks call it with the same directory and about the same deadline, and write one
/// profile.refrain in parallel. If an exchange fails or profile.refrain cannot be written, each rank writes a part file
/// instead, as write_part() does.
WriteOutcome write_profile(const RankRecord& record, const measurement::Peers& peers, const char* directory,
                           std::int64_t deadline_monotonic_ns);

/// Writes part-<rank>.refrain, a profile of this rank alone, and puts it in place in one step. For a process that ends
/// without MPI_Finalize.
WriteOutcome write_part(const RankRecord& record, const char* directory);

/// Removes the part file of this rank.
void remove_part(const char* directory, std::int32_t rank);

}  // namespace refrain::record
