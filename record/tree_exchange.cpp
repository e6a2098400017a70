#include "record/tree_exchange.hpp"

namespace refrain::record {

TreePosition position_in_tree(int rank, int size) {
  TreePosition position{rank == 0 ? -1 : rank & (rank - 1), 0, {}};
  for (int bit = 0; bit < 31; ++bit) {
    const std::int64_t step = std::int64_t{1} << bit;
    if ((rank != 0 && (rank & step) != 0) || rank + step >= size) break;
    position.child[position.children++] = static_cast<int>(rank + step);
  }
  return position;
}

bool broadcast(const measurement::Peers& peers, platform::Bytes& message, std::int64_t deadline_monotonic_ns) {
  const TreePosition position = position_in_tree(peers.rank, peers.size);
  if (position.parent >= 0) {
    message.clear();
    if (!peers.receive(peers.state, position.parent, message, deadline_monotonic_ns)) return false;
  }
  // The largest subtree first, because it needs the most steps.
  for (int i = position.children; i-- > 0;)
    if (!peers.send(peers.state, position.child[i], message, deadline_monotonic_ns)) return false;
  return true;
}

}  // namespace refrain::record
