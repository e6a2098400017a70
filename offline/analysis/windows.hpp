#pragma once
/// Windows of one-sided operations, put together over the ranks of a job.
///
/// Ranks number their communicators and windows on their own. Communicators of two ranks are one when parent, ordinal
/// and leader are (measurement/definitions.hpp), windows when they are of one communicator and have the same place
/// among its windows: to make one is collective.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::analysis {

/// What a rank has moved to and from one target. Ranks are those in MPI_COMM_WORLD; -1: not known.
struct WindowPair {
  std::int32_t origin, target;
  format::WindowTraffic traffic;
};

struct JobWindow {
  std::string communicator;  ///< its name, or where it comes from: "MPI_COMM_WORLD/3"; "?" when it is not known
  format::WindowKind kind{};
  std::string name;
  std::int64_t made = 1;          ///< how many it stands for, one after the other
  std::vector<WindowPair> pairs;  ///< ascending by origin and by rank in the window
};

struct JobWindows {
  std::vector<JobWindow> windows;                 ///< in the order in which the lowest rank of each has made them
  std::vector<std::vector<std::size_t>> of_rank;  ///< by place in `ranks` and number of its window
};

const char* name_of(format::WindowKind kind);

/// Of a rank in the window; -1: not known.
std::int32_t world_rank(const experiment::RankDefinition& rank, const experiment::Window& window, std::int32_t target);

/// `ranks`: all that are to be looked at, ascending.
JobWindows match_windows(std::span<const experiment::RankDefinition* const> ranks);

}  // namespace refrain::analysis
