#pragma once
/// Which threads stand by themselves in a file, where there is no room for all of them.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "offline/explorer/run.hpp"

namespace refrain::explorer {

/// A thread of the run, and what tells it from others.
struct Thread {
  std::string host;
  std::int32_t rank = 0, thread = 0;
  double user_s = 0, mpi_s = 0;
};

/// The threads that are looked at more closely, `most` of them at most: half of these are farthest from the median in
/// user code or in MPI, the others are spread evenly over the rest.
std::vector<bool> choose_threads(std::span<const Thread> threads, std::size_t most);

struct Grouping {
  std::vector<Place> places;            ///< without samples
  std::vector<std::uint32_t> place_of;  ///< by thread
  bool is_grouped = false;              ///< some places stand for several threads
};

/// At most about `most` places, in the order of machine (as they come), rank and thread. Half of them are for the
/// threads that are farthest from the median in user code or in MPI; the others become groups of neighbours on one
/// machine.
Grouping group_places(std::span<const Thread> threads, std::size_t most);

}  // namespace refrain::explorer
