#pragma once
/// What kind of thing a command names, and how it can be measured.

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
    Script,         ///< begins with #!, or is no ELF file at all
    Static,         ///< has no dynamic linker that could preload anything
    Foreign,        ///< for another architecture
    OtherLibc,      ///< its dynamic linker is not glibc's: musl's, say, which ends a program whose preloads do not fit
    Loader,         ///< the dynamic linker itself, which is to start nothing
    Privileged,     ///< set-user-id, set-group-id or file capabilities: the dynamic linker ignores LD_PRELOAD
    Dynamic,        ///< can be measured, if the runtime's library fits it (why_not_preloadable)
  };
  Kind kind = Kind::Missing;
  std::filesystem::path file;            ///< as found; empty when missing
  std::filesystem::path loader;          ///< the dynamic linker, where it is named in front of the program
  std::filesystem::path interpreter;     ///< of a script; that which env finds, if it names env
  bool found_by_env = false;             ///< the first line is "#!/usr/bin/env INTERPRETER" and nothing else
  ElfImage image;                        ///< Dynamic, Static, Foreign, Privileged
  std::vector<NeededLibrary> libraries;  ///< Dynamic: transitively
  std::optional<RuntimeLibrary> mpi;     ///< the MPI among them
};

/// Finds `command` as execvp(3) would, and looks into it.
Program inspect_program(const std::string& command);
/// The same for a command with its arguments: of "ld.so ./app" the program is ./app.
Program inspect_command(const std::vector<std::string>& command);

/// The MPI that this library name stands for. libmpi.so.12 is the common ABI of MPICH and its descendants (Intel MPI,
/// MVAPICH, Cray); Open MPI counts from 20 since its version 2.
std::optional<RuntimeLibrary> mpi_of_library(const std::string& soname);

/// The MPI whose launcher started this process, as its environment tells. Serial: a launcher, but which MPI is unknown.
std::optional<RuntimeLibrary> mpi_of_launcher();

/// The MPI whose launcher started this process with others when the program's own MPI cannot know that launcher: then
/// each process is a job of its own. Nothing when they fit, or when nobody can tell (launchers of batch systems).
std::optional<RuntimeLibrary> foreign_launcher(const Program& program);

/// Whether the program loads libraries while it runs, as an interpreter does.
bool may_load_mpi(const Program& program);
/// The MPI that a program without a launcher is expected to load, if any: Open MPI when it is installed, because its
/// runtime lets calls of MPICH through unharmed (adapters/mpi/library.hpp), which does not hold the other way round.
std::optional<RuntimeLibrary> mpi_that_may_be_loaded();

/// Whether it is a shell, or a script of one: its purpose is to start programs.
bool is_shell(const Program& program);

/// Why nothing can be preloaded into the program, whichever runtime that would be: the rest of a line that begins with
/// its name. Empty when something can be. Of a script the interpreter decides.
std::string why_not_measurable(const Program& program);
/// The same for the library `runtime`: whether the program's C library has what that needs.
std::string why_not_preloadable(const Program& program, const std::filesystem::path& runtime);

/// Libraries of the program that must stand before any other in LD_PRELOAD, the shared runtimes of sanitizers: libasan
/// ends a program in which it is not the first.
std::vector<std::filesystem::path> libraries_that_come_first(const Program& program);

}  // namespace refrain::tools
