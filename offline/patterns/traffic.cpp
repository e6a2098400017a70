#include "offline/patterns/traffic.hpp"

#include <algorithm>

namespace refrain::patterns {

void TrafficCount::add(const trace::Event& event) {
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

Traffic TrafficCount::result() const {
  Traffic traffic;
  for (const auto& [place, ranks] : partners_) {
    const auto count = static_cast<std::int64_t>(ranks.size());
    auto& all = traffic.partners;
    if (all.empty() || all.back().path != place.first) all.push_back({place.first, count, count});
    all.back().fewest = std::min(all.back().fewest, count);
    all.back().most = std::max(all.back().most, count);
  }
  for (const auto& [place, of] : times_) {
    double ns = 0;
    for (const auto& [shared_by, sum_ns] : of.ns) ns += static_cast<double>(sum_ns) / static_cast<double>(shared_by);
    traffic.communicators.push_back({place.first, place.second, ns / 1e9, of.calls});
  }
  return traffic;
}

void TrafficCount::communicate(const trace::Event& event, OpenCall& call) {
  const events::Record& record = event.record;
  const std::int32_t rank = trace_.locations()[event.location].rank;
  if (events::is_of_window(record.kind)) {
    const std::int32_t window = trace_.window_index(rank, record.communicator);
    if (window >= 0) note(call, trace_.windows()[static_cast<std::size_t>(window)].communicator);
    return;
  }
  if (!events::is_message(record.kind) && record.kind != events::Kind::Collective) return;
  note(call, trace_.communicators().index_of(rank, record.communicator));
  if (!events::is_message(record.kind) || event.path == trace::no_path) return;
  const std::int32_t partner = trace_.communicators().rank_of(rank, record.communicator, record.peer);
  if (partner >= 0) partners_[{event.path, event.location}].insert(partner);
}

void TrafficCount::note(OpenCall& call, std::int32_t communicator) {
  if (std::ranges::find(call.communicators, communicator) == call.communicators.end())
    call.communicators.push_back(communicator);
}

void TrafficCount::leave(const trace::Event& event, const OpenCall& call) {
  if (event.path == trace::no_path) return;
  for (const std::int32_t communicator : call.communicators) {
    Time& to = times_[{event.path, communicator}];
    to.ns[call.communicators.size()] += event.time_ns - call.begin_ns;
    ++to.calls;
  }
}

}  // namespace refrain::patterns
