#pragma once
/// How this process was started, and the traces of that which its children must not see.

#include <climits>
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

/// The file that this process executes; empty: not known. Async-signal-safe.
struct Executable {
  char path[PATH_MAX];
  Executable();
};

/// Keeps the name of the file of notes, which clean_environment() takes out of the environment.
void remember_run();
/// Tells the `refrain run` that waits, if there is one, of this job's results.
void note_experiment(const char* directory);
/// ... or that it was said why there are none.
void note_said();

/// ... or that this process has loaded MPI without a call of MPI_Init that came here. At its end.
void note_mpi_unseen();
/// ... or that this process is a forked child, which is not measured; of the first ones only. Async-signal-safe.
void note_forked();
/// Before each fork.
void count_fork();
/// ... or that this process becomes another program, which is not measured, before there were any.
void note_replacement(const char* file);

/// True when an MPI library is mapped into this process.
bool mpi_is_loaded();

/// World rank that the launcher told in the environment, -1 when it told none.
int rank_by_environment();

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
