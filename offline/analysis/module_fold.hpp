#pragma once
/// Modules whose consecutive frames are folded into one line of a call path: what an interpreter does inside says
/// little about the program that it runs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::analysis {

/// The kind of runtime that a module belongs to, between a program and the machine.
enum class Runtime : std::uint8_t {
  None,      ///< the program, or a library that works for it
  Language,  ///< an interpreter: Python, Perl, Ruby, R, Julia, Java, Node.js, Lua, Tcl, PHP
  OpenMp,
  Mpi,  ///< an MPI library, and those below it that carry its messages
  C     ///< libraries of C, C++ and Fortran, and the loader
};

/// `file`: the last part of the module's path.
Runtime runtime_of(std::string_view file);

struct ModuleFold {
  std::vector<std::string> modules;  ///< names of files, as "libfoo.so.1", "libfoo.so" or "libfoo"
  bool runtimes = false;             ///< those of language runtimes, too

  /// `file`: the last part of the module's path.
  bool folds(std::string_view file) const;
  /// Whether only frames without a name are folded: those of OpenMP helpers, whose named functions tell something.
  bool folds_unnamed(std::string_view file) const;
};

/// "[libpython3.11.so.1.0]".
std::string name_of_fold(std::string_view file);
/// Whether this is the name of a fold of a language runtime.
bool is_fold_of_runtime(std::string_view name);

}  // namespace refrain::analysis
