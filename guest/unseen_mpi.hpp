#pragma once
/// MPI that a process has used although none of its calls came to Refrain's wrappers.

namespace refrain::guest {

/// Says so in one line, for the whole job, and why. False: there was none. For the end of a process whose MPI_Init was
/// not seen. Ordinary context.
bool tell_unseen_mpi();

/// An MPI library is loaded, in any namespace of the dynamic linker (dlmopen). Ordinary context.
bool mpi_is_in_a_namespace();

}  // namespace refrain::guest
