#pragma once
/// How `refrain exec` hands the names of a program's functions to the runtime, which puts them into the experiment
/// unchanged (offline/symbols/function_table.hpp): "DESCRIPTOR:NAME" in the environment. The descriptor refers to a
/// sealed file in memory; the runtime maps and closes it before the program begins. NAME identifies the executable, in
/// lower-case hexadecimal digits.

#include <cstddef>
#include <fcntl.h>

namespace refrain::config {

inline constexpr const char* function_table_variable = "REFRAIN_INTERNAL_FUNCTIONS";
inline constexpr std::size_t largest_function_table = std::size_t{4} << 20;
inline constexpr std::size_t longest_executable_id = 64;
/// fcntl(F_GET_SEALS) returns at least these seals for the file.
inline constexpr int function_table_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

}  // namespace refrain::config
