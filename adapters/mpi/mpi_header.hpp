#pragma once
/// mpi.h of the MPI this adapter is built for, C interface only.

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

/// What the program finds in place of MPI's own function.
#define REFRAIN_EXPORT __attribute__((visibility("default")))
