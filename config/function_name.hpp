#pragma once
/// Whether a linker's symbol is the function that a user means, without a demangler: the names are read from the symbol
/// as the Itanium C++ ABI encodes them (section 5.1, <nested-name>), and the last ones must be the user's.

#include <string_view>

namespace refrain::config {

/// `symbol`: "main", "_ZN9LAMMPS_NS6Verlet3runEi". `wanted`: "main", "run", "Verlet::run", "LAMMPS_NS::Verlet::run", or
/// the symbol itself; Fortran's module procedures are "module::procedure" too. Parameters and template arguments do not
/// matter, nor what compilers add to the symbol of a copy or part of a function ("run.isra.0"). Constructors, operators
/// and local functions are found by their symbol only.
bool is_function(std::string_view symbol, std::string_view wanted);

}  // namespace refrain::config
