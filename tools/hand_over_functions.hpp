#pragma once
/// The names of a program's functions for the experiment, where its binaries may be gone when the job has ended.

#include <string>

#include "tools/program.hpp"

namespace refrain::tools {

/// Reads the symbol tables of the program and its libraries and hands them over to the runtime that will be preloaded
/// (config/function_table.hpp). Nothing is done where the `refrain run` that waits will see the binaries, nor in any
/// process of a node but the first. Takes about a third of a second at most. Returns why nothing was handed over;
/// empty: it was, or is not needed.
std::string hand_over_functions(const Program& program);

}  // namespace refrain::tools
