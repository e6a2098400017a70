#pragma once
/// CPU time of the process that no location has: of threads that were made past pthread_create (clone), that were there
/// before the measurement, or that found no memory to be measured. What MPI's own threads use is none of it.

#include <cstdint>

namespace refrain::measurement {

/// The calling thread is one of MPI's own. The first 64 that are alive are known. Any thread.
void note_thread_of_mpi();

/// The measurement has begun, with the calling thread as the first location. Ordinary context.
void begin_process_cpu_time();
/// All locations have ended: what the process uses from now on is not asked for. Ordinary context.
void end_process_cpu_time();

/// Nanoseconds, of the CPU time since the begin; `measured_ns`: what the locations have. 0 where it is so little that
/// it may be what measured threads used at their begins and ends. Async-signal-safe.
std::int64_t unseen_cpu_ns(std::int64_t measured_ns);

}  // namespace refrain::measurement
