#pragma once
/// How this process was started, and the traces of the start that its children must not see.

#include <string_view>

#include "guest/guest.hpp"

namespace refrain::runtime {

enum class LaunchMode {
  Linked,   ///< the runtime is a needed library of the program, or was preloaded by hand
  Program,  ///< `refrain exec` named this image as the one to measure
  Through,  ///< as Program, but with a shell or another wrapper in between: wait for an image that needs MPI, or for
            ///< MPI_Init
  Script,   ///< a script outside of a launcher: wait likewise, or for a launcher
};

LaunchMode launch_mode();

/// For LaunchMode::Script. Replaces a launcher by `refrain run` of the same command line, and a program that needs MPI
/// by `refrain exec` of it, so that jobs below a script are measured as if the script had said so. Returns if this
/// image is neither, or if exec fails.
void become_measured(char** arguments);

/// Whether an MPI library is mapped into this process.
bool mpi_is_loaded();

/// What `refrain exec` has said about inlined functions (config/inlined_code.hpp); empty: nothing. Valid until exit.
std::string_view inlined_code();

/// `arguments` are those of main, as the dynamic linker passes them to constructors; the environment lies behind them.
void remember_initial_environment(char** arguments);

/// Removes Refrain's own entries (LD_PRELOAD, REFRAIN_INTERNAL_*) from the environment, so that children run without
/// Refrain: both from `environ` and from the initial stack, which the start code of some languages reads (Go's does)
/// and behind whose end it looks for the auxiliary vector.
void clean_environment();

/// The entries that clean_environment() has removed and that an image which continues this one needs again.
guest::Traces traces();

}  // namespace refrain::runtime
