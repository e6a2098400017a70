#include "adapters/mpi/library.hpp"

namespace refrain::adapters::mpi {

const char* const library_names[] = {"libmpich.so", "libmpi.so", "libmpi_gnu", "libmpi_cray", nullptr};
const char* const fortran_library_names[] = {"libmpichfort", "libmpifort", nullptr};
const char* const fortran_library_sonames[] = {"libmpichfort.so.12", "libmpifort.so.12", nullptr};

bool find_constants(Constants& constants, FindSymbol symbol) {
  // MPICH 4.0 does not fill in the status of MPI_Isendrecv's request.
  constants = {MPI_COMM_WORLD,      MPI_COMM_SELF, MPI_COMM_NULL, MPI_BYTE,        MPI_ERRORS_RETURN,
               MPI_MESSAGE_NO_PROC, MPI_NO_OP,     false,         MPI_REQUEST_NULL};
  // Every MPICH has this name; Open MPI does not.
  return symbol("MPI_UNWEIGHTED") != nullptr;
}

}  // namespace refrain::adapters::mpi
