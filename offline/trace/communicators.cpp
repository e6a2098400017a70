#include "offline/trace/communicators.hpp"

namespace refrain::trace {

void Communicators::add(const experiment::Rank& rank) {
  auto& own = of_rank_[rank.rank];
  for (const experiment::Communicator& c : rank.communicators) {
    const auto parent = own.find(c.parent);
    const std::int32_t parent_index = parent == own.end() ? -1 : parent->second.index;
    const auto [at, is_new] =
        index_.try_emplace({parent_index, c.ordinal, c.leader}, static_cast<std::int32_t>(all_.size()));
    if (is_new)
      all_.push_back(
          {.name = c.name, .parent = parent_index, .members = c.members, .size = c.size, .remote_size = c.remote_size});
    own[c.id] = {at->second, c.members, c.size, c.remote_size};
  }
}

void Communicators::add(CommunicatorOfTrace communicator) {
  is_shared_ = true;
  all_.push_back(std::move(communicator));
}

std::int32_t Communicators::index_of(std::int32_t rank, std::int32_t id) const {
  if (is_shared_) return id >= 0 && static_cast<std::size_t>(id) < all_.size() ? id : -1;
  const auto own = of_rank_.find(rank);
  if (own == of_rank_.end()) return -1;
  const auto at = own->second.find(id);
  return at == own->second.end() ? -1 : at->second.index;
}

std::int32_t Communicators::rank_of_shared(std::int32_t from, std::int32_t index, std::int32_t peer) const {
  if (index < 0 || static_cast<std::size_t>(index) >= all_.size() || peer < 0) return -1;
  const CommunicatorOfTrace& of = all_[static_cast<std::size_t>(index)];
  if (of.is_self) return peer == 0 ? from : -1;
  std::size_t place = static_cast<std::size_t>(peer);
  if (of.remote_size > 0) {  // a member of one group refers to the other one
    const auto size = static_cast<std::size_t>(of.size);
    bool is_of_first = false;
    for (std::size_t i = 0; i < size && !is_of_first; ++i) is_of_first = of.members[i] == from;
    if (is_of_first) place += size;
    else if (place >= size) return -1;
  }
  return place < of.members.size() ? of.members[place] : -1;
}

std::int32_t Communicators::rank_of(std::int32_t from, std::int32_t id, std::int32_t peer) const {
  if (is_shared_) return rank_of_shared(from, id, peer);
  const auto own = of_rank_.find(from);
  if (own == of_rank_.end() || peer < 0) return -1;
  const auto at = own->second.find(id);
  if (at == own->second.end()) return -1;
  const Own& of = at->second;
  const std::size_t place =
      static_cast<std::size_t>(peer) + (of.remote_size > 0 ? static_cast<std::size_t>(of.size) : 0);
  return place < of.members.size() ? of.members[place] : -1;
}

}  // namespace refrain::trace
