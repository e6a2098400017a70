#include "adapters/mpi/datatypes.hpp"

namespace refrain::adapters::mpi {

constinit thread_local KnownSize known_sizes[1 << known_size_bits]{};

std::int64_t ask_type_size(MPI_Datatype type, KnownSize& known) {
  MPI_Count size = 0;
  if (pmpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
  int integers = 0, addresses = 0, types = 0, combiner = -1;
  if (pmpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
      combiner == MPI_COMBINER_NAMED)
    known = {type, size};
  return size;
}

}  // namespace refrain::adapters::mpi
