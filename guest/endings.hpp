#pragma once
/// Ends of the process at which nobody calls MPI_Finalize: what has been measured is written as it is. Nothing is
/// closed, so no harm is done when the program goes on after all.

#include <cstdint>

namespace refrain::guest {

/// Installs the handlers of signals and of quick_exit. Ordinary context, when the measurement begins, once.
void watch_endings();

/// The process is about to end by its own will, without MPI_Finalize: writes the experiment, or this rank's part of it,
/// once, if it is being measured. That is done on a thread of its own, as the calling one may be anywhere: in malloc,
/// in a signal handler, with its stack used up. Async-signal-safe but for what docs/async-safety.md says ("Endings").
void write_before_exit();

/// Does the last work of a process that is about to end, and waits for it, at most `timeout_s`: a file system that
/// hangs shall not keep the program from its own end. False: it hangs.
bool run_at_end(void (*work)(void*), std::int64_t timeout_s);

}  // namespace refrain::guest
