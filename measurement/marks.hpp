#pragma once
/// Marks of the program: loops, their iterations, and regions. Called on the thread that runs the marked code, in
/// ordinary context inside a scope (location.hpp). `caller` are the registers of the function with the mark, its pc
/// being the return address of the mark.
///
/// The outermost loop of a thread is cut into iterations; loops inside it are regions. A mark belongs to the activation
/// of the function that begins it, and ends with it at the latest. Marks that do not match are counted
/// (Loss::MarkMisused), said once, and never make a wrong profile: what is in doubt counts as time outside of
/// iterations.
///
/// A mark was left without its end when a later mark shows that
///  - its activation is gone: the stack pointer has risen above it, or another call has taken its place, or
///  - it is begun once more in the same activation, or
///  - an iteration mark of a loop outside of it comes by.
/// Until then what runs stays below the mark, for example when the function was left and called again at the same
/// place.
///
/// `entered`: begin_own_time() where the program came in.

#include <string_view>

#include "measurement/location.hpp"

namespace refrain::measurement {

void begin_loop(Location& location, RegionId name, const platform::Registers& caller, const OwnTimeBegin& entered);
void end_loop(Location& location, const platform::Registers& caller, const OwnTimeBegin& entered);
void begin_iteration(Location& location, const platform::Registers& caller, const OwnTimeBegin& entered);
void end_iteration(Location& location, const platform::Registers& caller, const OwnTimeBegin& entered);
void begin_region(Location& location, RegionId name, const platform::Registers& caller, const OwnTimeBegin& entered);
/// Ends the innermost region. With a name, it must be the one that is open.
void end_region(Location& location, std::string_view name, const platform::Registers& caller,
                const OwnTimeBegin& entered);
/// A mark whose name cannot be kept as it is.
void report_strange_name(Location& location, std::uintptr_t site);

/// Starts an iteration of the loop `name` at an MPI call, and ends the one before: for programs without marks.
void iterate_at_call(Location& location, RegionId name);

/// The thread's life ends now, in its last unit: the open marks end with it.
void end_marks(Location& location, platform::Ticks now);
/// The measurement ends because the program has come to MPI_Finalize, and its marks may go on: an iteration in progress
/// ends here. Inside a scope, before `end_marks`.
void end_with_finalize(Location& location);
/// After `end_marks`: nothing is open any more.
void forget_marks(Location& location);

}  // namespace refrain::measurement
