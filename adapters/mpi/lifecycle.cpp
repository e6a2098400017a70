// The wrappers of the functions that begin and end MPI, written by hand.

#include "measurement/lifecycle.hpp"

#include <cstdarg>

#include "adapters/mpi/communicators.hpp"
#include "adapters/mpi/fortran.hpp"
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

/// These are inlined into the wrappers, whose frames `measured` reads.
template <class Call>
[[gnu::always_inline]] inline int measured_init(measurement::RegionId region, Call&& call) {
  const bool nested = is_nested();
  const int result = measured(region, call, [&](MpiCall&, int result) {
    if (result == MPI_SUCCESS) begin();
  });
  if (result == MPI_SUCCESS && !nested) begin();  // on a thread that is not measured yet
  return result;
}

/// The call is visited, but its time ends with the measurement, before MPI's own work.
template <class Call>
[[gnu::always_inline]] inline int measured_finalize(Call&& call) {
  if (is_nested()) return call();
  measured(
      region::MPI_Finalize, [] { return MPI_SUCCESS; }, [](MpiCall&, int) {});
  end();
  return call();
}

template <class Call>
[[gnu::always_inline]] inline int measured_abort(Call&& call) {
  measured(
      region::MPI_Abort, [] { return MPI_SUCCESS; }, [](MpiCall&, int) {});
  if (lifecycle.mpi_aborting) lifecycle.mpi_aborting();
  return call();
}

}  // namespace
}  // namespace refrain::adapters::mpi

using namespace refrain::adapters::mpi;

extern "C" {

REFRAIN_EXPORT int MPI_Init(int* argc, char*** argv) {
  return measured_init(region::MPI_Init, [&] { return next.MPI_Init(argc, argv); });
}

REFRAIN_EXPORT int PMPI_Init(int* argc, char*** argv) {
  auto call = [&] { return next.PMPI_Init(argc, argv); };
  if (!called_by_fortran(region::MPI_Init, __builtin_return_address(0))) return call();
  return measured_init(region::MPI_Init, call);
}

REFRAIN_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return measured_init(region::MPI_Init_thread, [&] { return next.MPI_Init_thread(argc, argv, required, provided); });
}

REFRAIN_EXPORT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  auto call = [&] { return next.PMPI_Init_thread(argc, argv, required, provided); };
  if (!called_by_fortran(region::MPI_Init_thread, __builtin_return_address(0))) return call();
  return measured_init(region::MPI_Init_thread, call);
}

REFRAIN_EXPORT int MPI_Finalize() {
  return measured_finalize([] { return next.MPI_Finalize(); });
}

REFRAIN_EXPORT int PMPI_Finalize() {
  auto call = [] { return next.PMPI_Finalize(); };
  if (!called_by_fortran(region::MPI_Finalize, __builtin_return_address(0))) return call();
  return measured_finalize(call);
}

REFRAIN_EXPORT int MPI_Abort(MPI_Comm comm, int errorcode) {
  return measured_abort([&] { return next.MPI_Abort(comm, errorcode); });
}

REFRAIN_EXPORT int PMPI_Abort(MPI_Comm comm, int errorcode) {
  auto call = [&] { return next.PMPI_Abort(comm, errorcode); };
  if (!called_by_fortran(region::MPI_Abort, __builtin_return_address(0))) return call();
  return measured_abort(call);
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

/// Open MPI's Fortran function jumps to PMPI_Pcontrol and leaves no frame to be known by (fortran.hpp), so it is
/// wrapped itself, in each spelling of Fortran compilers. It has the level and nothing else.
#define REFRAIN_FORTRAN_PCONTROL(name)                                                                            \
  REFRAIN_EXPORT void name(const MPI_Fint* level) {                                                               \
    measured(                                                                                                     \
        region::MPI_Pcontrol, [&] { return next.MPI_Pcontrol(static_cast<int>(*level)); }, [](MpiCall&, int) {}); \
  }
REFRAIN_FORTRAN_PCONTROL(mpi_pcontrol_)
REFRAIN_FORTRAN_PCONTROL(mpi_pcontrol__)
REFRAIN_FORTRAN_PCONTROL(mpi_pcontrol)
REFRAIN_FORTRAN_PCONTROL(MPI_PCONTROL)
REFRAIN_FORTRAN_PCONTROL(mpi_pcontrol_f08_)
#undef REFRAIN_FORTRAN_PCONTROL

}  // extern "C"
