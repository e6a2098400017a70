#pragma once
/// Exchanges over a binomial tree of the job's ranks with rank 0 at its root. Runtime half.
///
/// The subtree of a rank is a contiguous range that begins with the rank itself, so whoever adds up along the tree in
/// this order has an exclusive scan in rank order. Depth: ceil(log2(ranks)) messages.
///
/// Only inside the MPI_Init and MPI_Finalize wrappers, by one thread per rank; all ranks call the same functions in the
/// same order. Errors: false when the deadline is over or MPI failed; nothing may be exchanged afterwards.

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

/// After it `message` is on every rank what it was on rank 0.
[[nodiscard]] bool broadcast(const measurement::Peers& peers, platform::Bytes& message,
                             std::int64_t deadline_monotonic_ns);

/// Receives one message of every child, in ascending order of ranks (what is combined does not depend on who was
/// first). `absorb(index, bytes)` is called for each with the child's index in `position`; false from it ends the loop.
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
