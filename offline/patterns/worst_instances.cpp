#include "offline/patterns/worst_instances.hpp"

#include <algorithm>
#include <tuple>

namespace refrain::patterns {

bool is_worse(const Instance& a, const Instance& b) {
  return std::tuple(-a.ns, a.location, a.enter_ns) < std::tuple(-b.ns, b.location, b.enter_ns);
}

void WorstInstances::add(Quantity quantity, const Call& call, std::int64_t ns) {
  const std::uint64_t key = std::uint64_t{quantity} << 32 | call.path;
  std::vector<Instance>& worst = worst_[key];
  auto at = std::ranges::find_if(
      worst, [&](const Instance& of) { return of.location == call.location && of.enter_ns == call.enter_ns; });
  if (at == worst.end()) {
    Instance made{.location = call.location, .enter_ns = call.enter_ns, .ns = ns, .span = call.span};
    if (ns <= 0 || (worst.size() == most && !is_worse(made, worst.back()))) return;
    if (worst.size() == most) worst.pop_back();
    if (const Ended& ended = ended_[call.location][call.span % remembered]; ended.span == call.span) {
      made.loop = ended.loop;
      made.iteration = ended.iteration;
    }
    at = worst.insert(worst.end(), made);
    touched_[call.location].push_back(key);
  } else {
    at->ns += ns;
  }
  std::ranges::sort(worst, is_worse);
}

void WorstInstances::end_span(std::uint32_t location, std::uint32_t span, const SpanEnd& end) {
  for (const std::uint64_t key : touched_[location])
    for (Instance& of : worst_[key])
      if (of.location == location && of.span == span) {
        of.loop = end.loop;
        of.iteration = end.number;
      }
  touched_[location].clear();
  ended_[location][span % remembered] = {span, end.loop, end.number};
}

std::vector<std::pair<std::uint32_t, std::vector<Instance>>> WorstInstances::of(Quantity quantity) const {
  std::vector<std::pair<std::uint32_t, std::vector<Instance>>> all;
  for (const auto& [key, worst] : worst_)
    if (key >> 32 == quantity) all.emplace_back(static_cast<std::uint32_t>(key), worst);
  std::ranges::sort(all, {}, [](const auto& of) { return of.first; });
  return all;
}

}  // namespace refrain::patterns
