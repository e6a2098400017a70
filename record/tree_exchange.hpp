#pragma once
/// Exchanges over a binomial tree of the job's ranks with rank 0 at its root. Runtime half.
///
/// The subtree of a rank is a contiguous range that begins with the rank itself, so adding up along the tree in this
/// order gives an exclusive scan in rank order. Depth: ceil(log2(ranks)) messages.
///
/// Only inside the wrappers of MPI_Init and MPI_Finalize, on one thread per rank; all ranks call the same functions in
/// the same order. Errors: false if the deadline has passed or MPI failed; nothing may be exchanged afterwards.

#include <cstdint>

#include "measurement/peers.hpp"
#include "platform/pages.hpp"

namespace refrain::record {

/// The position of one rank in the tree.
struct TreePosition {
  int parent;  ///< -1 for rank 0
  int children;
  int child[32];  ///< ascending; the last one has the largest subtree
};
TreePosition position_in_tree(int rank, int size);

/// Copies `message` from rank 0 to every rank.
[[nodiscard]] bool broadcast(const measurement::Peers& peers, platform::Bytes& message,
                             std::int64_t deadline_monotonic_ns);

/// Receives one message from every child, in ascending order of ranks, so that the result does not depend on timing.
/// Calls `absorb(index, bytes)` for each with the child's index in `position`; if that returns false, the loop ends.
template <class Absorb>
[[nodiscard]] bool receive_from_children(const measurement::Peers& peers, const TreePosition& position,
                                         std::int64_t deadline_monotonic_ns, Absorb absorb) {
  platform::Bytes message;
  for (int i = 0; i < position.children; ++i) {
    message.clear();
    if (!peers.receive(peers.state, position.child[i], message, deadline_monotonic_ns) || !absorb(i, message))
      return false;
  }
  return true;
}

}  // namespace refrain::record
