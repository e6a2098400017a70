#pragma once
/// The names of the program's functions that `refrain exec` has handed over (config/function_table.hpp), to be kept in
/// the experiment. Only one process of a node has them. Ordinary context. An error costs nothing but the names.

namespace refrain::record {

/// Takes the descriptor away from the program, before it begins and before the environment is cleaned.
void take_function_table();

/// Writes the names into the experiment, unless a process of another node has done so for the same executable. Works
/// once.
void keep_function_table(const char* directory);

}  // namespace refrain::record
