#pragma once
/// Begin and end of MPI, and MPI_Pcontrol. The generated wrappers of the functions whose effect is Written come here,
/// and those of the Fortran functions (calls/fortran_symbols.cpp).
///
/// Thread safety: any thread. Not for handlers.

#include <type_traits>

#include "adapters/mpi/mpi_header.hpp"
#include "measurement/location.hpp"

namespace refrain::adapters::mpi {

/// Makes the program's call and returns its result. Refers to the function object that it is made from.
class PassOn {
 public:
  template <class Call>
  requires(!std::is_same_v<std::remove_cvref_t<Call>, PassOn>)
      PassOn(Call&& call)  // NOLINT: a call is handed over as it is
      : call_([](void* state) { return (*static_cast<std::remove_reference_t<Call>*>(state))(); }), state_(&call) {}
  int operator()() const { return call_(state_); }

 private:
  int (*call_)(void*);
  void* state_;
};

/// The program calls a function that begins or ends MPI. `caller`: registers where it did.
int call_lifecycle(measurement::RegionId region, const platform::Registers& caller, PassOn call);
/// It calls MPI_Pcontrol.
int call_control(int level, const platform::Registers& caller, PassOn call);

/// Before the program's MPI_Init or MPI_Session_init: a process that was not measured so far is from here on.
void prepare_for_mpi();
/// Whether the measurement of all processes together has yet to begin, and can.
bool may_begin_mpi();
/// What is done at the beginning and the end of MPI, `world` being the communicator of all processes. False: it has
/// begun already.
bool begin_mpi(MPI_Comm world);
void end_mpi();

}  // namespace refrain::adapters::mpi
