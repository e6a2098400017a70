#pragma once
/// Decides without a demangler whether a linker's symbol is the function that a user means: it reads the names in the
/// symbol as the Itanium C++ ABI encodes them (section 5.1, <nested-name>), and compares the last ones with the user's.

#include <string_view>

namespace refrain::config {

/// `symbol` is "main" or "_ZN9LAMMPS_NS6Verlet3runEi". `wanted` is "main", "run", "Verlet::run",
/// "LAMMPS_NS::Verlet::run", or the symbol itself; also "module::procedure" for Fortran. Parameters and template
/// arguments do not matter, nor what compilers append to the symbol of a copy or part of a function ("run.isra.0").
/// Constructors, operators and local functions match only by their symbol.
bool is_function(std::string_view symbol, std::string_view wanted);

}  // namespace refrain::config
