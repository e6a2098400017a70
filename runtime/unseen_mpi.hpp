#pragma once
/// Detects MPI that a process has used although none of its calls reached Refrain's wrappers.

namespace refrain::runtime {

/// For the end of a process whose MPI_Init was not seen. If MPI was used, reports that and its cause in one line for
/// the whole job and returns true. Ordinary context.
bool tell_unseen_mpi();

/// Whether an MPI library is loaded, in any namespace of the dynamic linker (dlmopen). Ordinary context.
bool mpi_is_in_a_namespace();

}  // namespace refrain::runtime
