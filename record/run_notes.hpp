#pragma once
/// What a process knows about its run before MPI is initialized, and the file of notes by which it informs the waiting
/// `refrain run` (tools/run_notes.hpp).

#include <climits>

namespace refrain::record {

/// Path of the file that this process executes; empty: unknown. Async-signal-safe.
struct Executable {
  char path[PATH_MAX];
  Executable();
};

/// The world rank that the launcher has put into the environment; -1: none.
int rank_by_environment();

/// Keeps the name of the file of notes, before clean_environment() (runtime/launch.hpp) removes it from the
/// environment.
void remember_run();
/// The name of that file; empty: no `refrain run` waits.
const char* notes_file();

/// Notes where this job's results are.
void note_experiment(const char* directory);
/// Notes that a message has said why there are no results.
void note_said();
/// Notes at the end that this process has loaded MPI, but that no call of MPI_Init reached the runtime.
void note_mpi_unseen();
/// Notes that this process is a forked child, which is not measured. Only the first ones are noted. Async-signal-safe.
void note_forked();
/// Called before each fork.
void count_fork();
/// Notes that exec replaces this process by a program that is not measured, before there were any results.
void note_replacement(const char* file);

}  // namespace refrain::record
