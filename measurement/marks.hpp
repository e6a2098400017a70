#pragma once
/// Marks of the program: loops, their iterations, and regions. Called on the thread that runs the marked code, in
/// ordinary context, inside a scope (entrance.hpp). `caller`: the registers of the function with the mark; pc is the
/// return address of the mark.
///
/// The outermost loop of a thread is cut into iterations; loops inside it are regions. A mark belongs to the activation
/// of the function that begins it, and ends with it at the latest. Marks that do not match are counted
/// (Loss::MarkMisused), reported once, and never make a wrong profile: time in doubt counts as outside of iterations.
///
/// A mark was left without its end when a later mark shows that
///  - its activation is gone: the stack pointer has risen above it, or another call has replaced it, or
///  - it is begun once more in the same activation, or
///  - an iteration of an enclosing loop is marked.
/// Until then everything that runs is below the mark, for example when the function was left and called again from the
/// same call site.
///
/// `entered`: begin_own_time() at the entry from the program.

#include <string_view>

#include "measurement/location.hpp"

namespace refrain::measurement {

void begin_loop(Location& location, RegionId name, const platform::Registers& caller, const OwnTimeBegin& entered);
void end_loop(Location& location, const platform::Registers& caller, const OwnTimeBegin& entered);
void begin_iteration(Location& location, const platform::Registers& caller, const OwnTimeBegin& entered);
void end_iteration(Location& location, const platform::Registers& caller, const OwnTimeBegin& entered);
void begin_region(Location& location, RegionId name, const platform::Registers& caller, const OwnTimeBegin& entered);
/// Ends the innermost region. If `name` is not empty, it must be the name of that region.
void end_region(Location& location, std::string_view name, const platform::Registers& caller,
                const OwnTimeBegin& entered);
/// Reports a mark whose name cannot be kept as it is.
void report_strange_name(Location& location, std::uintptr_t site);

/// Begins an iteration of the loop `name` at an MPI call and ends the one before, for programs without marks.
void iterate_at_call(Location& location, RegionId name);

/// Ends the open marks, because the thread ends. Its last unit is still in progress.
void end_marks(Location& location, platform::Ticks now);
/// Ends an iteration in progress, because the measurement ends in MPI_Finalize while the program may still mark its
/// end. Inside a scope, before `end_marks`.
void end_with_finalize(Location& location);
/// Clears the state of marks and loops. After `end_marks`.
void forget_marks(Location& location);

}  // namespace refrain::measurement
