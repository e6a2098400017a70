#pragma once
/// The composition root: what happens in which order when a measured process starts and ends. It reads like a table of
/// contents; the chapters are in the other files and folders.
///
/// States: dormant (loaded, waiting for an image that needs MPI or for MPI_Init) -> measuring -> finished; or finished
/// at once, when the measurement is disabled or cannot begin.
/// Both functions: ordinary context, called by one thread at a time.

namespace refrain::runtime {

/// Constructor of the library. Measures from here, or stays dormant until MPI is initialised.
void start_process(char** arguments);

/// The process ends by exit(), return from main, or a library's own ending without MPI_Finalize.
void end_process();

}  // namespace refrain::runtime
