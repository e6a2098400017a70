#include "offline/analysis/windows.hpp"

#include <map>
#include <tuple>

namespace refrain::analysis {
namespace {

/// Gives the communicators of all ranks numbers that are the same on the whole job.
class CommunicatorNumbers {
 public:
  /// By communicator id of this rank; -1: there is none.
  std::vector<std::int64_t> of(const experiment::RankDefinition& rank) {
    std::vector<std::int64_t> numbers;
    for (const experiment::Communicator& c : rank.communicators) {
      const auto id = static_cast<std::size_t>(c.id);
      if (c.id < 0 || id > rank.communicators.size()) continue;
      const bool has_parent = c.parent >= 0 && static_cast<std::size_t>(c.parent) < numbers.size();
      const std::int64_t parent = has_parent ? numbers[static_cast<std::size_t>(c.parent)] : -1;
      // Each process has its own communicators of one process; those of MPI_COMM_SELF have its ordinal in common.
      const std::int32_t alone = c.size == 1 && c.remote_size == 0 ? rank.rank : -1;
      if (numbers.size() <= id) numbers.resize(id + 1, -1);
      numbers[id] = numbers_.try_emplace({parent, c.ordinal, c.leader, alone}, numbers_.size()).first->second;
    }
    return numbers;
  }

 private:
  std::map<std::tuple<std::int64_t, std::int32_t, std::int32_t, std::int32_t>, std::int64_t> numbers_;
};

/// Ids are indices in the list unless the file is malformed.
const experiment::Communicator* communicator_of(const experiment::RankDefinition& rank, std::int32_t id) {
  const auto at = static_cast<std::size_t>(id);
  return id >= 0 && at < rank.communicators.size() && rank.communicators[at].id == id ? &rank.communicators[at]
                                                                                      : nullptr;
}

/// The name of the nearest ancestor that has one, then the ordinals down to this communicator.
std::string describe(const experiment::RankDefinition& rank, std::int32_t id) {
  constexpr std::size_t most = 8;
  std::vector<std::int32_t> ordinals;
  const experiment::Communicator* c = communicator_of(rank, id);
  for (; c != nullptr && c->name.empty() && ordinals.size() < most; c = communicator_of(rank, c->parent))
    ordinals.push_back(c->ordinal);
  std::string text = c == nullptr ? "?" : c->name.empty() ? "..." : c->name;
  for (std::size_t i = ordinals.size(); i-- > 0;) {
    text += '/';
    text += ordinals[i] < 0 ? "group" : std::to_string(ordinals[i]);
  }
  return text;
}

}  // namespace

const char* name_of(format::WindowKind kind) {
  static constexpr const char* names[] = {"created", "allocated", "shared", "dynamic"};
  return names[static_cast<std::size_t>(kind)];
}

std::int32_t world_rank(const experiment::RankDefinition& rank, const experiment::Window& window, std::int32_t target) {
  const experiment::Communicator* communicator = communicator_of(rank, window.communicator);
  const auto at = static_cast<std::size_t>(target);
  return communicator && at < communicator->members.size() ? communicator->members[at] : -1;
}

JobWindows match_windows(std::span<const experiment::RankDefinition* const> ranks) {
  JobWindows job;
  CommunicatorNumbers numbers;
  /// By communicator and place among its windows. If the communicator is not known, the rank counts as one of its own.
  std::map<std::tuple<std::int64_t, std::int32_t, std::size_t>, std::size_t> known;
  for (const experiment::RankDefinition* of : ranks) {
    const experiment::RankDefinition& rank = *of;
    const auto of_communicators = numbers.of(rank);
    std::map<std::int64_t, std::size_t> before;
    auto& own = job.of_rank.emplace_back();
    for (const experiment::Window& window : rank.windows) {
      const experiment::Communicator* communicator = communicator_of(rank, window.communicator);
      const std::int64_t number = communicator ? of_communicators[static_cast<std::size_t>(communicator->id)] : -1;
      const auto [at, is_new] =
          known.try_emplace({number, number < 0 ? rank.rank : -1, before[number]++}, job.windows.size());
      if (is_new)
        job.windows.push_back({describe(rank, window.communicator), window.kind, window.name, window.made, {}});
      own.push_back(at->second);
      for (const auto& traffic : window.targets)
        job.windows[at->second].pairs.push_back({rank.rank, world_rank(rank, window, traffic.target), traffic});
    }
  }
  return job;
}

}  // namespace refrain::analysis
