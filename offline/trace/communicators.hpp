#pragma once
/// The communicators of all ranks as one list. A rank numbers those that it is in; which ones are the same follows from
/// parent, ordinal and leader (adapters/mpi/communicators.hpp).

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "offline/experiment/profile.hpp"

namespace refrain::trace {

struct CommunicatorOfTrace {
  std::string name;
  std::int32_t parent = -1;  ///< index into the list, or -1
  /// Ranks of the job, in rank order; -1: outside of it. Of an intercommunicator the own group, and behind it the other
  /// one, as the first rank with it sees them.
  experiment::MemberList members;
  std::int32_t size = 0, remote_size = 0;
};

class Communicators {
 public:
  /// Adds those of a rank.
  void add(const experiment::Rank& rank);

  const std::vector<CommunicatorOfTrace>& all() const { return all_; }
  /// Index into all() of the communicator that the rank calls `id`; -1: it is not known.
  std::int32_t index_of(std::int32_t rank, std::int32_t id) const;
  /// The rank of the job behind rank `peer` in it, as the rank `from` means it; -1: outside of the job, or none.
  std::int32_t rank_of(std::int32_t from, std::int32_t id, std::int32_t peer) const;

 private:
  struct Own {
    std::int32_t index;
    experiment::MemberList members;
    std::int32_t size, remote_size;
  };
  std::vector<CommunicatorOfTrace> all_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::int32_t> index_;  ///< parent, ordinal, leader
  std::map<std::int32_t, std::map<std::int32_t, Own>> of_rank_;                         ///< by rank, by id
};

}  // namespace refrain::trace
