#pragma once
/// Whether a linker's symbol is the function that a user means, without a demangler: the user's name is encoded as the
/// Itanium C++ ABI does it (section 5.1.3, nested names) and looked for.

#include <string_view>

namespace refrain::config {

/// `symbol`: "main", "_ZN9LAMMPS_NS6Verlet3runEi". `wanted`: "main", "run", "Verlet::run", "LAMMPS_NS::Verlet::run", or
/// the symbol itself; Fortran's module procedures are "module::procedure" too. Parameters and template arguments do not
/// matter, nor what compilers add to the symbol of a copy or part of a function ("run.isra.0"). Constructors, operators
/// and local functions are found by their symbol only.
bool is_function(std::string_view symbol, std::string_view wanted);

}  // namespace refrain::config
