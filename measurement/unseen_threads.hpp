#pragma once
/// CPU time of the process that belongs to no location: of threads that were made without pthread_create (clone), that
/// existed before the measurement, or for which there was no memory. CPU time of MPI's own threads is excluded.

#include <cstdint>

namespace refrain::measurement {

/// The calling thread is one of MPI's own. Up to 64 live ones are known. Any thread.
void note_thread_of_mpi();

/// The measurement has begun, with the calling thread as the first location. Ordinary context.
void begin_process_cpu_time();
/// All locations have ended: CPU time from now on does not count. Ordinary context.
void end_process_cpu_time();

/// Nanoseconds of such CPU time since the begin. `measured_ns`: CPU time of all locations. 0 if it is so little that
/// measured threads may have used it at their begins and ends. Async-signal-safe.
std::int64_t unseen_cpu_ns(std::int64_t measured_ns);

}  // namespace refrain::measurement
