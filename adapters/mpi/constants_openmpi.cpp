#include <type_traits>

#include "adapters/mpi/library.hpp"

namespace refrain::adapters::mpi {

const char* const library_names[] = {"libmpi.so", nullptr};
const char* const fortran_library_names[] = {"libmpi_mpifh", "libmpi_usempi", nullptr};
const char* const fortran_library_sonames[] = {"libmpi_usempif08.so.40", "libmpi_mpifh.so.40", nullptr};

bool find_constants(Constants& constants, FindSymbol symbol) {
  bool good = true;
  auto find = [&](auto& handle, const char* name) {
    void* found = symbol(name);
    good &= found != nullptr;
    handle = static_cast<std::remove_reference_t<decltype(handle)>>(found);
  };
  find(constants.world, "ompi_mpi_comm_world");
  find(constants.self, "ompi_mpi_comm_self");
  find(constants.no_communicator, "ompi_mpi_comm_null");
  find(constants.byte, "ompi_mpi_byte");
  find(constants.errors_return, "ompi_mpi_errors_return");
  find(constants.no_message, "ompi_message_no_proc");
  find(constants.no_op, "ompi_mpi_op_no_op");
  find(constants.empty_request, "ompi_request_empty");
  constants.isendrecv_tells = true;
  return good;
}

}  // namespace refrain::adapters::mpi
