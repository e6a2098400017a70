#include "adapters/mpi/calls/fortran_symbols.hpp"

#include <atomic>
#include <iterator>

#include "adapters/mpi/calls/fortran.hpp"
#include "adapters/mpi/library.hpp"
#include "adapters/mpi/lifecycle.hpp"
#include "adapters/mpi/missing.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/errno_keeper.hpp"
#include "regions.hpp"

namespace refrain::adapters::mpi {

using measurement::Announcement;
using measurement::Location;
using measurement::MpiCall;
using measurement::RegionId;

#define REFRAIN_FORTRAN_SYMBOL(name, index, function, words, offset) name "\0"
const char fortran_symbol_names[] =
#include "fortran_symbols.inc"
    ;
#undef REFRAIN_FORTRAN_SYMBOL
#define REFRAIN_FORTRAN_SYMBOL(name, index, function, words, offset) {offset, region::function, words},
const FortranSymbol fortran_symbols[] = {
#include "fortran_symbols.inc"
};
#undef REFRAIN_FORTRAN_SYMBOL

namespace {

constexpr unsigned fortran_symbol_count = std::size(fortran_symbols);

/// MPI's function of each symbol, once its target has been found.
std::atomic<void*> next_functions[fortran_symbol_count];

bool is_lifecycle(RegionId region) {
  return region == region::MPI_Init || region == region::MPI_Init_thread || region == region::MPI_Finalize ||
         region == region::MPI_Abort;
}

/// Whether the C wrapper may end the measurement, which cannot be done inside a call.
bool is_of_session(RegionId region) {
  return region == region::MPI_Session_init || region == region::MPI_Session_finalize;
}

/// Index of IERROR among the arguments of a lifecycle function.
std::size_t error_argument(RegionId region) {
  return region == region::MPI_Init_thread || region == region::MPI_Abort ? 2 : 0;
}

}  // namespace
}  // namespace refrain::adapters::mpi

using namespace refrain::adapters::mpi;
using namespace refrain::measurement;

extern "C" {

// Defined by the assembly code, or called by it.
std::atomic<void*> refrain_fortran_targets[fortran_symbol_count];
void refrain_fortran_measured();
std::uintptr_t refrain_pass_on(void* function, const std::uintptr_t* registers, const std::uintptr_t* stack,
                               std::uint64_t words);

/// Looks up the target of a symbol, at its first call.
void* refrain_find_fortran(unsigned index) {
  const refrain::platform::ErrnoKeeper errno_keeper;
  const char* name = fortran_symbol_names + fortran_symbols[index].name;
  void* next = next_fortran_function(name);
  if (!next) end_without_function(name);
  void* target = next;
  if (is_in_fortran_library(next)) {
    next_functions[index].store(next, std::memory_order_release);
    target = reinterpret_cast<void*>(&refrain_fortran_measured);
  }
  refrain_fortran_targets[index].store(target, std::memory_order_release);
  return target;
}

/// A call of a Fortran function of MPI; `registers` are its first six arguments, `frame` is the frame of its wrapper.
std::uintptr_t refrain_call_fortran(unsigned index, std::uintptr_t* registers, const std::uintptr_t* frame) {
  const FortranSymbol& symbol = fortran_symbols[index];
  void* next = next_functions[index].load(std::memory_order_acquire);
  auto pass_on = [&] { return refrain_pass_on(next, registers, frame + 2, symbol.words); };
  const refrain::platform::Registers caller{frame[1], reinterpret_cast<std::uintptr_t>(frame + 2), frame[0]};
  if (is_lifecycle(symbol.region)) [[unlikely]] {
    // IERROR may be absent in mpi_f08.
    MPI_Fint own_error = MPI_SUCCESS;
    std::uintptr_t& error = registers[error_argument(symbol.region)];
    if (!error) error = reinterpret_cast<std::uintptr_t>(&own_error);
    const auto* result = reinterpret_cast<const MPI_Fint*>(error);
    call_lifecycle(symbol.region, caller, [&] {
      pass_on();
      return static_cast<int>(*result);
    });
    return 0;
  }
  if (symbol.region == region::MPI_Pcontrol) [[unlikely]] {
    call_control(*reinterpret_cast<const MPI_Fint*>(registers[0]), caller, [&] {
      pass_on();
      return MPI_SUCCESS;
    });
    return 0;
  }
  Location* location = own_location();
  if (!location || is_of_session(symbol.region)) return pass_on();
  count_call(*location);
  const auto begun = begin_counted_call(*location, symbol.region, caller);
  if (!begun.location) return pass_on();
  return run_call(
      begun, [] {},
      [&] {
        location->call.announcement = Announcement::Made;
        const std::uintptr_t result = pass_on();
        if (location->call.announcement == Announcement::Made) location->call.announcement = Announcement::None;
        return result;
      },
      [](MpiCall&, std::uintptr_t) {});
}

}  // extern "C"
