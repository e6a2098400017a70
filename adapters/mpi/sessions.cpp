#include "adapters/mpi/sessions.hpp"

#include <cstdlib>

#include "adapters/mpi/calls/fortran.hpp"
#include "adapters/mpi/library.hpp"
#include "measurement/mpi_call.hpp"
#include "next.hpp"
#include "regions.hpp"

namespace refrain::adapters::mpi {

#if MPI_VERSION < 4

bool begin_with_session(MPI_Comm) { return false; }

#else

namespace {

std::atomic<int> open_sessions{0};  ///< of the program
bool begun = false;                 ///< the measurement began with a communicator of a session

template <class Function>
Function own_function(const char* name, Function) {
  return reinterpret_cast<Function>(next_function(name));
}

/// Number of processes of the job, -1 when MPI does not tell. Asked in a session of our own: which sessions the program
/// has open may differ from rank to rank, and all ranks must decide alike.
int processes_of_world() {
  const auto init = own_function("PMPI_Session_init", &::PMPI_Session_init);
  const auto finalize = own_function("PMPI_Session_finalize", &::PMPI_Session_finalize);
  const auto get_info = own_function("PMPI_Session_get_pset_info", &::PMPI_Session_get_pset_info);
  const auto get = own_function("PMPI_Info_get", &::PMPI_Info_get);
  const auto free = own_function("PMPI_Info_free", &::PMPI_Info_free);
  MPI_Session session;
  if (!init || !finalize || !get_info || !get || !free ||
      init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS)
    return -1;
  MPI_Info info;
  char text[32] = "";
  int found = 0;
  if (get_info(session, "mpi://WORLD", &info) == MPI_SUCCESS) {
    if (get(info, "mpi_size", sizeof text - 1, text, &found) != MPI_SUCCESS) found = 0;
    free(&info);
  }
  finalize(&session);
  return found ? std::atoi(text) : -1;
}

/// Open sessions are counted on threads, too, that are not measured.
template <class Call>
[[gnu::always_inline]] inline int measured_session_init(Call&& call) {
  prepare_for_mpi();
  const int result = measurement::measured(region::MPI_Session_init, call, [](measurement::MpiCall&, int) {});
  if (result == MPI_SUCCESS) open_sessions.fetch_add(1, std::memory_order_relaxed);
  return result;
}

/// The visit of the call that closes the last session is counted, but its time ends with the measurement.
template <class Call>
[[gnu::always_inline]] inline int measured_session_finalize(Call&& call) {
  int result;
  if (begun && open_sessions.load(std::memory_order_relaxed) == 1) {
    measurement::measured(
        region::MPI_Session_finalize, [] { return MPI_SUCCESS; }, [](measurement::MpiCall&, int) {});
    begun = false;
    end_mpi();
    result = call();
  } else {
    result = measurement::measured(region::MPI_Session_finalize, call, [](measurement::MpiCall&, int) {});
  }
  if (result == MPI_SUCCESS) open_sessions.fetch_sub(1, std::memory_order_relaxed);
  return result;
}

}  // namespace

bool begin_with_session(MPI_Comm made) {
  if (!may_begin_mpi() || made == constants.no_communicator) return false;
  int size = 0, inter = 0;
  if (pmpi.Comm_test_inter(made, &inter) != MPI_SUCCESS || inter || pmpi.Comm_size(made, &size) != MPI_SUCCESS ||
      size != processes_of_world())
    return false;
  if (!begin_mpi(made)) return false;  // another thread was first
  return begun = true;
}

#endif

}  // namespace refrain::adapters::mpi

#if MPI_VERSION >= 4

using namespace refrain::adapters::mpi;

extern "C" {

REFRAIN_EXPORT int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  return measured_session_init([&] { return next.MPI_Session_init(info, errhandler, session); });
}

REFRAIN_EXPORT int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  auto call = [&] { return next.PMPI_Session_init(info, errhandler, session); };
  if (!called_by_layer(region::MPI_Session_init, __builtin_return_address(0))) return call();
  return measured_session_init(call);
}

REFRAIN_EXPORT int MPI_Session_finalize(MPI_Session* session) {
  return measured_session_finalize([&] { return next.MPI_Session_finalize(session); });
}

REFRAIN_EXPORT int PMPI_Session_finalize(MPI_Session* session) {
  auto call = [&] { return next.PMPI_Session_finalize(session); };
  if (!called_by_layer(region::MPI_Session_finalize, __builtin_return_address(0))) return call();
  return measured_session_finalize(call);
}

}  // extern "C"

#endif
