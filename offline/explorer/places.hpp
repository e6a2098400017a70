#pragma once
/// Selects the threads that have a place of their own in a file without room for all of them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "offline/explorer/run.hpp"

namespace refrain::explorer {

/// A thread of the run, and what distinguishes it from others.
struct Thread {
  std::string host;
  std::int32_t rank = 0, thread = 0;
  double user_s = 0, mpi_s = 0;
};

/// Chooses at most `most` threads to be read in detail: half of them are farthest from the median in user code or in
/// MPI, the others are spread evenly over the rest. Returns how many threads each represents: 1 for the former, a share
/// of the rest for the latter; 0: not chosen.
std::vector<double> choose_threads(std::span<const Thread> threads, std::size_t most);

/// Number of values by place that fit into a file whose data may take `bytes`.
std::size_t room_for_values(std::size_t bytes);
/// Number of places that fit into room for `values` when each has `rows` values; at least 128.
std::size_t room_for_places(std::size_t values, std::size_t rows);
/// The note that this many threads are grouped.
Lack lack_of_threads(std::size_t threads);

struct Grouping {
  std::vector<Place> places;            ///< without samples
  std::vector<std::uint32_t> place_of;  ///< by thread
  bool is_grouped = false;              ///< some places stand for several threads
};

/// Makes at most about `most` places, in the order of machine (as they come), rank and thread. Half of them are for
/// the threads that are farthest from the median in user code or in MPI; the others are groups of neighbours on one
/// machine.
Grouping group_places(std::span<const Thread> threads, std::size_t most);

}  // namespace refrain::explorer
