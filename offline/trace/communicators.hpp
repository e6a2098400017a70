#pragma once
/// The communicators of all ranks as one list. In an experiment each rank numbers its own communicators; parent,
/// ordinal and leader determine which ones are the same (adapters/mpi/identities/communicators.hpp). In an archive all
/// ranks use the same numbers: indices into the list.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "offline/experiment/profile.hpp"
#include "offline/trace/regions.hpp"

namespace refrain::trace {

struct CommunicatorOfTrace {
  std::string name;
  std::int32_t parent = -1;  ///< index into the list, or -1
  /// Ranks of the job, in rank order; -1: outside of it. For an intercommunicator, the own group followed by the remote
  /// one, as seen by the first rank that has it.
  experiment::MemberList members;
  std::int32_t size = 0, remote_size = 0;
  bool is_self = false;  ///< MPI_COMM_SELF and the like: each rank has its own, with itself as the only member
  Paradigm paradigm = Paradigm::Mpi;
  /// For paradigms other than MPI, whose members are threads: indices into Trace::locations().
  std::vector<std::uint32_t> locations = {};
  static constexpr std::uint32_t no_location = 0xffffffff;
};

class Communicators {
 public:
  /// Adds the communicators of a rank.
  void add(const experiment::Rank& rank);
  /// Adds a communicator of an archive, which all ranks know by its index.
  void add(CommunicatorOfTrace communicator);
  void set_parent(std::size_t index, std::int32_t parent) { all_[index].parent = parent; }

  const std::vector<CommunicatorOfTrace>& all() const { return all_; }
  /// Index into all() of the communicator that the rank calls `id`; -1: not known.
  std::int32_t index_of(std::int32_t rank, std::int32_t id) const;
  /// The rank of the job that is `peer` in the communicator that rank `from` calls `id`; -1: outside of the job, or
  /// none.
  std::int32_t rank_of(std::int32_t from, std::int32_t id, std::int32_t peer) const;

 private:
  struct Own {
    std::int32_t index;
    experiment::MemberList members;
    std::int32_t size, remote_size;
  };
  std::int32_t rank_of_shared(std::int32_t from, std::int32_t index, std::int32_t peer) const;

  std::vector<CommunicatorOfTrace> all_;
  bool is_shared_ = false;  ///< all ranks use indices as numbers
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::int32_t> index_;  ///< parent, ordinal, leader
  std::map<std::int32_t, std::map<std::int32_t, Own>> of_rank_;                         ///< by rank, by id
};

}  // namespace refrain::trace
