#pragma once
/// iterations-<rank>.refrain: where logs and merges of iterations go that memory shall not hold. Ordinary context, one
/// thread at a time; the locations are the calling thread's, paused, or closed.

#include <cstdint>
#include <span>

#include "measurement/location.hpp"

namespace refrain::record {

/// What a loop may keep in memory when its file cannot be written.
inline constexpr std::size_t memory_without_file = std::size_t{16} << 20;

/// Bytes that are whole in the file.
std::uint64_t iteration_bytes();

/// Moves what the location's loops hold of iterations to the file. Returns 0 or the errno value.
int write_iterations(measurement::Location& location);
/// Drops what finds no room: the clusters keep what these iterations did, their vectors are lost.
void drop_iterations(measurement::Location& location);
/// Bytes of iterations that the location holds.
std::size_t iterations_in_memory(measurement::Location& location);

/// For the end: what is in the file, when it is little, for the profile to take in. It stays mapped.
std::span<const std::byte> map_iterations();
/// The profile has taken it in.
void remove_iteration_file();
/// The file moves to the experiment from the one that this process had for itself. When that fails its iterations are
/// lost.
void move_iteration_file(const char* from);

}  // namespace refrain::record
