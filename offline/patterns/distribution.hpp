#pragma once
/// Assigns the ranks of a trace to the processes of a distributed search: neighbours together, with about as many
/// records for each process. All processes compute the same assignment.

#include <cstdint>
#include <vector>

#include "offline/trace/trace.hpp"

namespace refrain::patterns {

class Distribution {
 public:
  Distribution(const trace::Trace& trace, int process, int processes);

  int process() const { return process_; }
  int processes() const { return processes_; }
  bool is_own(std::uint32_t location) const { return of_location_[location] == process_; }
  int of_location(std::uint32_t location) const { return of_location_[location]; }
  /// The process of a rank of the job; the own process if the rank is not in the trace.
  int of_rank(std::int32_t rank) const {
    const int process = is_numbered(rank) ? of_rank_[static_cast<std::size_t>(rank)] : absent;
    return process == absent ? process_ : process;
  }
  std::vector<std::uint32_t> own_locations() const;
  /// Numbers of members of a communicator.
  struct Members {
    std::size_t own = 0;         ///< on this process
    std::size_t in_trace = 0;    ///< on all processes
    std::vector<int> processes;  ///< processes with members, ascending
  };
  std::vector<Members> members_of(const trace::Trace& trace) const;

 private:
  static constexpr int absent = -1;
  bool is_numbered(std::int32_t rank) const { return rank >= 0 && static_cast<std::size_t>(rank) < of_rank_.size(); }
  int process_, processes_;
  std::vector<int> of_location_, of_rank_;
};

}  // namespace refrain::patterns
