#pragma once
/// How this process was started, and the traces of that which its children must not see.

#include <string_view>

#include "guest/guest.hpp"

namespace refrain::runtime {

enum class LaunchMode {
  Linked,   ///< the runtime is a needed library of the program, or was preloaded by hand
  Program,  ///< `refrain exec` named this image as the one to measure
  Through,  ///< the same under a launcher, with a shell or another wrapper: wait for an image that needs MPI, or
            ///< MPI_Init
  Script,   ///< without a launcher: wait as well, and for a launcher
};

LaunchMode launch_mode();

/// For LaunchMode::Script: a launcher becomes `refrain run` of the same words, a program that needs MPI `refrain exec`,
/// so that what a script starts is measured as if that had been written there. Returns when this is neither, or if that
/// fails.
void become_measured(char** arguments);

/// True when an MPI library is mapped into this process.
bool mpi_is_loaded();

/// What `refrain exec` has told of inlined functions (config/inlined_code.hpp), empty: nothing. Valid to the end.
std::string_view inlined_code();

/// `arguments`: those of main as the dynamic linker gives them to constructors; the environment lies behind them.
void remember_initial_environment(char** arguments);

/// Takes Refrain's own entries out of the environment (LD_PRELOAD, REFRAIN_INTERNAL_*): children run without us. Both
/// out of `environ` and out of the initial stack, where start code of some languages reads (Go's does), and behind
/// whose end it looks for the auxiliary vector.
void clean_environment();

/// What clean_environment() has removed and an image that continues this one needs again.
guest::Traces traces();

}  // namespace refrain::runtime
