#pragma once
/// What a process knows of the run that it belongs to before MPI tells, and the file of notes by which it tells the
/// `refrain run` that waits (tools/run_notes.hpp).

#include <climits>

namespace refrain::record {

/// The file that this process executes; empty: not known. Async-signal-safe.
struct Executable {
  char path[PATH_MAX];
  Executable();
};

/// World rank that the launcher told in the environment, -1 when it told none.
int rank_by_environment();

/// Keeps the name of the file of notes, which clean_environment() (runtime/launch.hpp) takes out of the environment.
void remember_run();
/// That name; empty: nobody waits.
const char* notes_file();

/// This job's results are there.
void note_experiment(const char* directory);
/// It was said why there are none.
void note_said();
/// This process has loaded MPI without a call of MPI_Init that came here. At its end.
void note_mpi_unseen();
/// This process is a forked child, which is not measured; of the first ones only. Async-signal-safe.
void note_forked();
/// Before each fork.
void count_fork();
/// This process becomes another program, which is not measured, before there were any results.
void note_replacement(const char* file);

}  // namespace refrain::record
