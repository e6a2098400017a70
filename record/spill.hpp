#pragma once
/// iterations-<rank>.refrain: what memory shall not hold of iterations while the program runs. Ordinary context, one
/// thread at a time; the locations are the calling thread's, paused, or closed.

#include <cstddef>
#include <cstdint>
#include <span>

#include "measurement/location.hpp"

namespace refrain::record {

/// Moves what the location's loops hold of iterations to the file. Returns 0 or the errno value.
int spill(measurement::Location& location);
/// The file cannot be written: iterations stay in memory from here on, as far as they have room. Says so in one line,
/// once.
void give_up_spilling(int error);
/// Drops what finds no room: the clusters keep what these iterations did, their vectors are lost.
void drop_iterations(measurement::Location& location);

/// Nothing more can be written while the program runs. False: so it was before.
bool end_writing();
bool writing_has_ended();

std::uint64_t spilled_bytes();
/// What was spilled: `bytes` of the file that stay there, or the frames for the profile to take in.
struct Spilled {
  std::uint64_t bytes = 0;
  std::span<const std::byte> frames;
};
/// For the end: all locations are closed.
Spilled map_spilled();

/// The file moves from one experiment to another. When that fails its iterations are lost, which is said.
void move_spilled(const char* from, std::int32_t from_rank, const char* to, std::int32_t rank);
/// The profile has what is in it.
void remove_spilled();

}  // namespace refrain::record
