#pragma once
/// iterations-<rank>.refrain: the file of iteration logs and merges that shall not stay in memory. Ordinary context,
/// one thread at a time. A location must be that of the calling thread, paused, or closed.

#include <cstdint>
#include <span>

#include "measurement/location.hpp"

namespace refrain::record {

/// How many bytes a loop may keep in memory when its file cannot be written.
inline constexpr std::size_t memory_without_file = std::size_t{16} << 20;

/// Bytes of complete frames in the file.
std::uint64_t iteration_bytes();

/// Moves the closed log blocks and merges of the location's loops to the file. Returns 0 or the errno value.
int write_iterations(measurement::Location& location);
/// Drops the logs of loops that are too large. The clusters keep what these iterations did; their vectors are lost.
void drop_iterations(measurement::Location& location);
/// Bytes of iterations that the location keeps in memory.
std::size_t iterations_in_memory(measurement::Location& location);

/// Maps the file at the end of the run, if it is small, for the profile to take in. It stays mapped.
std::span<const std::byte> map_iterations();
/// Removes the file, whose contents the profile has taken in.
void remove_iteration_file();
/// Moves the file from the experiment `from`, which this process had for itself. If that fails, its iterations are
/// lost.
void move_iteration_file(const char* from);

}  // namespace refrain::record
