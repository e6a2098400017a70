#pragma once
/// mpi.h of the MPI that this adapter is built for; the C interface only.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

/// Makes a function visible to the program, which calls it in place of MPI's.
#define REFRAIN_EXPORT __attribute__((visibility("default")))
