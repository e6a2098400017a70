#pragma once
/// The process's windows, and the traffic of one-sided operations with each of their targets.
///
/// Records outlive MPI_Win_free. A program may make windows forever, so only the first 64 windows of one communicator
/// and kind are told apart. After that each takes over one of the records of the second half of these, in turn. All
/// members of the communicator agree on it, because making a window is collective.
///
/// Memory: one record per window, at most 65,536 (6 MiB), and one entry per window and target in use, at most 2^20 (40
/// MiB, and up to 32 MiB for the index). Thread safety: any thread; every one-sided operation holds a lock for some
/// nanoseconds. Not for handlers.

#include <cstdint>
#include <span>

#include "adapters/mpi/calls/datatypes.hpp"
#include "measurement/definitions.hpp"

namespace refrain::adapters::mpi {

/// False: there is no room for another record.
bool define_window(MPI_Comm comm, MPI_Win made, measurement::WindowKind kind);
void name_window(MPI_Win handle, const char* name);
/// The window with this handle is about to be freed. Returns its id; -1: unknown.
std::int32_t forget_window(MPI_Win handle);
/// The window was not freed after all.
void bind_window(std::int32_t id, MPI_Win handle);

/// The window's id; -1: unknown. Takes no lock.
std::int32_t id_of_window(MPI_Win handle);

/// Counts one operation as a put of the bytes sent and a get of the bytes received. False: there is no room, or the
/// window is unknown.
bool count_one_sided(MPI_Win handle, int target, Traffic moved);

/// In order of id, and in order of first use. Entries never move; more may be added, so ask for the traffic first.
std::span<const measurement::WindowRecord> all_windows();
std::span<const measurement::WindowTraffic> all_window_traffic();

}  // namespace refrain::adapters::mpi
