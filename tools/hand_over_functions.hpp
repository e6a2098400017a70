#pragma once
/// Saves the names of a program's functions for the experiment if its binaries may be gone when the job has ended.

#include <string>

#include "tools/program.hpp"

namespace refrain::tools {

/// Reads the symbol tables of the program and its libraries and hands them over to the runtime that will be preloaded
/// (config/function_table.hpp). Does nothing if the waiting `refrain run` will see the binaries, or if this is not the
/// first process of its node. Takes about a third of a second at most. Returns why nothing was handed over; empty: the
/// tables were handed over or are not needed.
std::string hand_over_functions(const Program& program);

}  // namespace refrain::tools
