#pragma once
/// Windows of one-sided operations, matched over the ranks of a job.
///
/// Ranks number their communicators and windows on their own. Communicators of two ranks are the same if parent,
/// ordinal and leader are equal (measurement/definitions.hpp). Windows are the same if they have the same communicator
/// and the same place among its windows, because window creation is collective.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::analysis {

/// Traffic of a rank to and from one target. Ranks are those in MPI_COMM_WORLD; -1: not known.
struct WindowPair {
  std::int32_t origin, target;
  format::WindowTraffic traffic;
};

struct JobWindow {
  std::string communicator;  ///< its name, or where it comes from: "MPI_COMM_WORLD/3"; "?" when it is not known
  format::WindowKind kind{};
  std::string name;
  std::int64_t made = 1;          ///< number of windows that it stands for, one after the other
  std::vector<WindowPair> pairs;  ///< ascending by origin and by rank in the window
};

struct JobWindows {
  std::vector<JobWindow> windows;                 ///< in the order in which the lowest rank of each has created them
  std::vector<std::vector<std::size_t>> of_rank;  ///< index in `windows`, by index in `ranks` and window of the rank
};

const char* name_of(format::WindowKind kind);

/// The rank in MPI_COMM_WORLD of a rank in the window; -1: not known.
std::int32_t world_rank(const experiment::RankDefinition& rank, const experiment::Window& window, std::int32_t target);

/// `ranks`: all ranks to be matched, ascending.
JobWindows match_windows(std::span<const experiment::RankDefinition* const> ranks);

}  // namespace refrain::analysis
