#include "adapters/mpi/lifecycle.hpp"

#include <atomic>
#include <cstdarg>

#include "adapters/mpi/calls/fortran.hpp"
#include "adapters/mpi/identities/communications.hpp"
#include "adapters/mpi/identities/communicators.hpp"
#include "adapters/mpi/identities/windows.hpp"
#include "adapters/mpi/library.hpp"
#include "adapters/mpi/missing.hpp"
#include "adapters/mpi/peers.hpp"
#include "adapters/mpi/requests/request_table.hpp"
#include "adapters/mpi/sessions.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/floating_point.hpp"
#include "regions.hpp"

namespace refrain::adapters::mpi {
namespace {

using measurement::Inside;
using measurement::lifecycle;
using measurement::measured;
using measurement::MpiCall;
using platform::Registers;

std::atomic<bool> initialized{false};  ///< MPI has begun, and has not been finalized
measurement::MpiAdapter adapter;
char version[MPI_MAX_LIBRARY_VERSION_STRING];

/// Where the calling thread is, after leaving a scope that it has abandoned.
Inside inside_of(const Registers& caller) {
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
  const platform::OwnFloatingPoint own_environment;  // also for what MPI computes when Refrain calls it
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
    location->add_loss(
        measurement::Loss::RequestLeft,
        static_cast<std::int64_t>(request_table.count([](const TrackedRequest& of) { return of.active; })));
  lifecycle.mpi_finalizing(adapter);
  close_peers();
  forget_world();
}

namespace {

constexpr auto nothing_before = [] {};
constexpr auto nothing_after = [](MpiCall&, int) {};

/// Counts a visit of the call without time: the measurement ends with it, before MPI's own work.
void visit(const Registers& caller, measurement::RegionId region) {
  measured(
      caller, region, nothing_before, [] { return MPI_SUCCESS; }, nothing_after);
}

/// The program's call has just initialized MPI.
void begin() {
  if (may_begin_mpi()) begin_mpi(constants.world);
}

int measured_init(const Registers& caller, measurement::RegionId region, PassOn call) {
  const bool nested = inside_of(caller) != Inside::User;
  if (!nested) prepare_for_mpi();
  const int result = measured(caller, region, nothing_before, call, [](MpiCall&, int result) {
    if (result == MPI_SUCCESS) begin();
  });
  if (result == MPI_SUCCESS && !nested) begin();  // the thread was not measured when the call began
  return result;
}

/// Called inside another MPI call (an error handler may end MPI) it ends the measurement, too: that call counts up to
/// now.
int measured_finalize(const Registers& caller, PassOn call) {
  const Inside inside = inside_of(caller);
  if (inside == Inside::User || inside == Inside::Call) {
    visit(caller, region::MPI_Finalize);
    end_mpi();
  }
  return call();
}

int measured_abort(const Registers& caller, PassOn call) {
  visit(caller, region::MPI_Abort);
  lifecycle.mpi_aborting();
  return call();
}

/// Open sessions are counted on unmeasured threads, too.
int measured_session_init(const Registers& caller, PassOn call) {
  prepare_for_mpi();
  const int result = measured(caller, region::MPI_Session_init, nothing_before, call, nothing_after);
  if (result == MPI_SUCCESS) note_session();
  return result;
}

int measured_session_finalize(const Registers& caller, PassOn call) {
  int result;
  if (ends_with_session()) {
    visit(caller, region::MPI_Session_finalize);
    end_mpi();
    result = call();
  } else {
    result = measured(caller, region::MPI_Session_finalize, nothing_before, call, nothing_after);
  }
  if (result == MPI_SUCCESS) note_session_end();
  return result;
}

}  // namespace

int call_lifecycle(measurement::RegionId region, const Registers& caller, PassOn call) {
  if (region == region::MPI_Finalize) return measured_finalize(caller, call);
  if (region == region::MPI_Abort) return measured_abort(caller, call);
  if (region == region::MPI_Session_init) return measured_session_init(caller, call);
  if (region == region::MPI_Session_finalize) return measured_session_finalize(caller, call);
  return measured_init(caller, region, call);
}

/// Level 0 stops the measurement of the process, 1 resumes it. The standard leaves other levels to the tool.
int call_control(int level, const Registers& caller, PassOn call) {
  return measured(caller, region::MPI_Pcontrol, nothing_before, call, [level](MpiCall&, int) {
    if (level == 0 || level == 1) lifecycle.measurement_wanted(level == 1);
  });
}

namespace {

using Control = int(int, ...);
std::atomic<Control*> next_control{nullptr}, next_profiling_control{nullptr};

int pass_on_control(std::atomic<Control*>& next, const char* name, int level, void* const (&arguments)[5]) {
  if (!next.load()) next.store(reinterpret_cast<Control*>(next_function(name)));
  if (!next.load()) end_without_function(name);
  return next.load()(level, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]);
}

}  // namespace
}  // namespace refrain::adapters::mpi

using namespace refrain::adapters::mpi;

extern "C" {

/// The standard leaves the arguments after `level` to the tool, so as many as fit into registers are passed on.
#define REFRAIN_COLLECT_ARGUMENTS(level)                            \
  va_list list;                                                     \
  va_start(list, level);                                            \
  void* arguments[5];                                               \
  for (void*& argument : arguments) argument = va_arg(list, void*); \
  va_end(list);

REFRAIN_EXPORT int MPI_Pcontrol(const int level, ...) {
  REFRAIN_COLLECT_ARGUMENTS(level)
  return call_control(level, refrain::measurement::calling_registers(),
                      [&] { return pass_on_control(next_control, "MPI_Pcontrol", level, arguments); });
}

REFRAIN_EXPORT int PMPI_Pcontrol(const int level, ...) {
  REFRAIN_COLLECT_ARGUMENTS(level)
  auto call = [&] { return pass_on_control(next_profiling_control, "PMPI_Pcontrol", level, arguments); };
  if (!called_by_layer(region::MPI_Pcontrol, __builtin_return_address(0))) return call();
  return call_control(level, refrain::measurement::calling_registers(), call);
}
#undef REFRAIN_COLLECT_ARGUMENTS

}  // extern "C"
