#include "offline/patterns/distribution.hpp"

#include <algorithm>
#include <map>

namespace refrain::patterns {

Distribution::Distribution(const trace::Trace& trace, int process, int processes)
    : process_(process), processes_(processes), of_location_(trace.locations().size()) {
  std::map<std::int32_t, std::uint64_t> records;  // by rank
  std::uint64_t all = 0;
  for (const trace::LocationOfTrace& of : trace.locations()) {
    records[of.rank] += of.records + 1;
    all += of.records + 1;
  }
  if (!records.empty()) of_rank_.assign(static_cast<std::size_t>(std::max(records.rbegin()->first, 0)) + 1, absent);
  std::map<std::int32_t, int> of_rank;
  std::uint64_t before = 0;
  for (const auto& [rank, count] : records) {
    // The middle of a rank's records decides.
    const std::uint64_t at = (before + count / 2) * static_cast<std::uint64_t>(processes) / all;
    of_rank[rank] = static_cast<int>(at);
    if (rank >= 0) of_rank_[static_cast<std::size_t>(rank)] = static_cast<int>(at);
    before += count;
  }
  for (std::size_t location = 0; location < of_location_.size(); ++location)
    of_location_[location] = of_rank[trace.locations()[location].rank];
}

std::vector<std::uint32_t> Distribution::own_locations() const {
  std::vector<std::uint32_t> own;
  for (std::uint32_t location = 0; location < of_location_.size(); ++location)
    if (is_own(location)) own.push_back(location);
  return own;
}

std::vector<Distribution::Members> Distribution::members_of(const trace::Trace& trace) const {
  std::vector<Members> all;
  for (const trace::CommunicatorOfTrace& communicator : trace.communicators().all()) {
    Members& of = all.emplace_back();
    for (std::size_t i = 0; i < communicator.members.size(); ++i) {
      const std::int32_t rank = communicator.members[i];
      const int process = is_numbered(rank) ? of_rank_[static_cast<std::size_t>(rank)] : absent;
      if (process == absent) continue;
      ++of.in_trace;
      of.own += process == process_;
      if (of.processes.empty() || of.processes.back() != process) of.processes.push_back(process);
    }
    std::ranges::sort(of.processes);
    of.processes.erase(std::ranges::unique(of.processes).begin(), of.processes.end());
  }
  return all;
}

}  // namespace refrain::patterns
