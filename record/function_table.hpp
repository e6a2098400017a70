#pragma once
/// The names of the program's functions that `refrain exec` has handed over (config/function_table.hpp), and which the
/// experiment gets. Only one process of a node has them. Ordinary context; errors cost the names alone.

namespace refrain::record {

/// Before the program begins, and before the environment is cleaned: takes the descriptor away from the program.
void take_function_table();

/// Writes them into the experiment, unless a process of another node has done that for the same executable. Once.
void keep_function_table(const char* directory);

}  // namespace refrain::record
