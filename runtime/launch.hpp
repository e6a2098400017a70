#pragma once
/// How this process was started, and the traces of that which its children must not see.

namespace refrain::runtime {

enum class LaunchMode {
  Linked,   ///< the runtime is a needed library of the program, or was preloaded by hand
  Program,  ///< `refrain exec` named this image as the one to measure
  Through,  ///< `refrain exec` started a script, shell or wrapper: wait for an image that needs MPI, or for MPI_Init
};

LaunchMode launch_mode();

/// True when an MPI library is mapped into this process.
bool mpi_is_loaded();

/// World rank that the launcher told in the environment, -1 when it told none.
int rank_by_environment();

/// Takes Refrain's own entries out of the environment (LD_PRELOAD, REFRAIN_INTERNAL_*): children run without us.
void clean_environment();

}  // namespace refrain::runtime
