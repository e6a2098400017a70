#pragma once
/// Windows of the process, and what it moves by one-sided operations to and from each of their targets.
///
/// Records outlive MPI_Win_free. A program may make windows for ever, so windows of one communicator and kind are told
/// apart 64 times; after that each takes over the record of one from the second half of these, in turn. All members of
/// the communicator agree on it, because to make a window is collective.
///
/// Memory: one record per window, at most 65,536 (6 MiB), and one entry per window and target that was used, at most
/// 2^20 (40 MiB, and up to 32 for finding them). Thread safety: any thread; a lock that is held for some nanoseconds,
/// by every one-sided operation. Not for handlers.

#include <cstdint>
#include <span>

#include "adapters/mpi/calls/datatypes.hpp"
#include "measurement/definitions.hpp"

namespace refrain::adapters::mpi {

/// False: there is no room for another record.
bool define_window(MPI_Comm comm, MPI_Win made, measurement::WindowKind kind);
void name_window(MPI_Win handle, const char* name);
/// The window with this handle is about to be freed: its id, -1 when it is not known.
std::int32_t forget_window(MPI_Win handle);
/// That window was not freed after all.
void bind_window(std::int32_t id, MPI_Win handle);

/// -1: not known. Without a lock.
std::int32_t id_of_window(MPI_Win handle);

/// One operation, which puts what it sends and gets what it receives. False: there is no room, or the window is not
/// known.
bool count_one_sided(MPI_Win handle, int target, Traffic moved);

/// In order of id, and in order of first use. They stay where they are; more may come, so traffic is asked for first.
std::span<const measurement::WindowRecord> all_windows();
std::span<const measurement::WindowTraffic> all_window_traffic();

}  // namespace refrain::adapters::mpi
