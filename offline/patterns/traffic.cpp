#include "offline/patterns/traffic.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

namespace refrain::patterns {
namespace {

using trace::Event;

/// A call that is not over.
struct OpenCall {
  std::int64_t begin_ns = 0;
  std::vector<std::int32_t> communicators;  ///< each once
};

class TrafficCount {
 public:
  TrafficCount(const trace::Trace& trace, const Naming& naming)
      : trace_(trace), naming_(naming), open_(trace.locations().size()) {}

  void add(const Event& event) {
    auto& calls = open_[event.location];
    switch (event.type) {
      case trace::Type::Enter: calls.push_back({event.time_ns, {}}); return;
      case trace::Type::Communication:
        if (!calls.empty()) communicate(event, calls.back());
        return;
      case trace::Type::Leave:
        if (calls.empty()) return;
        leave(event, calls.back());
        calls.pop_back();
        return;
      case trace::Type::Gap: calls.clear(); return;
      default: return;
    }
  }

  Traffic result() const {
    Traffic traffic;
    for (auto at = partners_.begin(); at != partners_.end();) {
      const std::uint32_t node = at->first.first;
      Traffic::Partners of{node, static_cast<std::int64_t>(at->second.size()), 0};
      for (; at != partners_.end() && at->first.first == node; ++at) {
        const auto count = static_cast<std::int64_t>(at->second.size());
        of.fewest = std::min(of.fewest, count);
        of.most = std::max(of.most, count);
      }
      traffic.partners.push_back(of);
    }
    for (const auto& [place, of] : times_)
      traffic.communicators.push_back({place.first, place.second, of.ns, of.calls});
    return traffic;
  }

 private:
  struct Time {
    double ns = 0;
    std::int64_t calls = 0;
  };

  void communicate(const Event& event, OpenCall& call) {
    const events::Record& record = event.record;
    const std::int32_t rank = trace_.locations()[event.location].rank;
    if (events::is_of_window(record.kind)) {
      const std::int32_t window = trace_.window_index(rank, record.communicator);
      if (window < 0) return;
      note(call, trace_.windows()[static_cast<std::size_t>(window)].communicator);
      return;
    }
    if (!events::is_message(record.kind) && record.kind != events::Kind::Collective) return;
    note(call, trace_.communicators().index_of(rank, record.communicator));
    if (!events::is_message(record.kind) || event.path == trace::no_path) return;
    const std::int32_t partner = trace_.communicators().rank_of(rank, record.communicator, record.peer);
    if (partner >= 0) partners_[{naming_.node_of(event.path), event.location}].insert(partner);
  }

  static void note(OpenCall& call, std::int32_t communicator) {
    if (std::ranges::find(call.communicators, communicator) == call.communicators.end())
      call.communicators.push_back(communicator);
  }

  void leave(const Event& event, const OpenCall& call) {
    if (event.path == trace::no_path || call.communicators.empty()) return;
    const double ns = static_cast<double>(event.time_ns - call.begin_ns);
    for (const std::int32_t communicator : call.communicators) {
      Time& to = times_[{naming_.node_of(event.path), communicator}];
      to.ns += ns / static_cast<double>(call.communicators.size());
      ++to.calls;
    }
  }

  const trace::Trace& trace_;
  const Naming& naming_;
  std::vector<std::vector<OpenCall>> open_;                                                       ///< by location
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unordered_set<std::int32_t>> partners_;  ///< node, location
  std::map<std::pair<std::uint32_t, std::int32_t>, Time> times_;  ///< node, communicator
};

}  // namespace

Traffic traffic_of(const trace::Trace& trace, const Naming& naming) {
  TrafficCount count(trace, naming);
  auto reader = trace.read();
  while (const Event* event = reader.next()) count.add(*event);
  return count.result();
}

}  // namespace refrain::patterns
