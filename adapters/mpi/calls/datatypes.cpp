#include "adapters/mpi/calls/datatypes.hpp"

namespace refrain::adapters::mpi {

constinit thread_local KnownSize known_sizes[1 << known_size_bits]{};

namespace {
bool is_predefined(MPI_Datatype type) {
  int combiner = -1;
#if MPI_VERSION >= 4
  // The older function rejects types that were made with large counts, and calls the program's error handler.
  if (pmpi.Type_get_envelope_c) {
    MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
    const int result = pmpi.Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
    return result == MPI_SUCCESS && combiner == MPI_COMBINER_NAMED;
  }
#endif
  int integers = 0, addresses = 0, types = 0;
  const int result = pmpi.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return result == MPI_SUCCESS && combiner == MPI_COMBINER_NAMED;
}
}  // namespace

std::int64_t ask_type_size(MPI_Datatype type, KnownSize& known) {
  MPI_Count size = 0;
  if (pmpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0) return 0;
  if (is_predefined(type)) known = {type, size};
  return size;
}

}  // namespace refrain::adapters::mpi
