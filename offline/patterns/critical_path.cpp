#include "offline/patterns/critical_path.hpp"

#include <algorithm>

namespace refrain::patterns {
namespace {

Activity call_of(std::uint32_t location, std::uint32_t path) { return {location, true, path, trace::no_path}; }

void add(std::map<Activity, std::int64_t>& times, const Activity& activity, std::int64_t ns) {
  if (ns > 0) times[activity] += ns;
}

}  // namespace

/// Not recursive, because a chain of nodes may be long.
CriticalPath::Node::~Node() {
  while (before && before.use_count() == 1) {
    std::shared_ptr<Node> next = std::move(before->before);
    before = std::move(next);
  }
}

CriticalPath::CriticalPath(Search& search) : of_location_(search.trace().locations().size()) {
  search.subscribe<Call>([this](const Call& of) { call(of); });
  search.subscribe<Waited>([this](const Waited& of) { waited(of); });
  search.subscribe<Break>([this](const Break&) { is_known_ = false; });
}

void CriticalPath::call(const Call& call) {
  if (call.call_class == trace::CallClass::NotMpi || !is_known_) return;
  OfLocation& of = of_location_[call.location];
  of.calls.take_out_inner(call, [&](const Past& inner) {
    all_ns_[call_of(0, inner.path)] -= inner.leave_ns - inner.enter_ns - inner.waiting_ns;
  });
  Past past{call.enter_ns, call.leave_ns, call.path, 0, std::make_shared<Node>()};
  const bool has_before = !of.calls.empty();
  if (has_before) past.node->before = of.calls.last().node;
  const Activity computation{call.location, false, has_before ? of.calls.last().path : trace::no_path, call.path};
  const std::int64_t computed_ns = call.enter_ns - (has_before ? of.calls.last().leave_ns : 0);
  add(past.node->ns, computation, computed_ns);
  add(past.node->ns, call_of(call.location, call.path), call.time_ns());
  all_ns_[{0, false, computation.before, computation.after}] += computed_ns;
  all_ns_[call_of(0, call.path)] += call.time_ns();
  of.has_calls = true;
  Past& added = of.calls.add(std::move(past));
  if (const Waited* early = of.calls.early_wait(call.enter_ns)) wait(added, *early);
  if (of.calls.forget_oldest()) {
    of.has_forgotten = true;
    put_together(*of.calls.first().node);
  }
}

void CriticalPath::waited(const Waited& of) {
  if (!is_known_) return;
  RecentCalls<Past>& calls = of_location_[of.waiter.location].calls;
  if (Past* const call = calls.at(of.waiter.ns)) wait(*call, of);
  else calls.wait_before_it_is_told(of);
}

/// If a call waited for several others, the last one counts.
void CriticalPath::wait(Past& past, const Waited& of) {
  if (of.waiting_ns <= past.waiting_ns) return;
  const OfLocation& delayer = of_location_[of.delayer.location];
  const std::int64_t until_ns = std::min(of.waiter.ns + of.waiting_ns, past.leave_ns);
  // Ends descend along the path whatever the clocks say, so the path has no cycles.
  const auto& calls = delayer.calls.all();
  const auto before = std::ranges::find_if(calls.rbegin(), calls.rend(), [&](const Past& call) {
    return call.leave_ns <= until_ns && call.leave_ns < past.leave_ns;
  });
  const bool has_before = before != calls.rend();
  if (!has_before && delayer.has_forgotten) return;
  all_ns_[call_of(0, past.path)] -= of.waiting_ns - past.waiting_ns;
  past.waiting_ns = of.waiting_ns;
  Node& node = *past.node;
  node.ns.clear();
  node.before = has_before ? before->node : nullptr;
  add(node.ns, {of.delayer.location, false, has_before ? before->path : trace::no_path, of.delayer.path},
      until_ns - (has_before ? before->leave_ns : 0));
  add(node.ns, call_of(of.waiter.location, past.path), past.leave_ns - until_ns);
}

/// Merges the node with the preceding nodes to which it alone refers.
void CriticalPath::put_together(Node& node) {
  while (node.before && node.before.use_count() == 1) {
    const std::shared_ptr<Node> before = std::move(node.before);
    node.before = std::move(before->before);
    // The older node usually has more entries.
    std::swap(node.ns, before->ns);
    for (const auto& [activity, ns] : before->ns) node.ns[activity] += ns;
  }
}

std::optional<std::vector<CriticalActivity>> CriticalPath::found() const {
  if (!is_known_) return std::nullopt;
  const Past* last = nullptr;
  double locations = 0;
  for (const OfLocation& of : of_location_) {
    if (of.has_calls) ++locations;
    for (const Past& past : of.calls.all())
      if (!last || past.leave_ns > last->leave_ns) last = &past;
  }
  std::map<Activity, std::int64_t> on_path;
  for (const Node* node = last ? last->node.get() : nullptr; node; node = node->before.get())
    for (const auto& [activity, ns] : node->ns) on_path[activity] += ns;
  std::vector<CriticalActivity> all;
  for (const auto& [activity, ns] : on_path) {
    Activity of_any = activity;
    of_any.location = 0;
    // If clocks contradict each other, other calls may lie in between, and no location has this activity.
    const auto all_of_it = all_ns_.find(of_any);
    const double mean = all_of_it == all_ns_.end() ? 0 : static_cast<double>(all_of_it->second) / locations;
    all.push_back({activity, ns, std::max(static_cast<double>(ns) - mean, 0.0)});
  }
  std::ranges::stable_sort(all, std::greater<>{}, &CriticalActivity::ns);
  return all;
}

}  // namespace refrain::patterns
