#include "offline/trace/windows.hpp"

#include <utility>

namespace refrain::trace {

void Windows::add(const experiment::Rank& rank, const Communicators& communicators) {
  std::vector<std::int32_t>& own = of_rank_[rank.rank];
  std::map<std::pair<std::int32_t, format::WindowKind>, std::int32_t> made;
  for (const experiment::Window& window : rank.windows) {
    const std::int32_t communicator = communicators.index_of(rank.rank, window.communicator);
    const std::int32_t place = made[{communicator, window.kind}]++;
    const auto [at, is_new] =
        index_.try_emplace({communicator, window.kind, place}, static_cast<std::int32_t>(all_.size()));
    if (is_new) all_.push_back({window.name, communicator});
    own.push_back(communicator < 0 ? -1 : at->second);
  }
}

std::int32_t Windows::index_of(std::int32_t rank, std::int32_t id) const {
  const auto own = of_rank_.find(rank);
  if (own == of_rank_.end() || id < 0 || static_cast<std::size_t>(id) >= own->second.size()) return -1;
  return own->second[static_cast<std::size_t>(id)];
}

}  // namespace refrain::trace
