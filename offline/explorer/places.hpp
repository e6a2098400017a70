#pragma once
/// Which threads stand by themselves in a file, where there is no room for all of them.

#include <cstddef>
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
/// user code or in MPI, the others are spread evenly over the rest. How many threads each stands for: 1 of the former,
/// a part of the rest of the latter; 0: it is not chosen.
std::vector<double> choose_threads(std::span<const Thread> threads, std::size_t most);

/// How many values by place fit into a file whose data may take `bytes`.
std::size_t room_for_values(std::size_t bytes);
/// How many places have room for `rows` values each in a part of these; at least 128.
std::size_t room_for_places(std::size_t values, std::size_t rows);
/// Says that so many threads are grouped.
Lack lack_of_threads(std::size_t threads);

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
