#pragma once
/// What MPI functions mean to a trace, by format/mpi_functions.hpp: what the time in them is spent on, and which
/// processes a collective operation has to wait for.

#include <cstdint>
#include <string_view>

#include "offline/trace/regions.hpp"

namespace refrain::trace {

/// What the time in a call is spent on.
enum class CallClass : std::uint8_t {
  NotMpi,
  PointToPoint,  ///< including waiting for requests and testing them
  Collective,
  OneSided,
  Barrier,
  OneSidedSync,
  Io,  ///< files, by functions of MPI
  InitFinalize,
  OtherMpi,
  OtherIo,  ///< files, without MPI
};
inline constexpr unsigned call_classes = 10;

/// Which process needs which others in a collective operation (MPI 4.1, chapter 6, "Collective Communication").
enum class Exchange : std::uint8_t {
  None,      ///< no collective operation, or one among neighbours
  Barrier,   ///< no process leaves before all have entered
  AllToAll,  ///< no process leaves before all have entered, and each one receives data from all
  OneToAll,  ///< all receive data from the root
  AllToOne,  ///< the root receives data from all
  Prefix,    ///< each process receives data from lower ranks
};

/// Calls that a whole job makes once.
enum class JobCall : std::uint8_t { None, Init, Finalize };

/// What a call does to the epochs of a window.
enum class WindowStep : std::uint8_t { None, Fence, Start, Complete, Post, Wait, Lock, Unlock };

struct FunctionOfMpi {
  CallClass call_class = CallClass::OtherMpi;
  Exchange exchange = Exchange::None;
  Role role = Role::Function;
  JobCall job_call = JobCall::None;
  WindowStep window_step = WindowStep::None;
  /// Processes may wait for each other in the function, and unless it completes something, no event says for how long:
  /// tests that find nothing, probes, and functions that create or free objects of several processes.
  bool waits_untold = false;
};

/// `name`: for example "MPI_Iallreduce", "pmpi_allreduce_". Non-blocking and persistent forms do what the blocking one
/// does. An unknown name that begins like those of MPI is OtherMpi.
FunctionOfMpi function_of_mpi(std::string_view name);

}  // namespace refrain::trace
