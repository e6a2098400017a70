#include "record/tree_exchange.hpp"

namespace refrain::record {

TreePlace place_in_tree(int rank, int size) {
  TreePlace place{rank == 0 ? -1 : rank & (rank - 1), 0, {}};
  for (int bit = 0; bit < 31; ++bit) {
    const std::int64_t step = std::int64_t{1} << bit;
    if ((rank != 0 && (rank & step) != 0) || rank + step >= size) break;
    place.child[place.children++] = static_cast<int>(rank + step);
  }
  return place;
}

bool broadcast(const measurement::Peers& peers, platform::Bytes& message, std::int64_t deadline_monotonic_ns) {
  const TreePlace place = place_in_tree(peers.rank, peers.size);
  if (place.parent >= 0) {
    message.clear();
    if (!peers.receive(peers.state, place.parent, message, deadline_monotonic_ns)) return false;
  }
  // The largest subtree first, because it needs the most steps.
  for (int i = place.children; i-- > 0;)
    if (!peers.send(peers.state, place.child[i], message, deadline_monotonic_ns)) return false;
  return true;
}

}  // namespace refrain::record
