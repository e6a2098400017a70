// The wrappers of the functions that begin and end MPI, written by hand.

#include "measurement/lifecycle.hpp"

#include <cstdarg>

#include "adapters/mpi/communicators.hpp"
#include "adapters/mpi/peers.hpp"
#include "adapters/mpi/request_table.hpp"
#include "measurement/mpi_call.hpp"
#include "next.hpp"
#include "regions.hpp"

namespace refrain::adapters::mpi {
namespace {

using measurement::Inside;
using measurement::lifecycle;
using measurement::measured;
using measurement::MpiCall;

bool initialized = false;  ///< and not finalized; MPI allows one thread only to change that
measurement::MpiAdapter adapter;
char version[MPI_MAX_LIBRARY_VERSION_STRING];

/// A call from inside another MPI call, or while this thread's measurement has ended.
bool is_nested() {
  const measurement::Location* location = measurement::current_location;
  return location && location->inside.load(std::memory_order_relaxed) != Inside::User;
}

/// MPI has just been initialized by the program's call.
void begin() {
  if (initialized || !lifecycle.mpi_initialized || !open_library()) return;
  initialized = true;
  int length = 0;
  pmpi.Get_library_version(version, &length);
  define_world();
  open_peers();
  adapter = {.library_version = version,
             .region_names = {region_names, region_count},
             .communicators = all_communicators,
             .peers = peers()};
  lifecycle.mpi_initialized(adapter);
}

/// MPI is about to be finalized.
void end() {
  if (!initialized) return;
  initialized = false;
  if (lifecycle.mpi_finalizing) lifecycle.mpi_finalizing(adapter);
  close_peers();
}

}  // namespace
}  // namespace refrain::adapters::mpi

using namespace refrain::adapters::mpi;

extern "C" {

REFRAIN_EXPORT int MPI_Init(int* argc, char*** argv) {
  const bool nested = is_nested();
  const int result = measured(
      region::MPI_Init, [&] { return next.MPI_Init(argc, argv); },
      [&](MpiCall&, int result) {
        if (result == MPI_SUCCESS) begin();
      });
  if (result == MPI_SUCCESS && !nested) begin();  // on a thread that is not measured yet
  return result;
}

REFRAIN_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const bool nested = is_nested();
  const int result = measured(
      region::MPI_Init_thread, [&] { return next.MPI_Init_thread(argc, argv, required, provided); },
      [&](MpiCall&, int result) {
        if (result == MPI_SUCCESS) begin();
      });
  if (result == MPI_SUCCESS && !nested) begin();
  return result;
}

/// The call is visited, but its time ends with the measurement, before MPI's own work.
REFRAIN_EXPORT int MPI_Finalize() {
  if (is_nested()) return next.MPI_Finalize();
  measured(
      region::MPI_Finalize, [] { return MPI_SUCCESS; }, [](MpiCall&, int) {});
  end();
  return next.MPI_Finalize();
}

REFRAIN_EXPORT int MPI_Abort(MPI_Comm comm, int errorcode) {
  measured(
      region::MPI_Abort, [] { return MPI_SUCCESS; }, [](MpiCall&, int) {});
  if (lifecycle.mpi_aborting) lifecycle.mpi_aborting();
  return next.MPI_Abort(comm, errorcode);
}

/// The standard leaves the arguments after `level` to the tool that takes them: as many as fit into registers go on.
REFRAIN_EXPORT int MPI_Pcontrol(const int level, ...) {
  va_list list;
  va_start(list, level);
  void* arguments[5];
  for (void*& argument : arguments) argument = va_arg(list, void*);
  va_end(list);
  return measured(
      region::MPI_Pcontrol,
      [&] { return next.MPI_Pcontrol(level, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]); },
      [](MpiCall&, int) {});
}

}  // extern "C"
