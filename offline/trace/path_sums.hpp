#pragma once
/// What the locations of a trace did at each call path, excluding the calls made there: one pass over all events.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "offline/trace/trace.hpp"

namespace refrain::trace {

struct PathSum {
  std::int64_t ns = 0, visits = 0;
  std::int64_t bytes_sent = 0, bytes_received = 0;  ///< by messages, collective and one-sided operations
  std::int64_t bytes_read = 0, bytes_written = 0;   ///< of files
};

/// By location, by call path of the trace. Time of a location outside of any call belongs to no path. Throws
/// experiment::ReadError.
std::vector<std::map<std::uint32_t, PathSum>> sums_by_path(const Trace& trace);

/// The nodes of a tree of names, by call path of the trace, made on request. `Below` makes the node of a region below
/// another node.
template <class Number, class Below>
class PathNodes {
 public:
  /// `top`: the node above the top-level nodes. The trace must outlive it.
  PathNodes(const Trace& trace, Number top, Below below) : trace_(trace), top_(top), below_(std::move(below)) {}

  Number of(std::uint32_t path) {
    if (path == no_path) return top_;
    if (const auto at = known_.find(path); at != known_.end()) return at->second;
    std::vector<std::uint32_t> way;  // no recursion: archives may come from anywhere
    for (std::uint32_t at = path; at != no_path && !known_.contains(at) && way.size() < deepest;
         at = trace_.parent_of(at))
      way.push_back(at);
    for (auto at = way.rbegin(); at != way.rend(); ++at) {
      const auto above = known_.find(trace_.parent_of(*at));
      known_.emplace(*at, below_(above == known_.end() ? top_ : above->second, trace_.region(*at)));
    }
    return known_.at(path);
  }

 private:
  static constexpr std::size_t deepest = 100'000;
  const Trace& trace_;
  Number top_;
  Below below_;
  std::map<std::uint32_t, Number> known_;
};

}  // namespace refrain::trace
