#include "adapters/mpi/sessions.hpp"

#include <atomic>
#include <cstdlib>

#include "adapters/mpi/library.hpp"
#include "adapters/mpi/lifecycle.hpp"

namespace refrain::adapters::mpi {

namespace {

std::atomic<int> open_sessions{0};  ///< sessions of the program
bool begun = false;                 ///< the measurement began with a communicator made from a session

}  // namespace

void note_session() { open_sessions.fetch_add(1, std::memory_order_relaxed); }

void note_session_end() { open_sessions.fetch_sub(1, std::memory_order_relaxed); }

bool ends_with_session() {
  const bool ends = begun && open_sessions.load(std::memory_order_relaxed) == 1;
  if (ends) begun = false;
  return ends;
}

#if MPI_VERSION < 4

bool begin_with_session(MPI_Comm) { return false; }

#else

namespace {

/// Number of processes of the job; -1: MPI does not tell. It is asked in a session of our own, because the program's
/// open sessions may differ from rank to rank, and all ranks must decide alike.
int processes_of_world() {
  MPI_Session session;
  if (!pmpi.Session_init || !pmpi.Session_finalize || !pmpi.Session_get_pset_info ||
      pmpi.Session_init(MPI_INFO_NULL, constants.errors_return, &session) != MPI_SUCCESS)
    return -1;
  MPI_Info info;
  char text[32] = "";
  int found = 0;
  if (pmpi.Session_get_pset_info(session, "mpi://WORLD", &info) == MPI_SUCCESS) {
    if (pmpi.Info_get(info, "mpi_size", sizeof text - 1, text, &found) != MPI_SUCCESS) found = 0;
    pmpi.Info_free(&info);
  }
  pmpi.Session_finalize(&session);
  return found ? std::atoi(text) : -1;
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
