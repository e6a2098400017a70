#pragma once
/// Marks of the program: loops, their iterations, and regions. Called on the thread that runs the marked code, in
/// ordinary context inside a scope (location.hpp). `caller` are the registers of the function with the mark, its pc
/// being the return address of the mark.
///
/// The outermost loop of a thread is cut into iterations; loops inside it are regions. Marks that do not match are
/// counted (Loss::MarkMisused), said once, and never make a wrong profile: what is in doubt counts as time outside of
/// iterations.

#include <string_view>

#include "measurement/location.hpp"

namespace refrain::measurement {

void begin_loop(Location& location, RegionId name, const platform::Registers& caller);
void end_loop(Location& location);
void begin_iteration(Location& location);
void end_iteration(Location& location);
void begin_region(Location& location, RegionId name, const platform::Registers& caller);
/// Ends the innermost region. With a name, it must be the one that is open.
void end_region(Location& location, const RegionId* name);

/// Starts an iteration of the loop `name` at an MPI call, and ends the one before: for programs without marks.
void iterate_at_call(Location& location, RegionId name);

/// The thread's life has ended: what it had open ends with it.
void forget_marks(Location& location);

}  // namespace refrain::measurement
