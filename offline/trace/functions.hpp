#pragma once
/// What the functions of MPI do, by their names: what time in them is spent on, and which processes an operation of
/// several has to wait for.

#include <cstdint>
#include <string_view>

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

/// Who gets something of whom in a collective operation.
enum class Exchange : std::uint8_t {
  None,      ///< it is none, or of neighbours alone
  Barrier,   ///< nobody leaves before all have entered
  AllToAll,  ///< likewise, of data: each one gets something of all
  OneToAll,  ///< all get something of the root
  AllToOne,  ///< the root gets something of all
  Prefix,    ///< each one gets something of those with lower ranks
};

/// What a whole job does once.
enum class JobCall : std::uint8_t { None, Init, Finalize };

/// What a call does with the epochs of a window.
enum class WindowStep : std::uint8_t { None, Fence, Start, Complete, Post, Wait, Lock, Unlock };

struct FunctionOfMpi {
  CallClass call_class = CallClass::OtherMpi;
  Exchange exchange = Exchange::None;
  JobCall job_call = JobCall::None;
  WindowStep window_step = WindowStep::None;
  /// Processes may wait for each other in it, and unless it completes something, no event tells for how long: tests
  /// that have found nothing, probes, and functions that make or free what belongs to several processes.
  bool waits_untold = false;
};

/// `name`: "MPI_Iallreduce", with the prefix MPI_ or PMPI_. Non-blocking and persistent forms do what the blocking one
/// does.
FunctionOfMpi function_of_mpi(std::string_view name);

}  // namespace refrain::trace
