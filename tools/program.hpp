#pragma once
/// What a command refers to, and how it can be measured.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/elf_image.hpp"
#include "tools/installation.hpp"
#include "tools/library_search.hpp"

namespace refrain::tools {

struct Program {
  enum class Kind {
    Missing,        ///< no such file
    NotExecutable,  ///< a directory, or permission denied
    Script,         ///< begins with #!, or is not an ELF file
    Static,         ///< has no dynamic linker, so nothing can be preloaded
    Foreign,        ///< for another architecture
    OtherLibc,      ///< its dynamic linker is not glibc's; musl's, say, ends a program if a preload does not fit
    Loader,         ///< the dynamic linker itself, given nothing to start
    Privileged,     ///< set-user-id, set-group-id or file capabilities: the dynamic linker ignores LD_PRELOAD
    Dynamic,        ///< can be measured if the runtime library fits it (why_not_preloadable)
  };
  Kind kind = Kind::Missing;
  std::filesystem::path file;            ///< as found; empty when missing
  std::filesystem::path loader;          ///< the dynamic linker, if the command names it before the program
  std::filesystem::path interpreter;     ///< of a script; if that is env, the one that env finds
  bool found_by_env = false;             ///< the first line is "#!/usr/bin/env INTERPRETER" and nothing else
  ElfImage image;                        ///< Dynamic, Static, Foreign, Privileged
  std::vector<NeededLibrary> libraries;  ///< Dynamic: all libraries, transitively
  std::optional<RuntimeLibrary> mpi;     ///< the MPI among them
};

/// Finds `command` as execvp(3) would, and inspects the file.
Program inspect_program(const std::string& command);
/// Like inspect_program(), for a command with its arguments: the program of "ld.so ./app" is ./app.
Program inspect_command(const std::vector<std::string>& command);

/// The MPI that this library name stands for. libmpi.so.12 is the common ABI of MPICH and its descendants (Intel MPI,
/// MVAPICH, Cray); Open MPI counts from 20 since its version 2.
std::optional<RuntimeLibrary> mpi_of_library(const std::string& soname);

/// The MPI whose launcher started this process, according to the environment. Serial: a launcher of an unknown MPI.
std::optional<RuntimeLibrary> mpi_of_launcher();

/// The MPI whose launcher started this process and others, if the program's own MPI does not understand that launcher:
/// each process is then a job of its own. Nothing if the two fit, or if that is unknown (launchers of batch systems).
std::optional<RuntimeLibrary> foreign_launcher(const Program& program);

/// Whether the program loads libraries at run time, as an interpreter does.
bool may_load_mpi(const Program& program);
/// The MPI that a program without a launcher is expected to load, if any. Open MPI if it is installed, because its
/// runtime passes MPICH calls through unharmed (adapters/mpi/library.hpp); the reverse does not hold.
std::optional<RuntimeLibrary> mpi_that_may_be_loaded();

/// Whether the program is a shell or a shell script, whose purpose is to start programs.
bool is_shell(const Program& program);

/// Why no runtime can be preloaded into the program, as the rest of a line that begins with its name. Empty: one can
/// be. For a script, the interpreter decides.
std::string why_not_measurable(const Program& program);
/// Why the library `runtime` cannot be preloaded: the program's C library lacks a symbol version that it needs. Empty:
/// it can be.
std::string why_not_preloadable(const Program& program, const std::filesystem::path& runtime);

/// Libraries of the program that must precede all others in LD_PRELOAD: the shared runtimes of sanitizers. libasan ends
/// a program in which it is not the first.
std::vector<std::filesystem::path> libraries_that_come_first(const Program& program);

}  // namespace refrain::tools
