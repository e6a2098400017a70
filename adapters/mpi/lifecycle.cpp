// The wrappers of the functions that begin and end MPI, and of MPI_Pcontrol, written by hand.

#include "measurement/lifecycle.hpp"

#include <atomic>
#include <cstdarg>

#include "adapters/mpi/calls/fortran.hpp"
#include "adapters/mpi/calls/fortran_symbols.hpp"
#include "adapters/mpi/identities/communications.hpp"
#include "adapters/mpi/identities/communicators.hpp"
#include "adapters/mpi/identities/windows.hpp"
#include "adapters/mpi/missing.hpp"
#include "adapters/mpi/peers.hpp"
#include "adapters/mpi/requests/request_table.hpp"
#include "adapters/mpi/sessions.hpp"
#include "measurement/mpi_call.hpp"
#include "next.hpp"
#include "platform/floating_point.hpp"
#include "regions.hpp"

namespace refrain::adapters::mpi {
namespace {

using measurement::Inside;
using measurement::lifecycle;
using measurement::measured;
using measurement::MpiCall;
using platform::Registers;

std::atomic<bool> initialized{false};  ///< and not finalized
measurement::MpiAdapter adapter;
char version[MPI_MAX_LIBRARY_VERSION_STRING];

/// Where the thread is that makes a call, after leaving a call that it has abandoned.
Inside place_of(const Registers& caller) {
  measurement::Location* location = measurement::own_location();
  if (!location) return Inside::User;
  const Inside inside = location->inside.load(std::memory_order_relaxed);
  return inside == Inside::User || leave_abandoned_scope(*location, caller) ? Inside::User : inside;
}

}  // namespace

bool may_begin_mpi() {
  return !initialized.load(std::memory_order_relaxed) && lifecycle.mpi_initialized && open_library();
}

void prepare_for_mpi() {
  if (!initialized.load(std::memory_order_relaxed) && lifecycle.mpi_begins && open_library()) lifecycle.mpi_begins();
}

bool begin_mpi(MPI_Comm world) {
  if (initialized.exchange(true)) return false;
  const platform::OwnFloatingPoint own_environment;  // for what MPI computes when it is called by Refrain, too
  int length = 0;
  pmpi.Get_library_version(version, &length);
  define_world(world);
  start_numbering();
  open_peers(world, lifecycle.peers_are_late.get());
  adapter = {.library_version = version,
             .communicators = all_communicators,
             .windows = all_windows,
             .window_traffic = all_window_traffic,
             .peers = peers()};
  lifecycle.mpi_initialized(adapter);
  return true;
}

void end_mpi() {
  if (!initialized.exchange(false)) return;
  const platform::OwnFloatingPoint own_environment;
  if (measurement::Location* location = measurement::own_location())
    for (std::uint64_t left = request_table.active(); left > 0; --left)
      location->count_loss(measurement::Loss::RequestLeft);
  lifecycle.mpi_finalizing(adapter);
  close_peers();
  forget_world();
}

namespace {

/// MPI has just been initialized by the program's call.
void begin() {
  if (may_begin_mpi()) begin_mpi(constants.world);
}

/// `caller`: registers where the program made the call.
template <class Call>
int measured_init(const Registers& caller, measurement::RegionId region, Call&& call) {
  const bool nested = place_of(caller) != Inside::User;
  if (!nested) prepare_for_mpi();
  const int result = measured(
      caller, region, [] {}, call,
      [&](MpiCall&, int result) {
        if (result == MPI_SUCCESS) begin();
      });
  if (result == MPI_SUCCESS && !nested) begin();  // on a thread that is not measured yet
  return result;
}

/// The call is visited, but its time ends with the measurement, before MPI's own work. From within an MPI call (an
/// error handler may end MPI) it ends the measurement all the same: that call is counted as far as it had come.
template <class Call>
int measured_finalize(const Registers& caller, Call&& call) {
  const Inside place = place_of(caller);
  if (place != Inside::User && place != Inside::Call) return call();
  measured(
      caller, region::MPI_Finalize, [] {}, [] { return MPI_SUCCESS; }, [](MpiCall&, int) {});
  end_mpi();
  return call();
}

template <class Call>
int measured_abort(const Registers& caller, Call&& call) {
  measured(
      caller, region::MPI_Abort, [] {}, [] { return MPI_SUCCESS; }, [](MpiCall&, int) {});
  lifecycle.mpi_aborting();
  return call();
}

/// 0 stops the measurement of the process, 1 resumes it; the standard leaves the rest to the tool.
template <class Call>
int measured_control(const Registers& caller, int level, Call&& call) {
  return measured(
      caller, region::MPI_Pcontrol, [] {}, call,
      [level](MpiCall&, int) {
        if (level == 0 || level == 1) lifecycle.measurement_wanted(level == 1);
      });
}

}  // namespace

int call_fortran_lifecycle(measurement::RegionId region, const Registers& caller, int (*pass_on)(void*), void* state) {
  const auto call = [&] { return pass_on(state); };
  if (region == region::MPI_Finalize) return measured_finalize(caller, call);
  if (region == region::MPI_Abort) return measured_abort(caller, call);
  return measured_init(caller, region, call);
}

void call_fortran_control(int level, const Registers& caller, void (*pass_on)(void*), void* state) {
  measured_control(caller, level, [&] {
    pass_on(state);
    return MPI_SUCCESS;
  });
}

}  // namespace refrain::adapters::mpi

using namespace refrain::adapters::mpi;
using refrain::measurement::calling_registers;

extern "C" {

REFRAIN_EXPORT int MPI_Init(int* argc, char*** argv) {
  return measured_init(calling_registers(), region::MPI_Init, [&] { return next.MPI_Init(argc, argv); });
}

REFRAIN_EXPORT int PMPI_Init(int* argc, char*** argv) {
  auto call = [&] { return next.PMPI_Init(argc, argv); };
  if (!called_by_layer(region::MPI_Init, __builtin_return_address(0))) return call();
  return measured_init(calling_registers(), region::MPI_Init, call);
}

REFRAIN_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return measured_init(calling_registers(), region::MPI_Init_thread,
                       [&] { return next.MPI_Init_thread(argc, argv, required, provided); });
}

REFRAIN_EXPORT int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  auto call = [&] { return next.PMPI_Init_thread(argc, argv, required, provided); };
  if (!called_by_layer(region::MPI_Init_thread, __builtin_return_address(0))) return call();
  return measured_init(calling_registers(), region::MPI_Init_thread, call);
}

REFRAIN_EXPORT int MPI_Finalize() {
  return measured_finalize(calling_registers(), [] { return next.MPI_Finalize(); });
}

REFRAIN_EXPORT int PMPI_Finalize() {
  auto call = [] { return next.PMPI_Finalize(); };
  if (!called_by_layer(region::MPI_Finalize, __builtin_return_address(0))) return call();
  return measured_finalize(calling_registers(), call);
}

REFRAIN_EXPORT int MPI_Abort(MPI_Comm comm, int errorcode) {
  return measured_abort(calling_registers(), [&] { return next.MPI_Abort(comm, errorcode); });
}

REFRAIN_EXPORT int PMPI_Abort(MPI_Comm comm, int errorcode) {
  auto call = [&] { return next.PMPI_Abort(comm, errorcode); };
  if (!called_by_layer(region::MPI_Abort, __builtin_return_address(0))) return call();
  return measured_abort(calling_registers(), call);
}

/// The standard leaves the arguments after `level` to the tool that takes them: as many as fit into registers go on.
#define REFRAIN_COLLECT_ARGUMENTS(level)                            \
  va_list list;                                                     \
  va_start(list, level);                                            \
  void* arguments[5];                                               \
  for (void*& argument : arguments) argument = va_arg(list, void*); \
  va_end(list);

REFRAIN_EXPORT int MPI_Pcontrol(const int level, ...) {
  REFRAIN_COLLECT_ARGUMENTS(level)
  return measured_control(calling_registers(), level, [&] {
    return next.MPI_Pcontrol(level, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
  });
}

REFRAIN_EXPORT int PMPI_Pcontrol(const int level, ...) {
  REFRAIN_COLLECT_ARGUMENTS(level)
  auto call = [&] {
    const auto next_one = reinterpret_cast<decltype(&::PMPI_Pcontrol)>(next_function("PMPI_Pcontrol"));
    if (!next_one) end_without_function("PMPI_Pcontrol");
    return next_one(level, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
  };
  if (!called_by_layer(region::MPI_Pcontrol, __builtin_return_address(0))) return call();
  return measured_control(calling_registers(), level, call);
}
#undef REFRAIN_COLLECT_ARGUMENTS

}  // extern "C"
