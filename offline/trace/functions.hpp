#pragma once
/// What the functions of MPI are to a trace, by format/mpi_functions.hpp: what time in them is spent on, and which
/// processes an operation of several has to wait for.

#include <cstdint>
#include <string_view>

#include "offline/trace/regions.hpp"

namespace refrain::trace {

/// What time in a call is spent on.
enum class CallClass : std::uint8_t {
  NotMpi,
  PointToPoint,  ///< with waiting for requests and testing them
  Collective,
  OneSided,
  Barrier,
  OneSidedSync,
  Io,  ///< functions of MPI
  InitFinalize,
  OtherMpi,
  OtherIo,  ///< files, without MPI
};
inline constexpr unsigned call_classes = 10;

/// Which process needs which others in a collective operation (MPI 4.1, chapter 6, "Collective Communication").
enum class Exchange : std::uint8_t {
  None,      ///< it is no such operation, or one of neighbours
  Barrier,   ///< no process leaves before all have entered
  AllToAll,  ///< no process leaves before all have entered, and each one receives data of all
  OneToAll,  ///< all receive data of the root
  AllToOne,  ///< the root receives data of all
  Prefix,    ///< each process receives data of those with lower ranks
};

/// What a whole job does once.
enum class JobCall : std::uint8_t { None, Init, Finalize };

/// What a call does with the epochs of a window.
enum class WindowStep : std::uint8_t { None, Fence, Start, Complete, Post, Wait, Lock, Unlock };

struct FunctionOfMpi {
  CallClass call_class = CallClass::OtherMpi;
  Exchange exchange = Exchange::None;
  Role role = Role::Function;
  JobCall job_call = JobCall::None;
  WindowStep window_step = WindowStep::None;
  /// Processes may wait for each other in it, and unless it completes something, no event tells for how long: tests
  /// that have found nothing, probes, and functions that make or free what belongs to several processes.
  bool waits_untold = false;
};

/// `name`: "MPI_Iallreduce", "pmpi_allreduce_". Non-blocking and persistent forms do what the blocking one does. A name
/// that begins like those of MPI and is not known is OtherMpi.
FunctionOfMpi function_of_mpi(std::string_view name);

}  // namespace refrain::trace
