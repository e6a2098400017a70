#pragma once
/// Ends of the process without MPI_Finalize: the measurement is written as it is. Nothing is closed, so no harm is done
/// if the program goes on after all.

#include <cstdint>

namespace refrain::guest {

/// Installs the handlers of signals and of quick_exit. Ordinary context; once, when the measurement begins.
void watch_endings();

/// For a process that is about to end by its own will without MPI_Finalize. If it is being measured, writes the
/// experiment, or this rank's part of it, once. A helper thread does the work, because the calling thread may be
/// anywhere: in malloc, in a signal handler, or at the end of its stack. Async-signal-safe but for what
/// docs/async-safety.md says ("Endings").
void write_before_exit();

/// Runs the last work of a process that is about to end, and waits at most `timeout_s` seconds, so that a file system
/// that hangs does not keep the program from ending. False: it took longer.
bool run_at_end(void (*work)(void*), std::int64_t timeout_s);

}  // namespace refrain::guest
