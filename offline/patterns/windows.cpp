#include "offline/patterns/windows.hpp"

#include <algorithm>

namespace refrain::patterns {

using trace::WindowStep;

Search::Windows::Windows(Search& search)
    : search_(search), known_until_ns_(search.distribution_ ? INT64_MIN : INT64_MAX) {
  for (const trace::LocationOfTrace& of : search.trace_.locations()) ranks_.insert(of.rank);
}

std::int32_t Search::Windows::communicator_of(std::int32_t window) const {
  return search_.trace_.windows()[static_cast<std::size_t>(window)].communicator;
}

/// An own epoch has ended.
template <class Epoch>
void Search::Windows::end(const Epoch& epoch, std::vector<Epoch> ForOthers::*told) {
  if (search_.distribution_) (for_others_[communicator_of(epoch.window)].*told).push_back(epoch);
  add(epoch);
}

void Search::Windows::leave(const Call& call, const WindowUse& use, WindowStep step) {
  const std::int32_t rank = rank_of(call.location);
  Open& open = open_[rank];
  switch (step) {
    case WindowStep::Fence:
      ++search_.counts_.window_epochs;
      if (use.ordinal == events::no_ordinal) return leave_out(call);
      return end({use.window, use.ordinal, call}, &ForOthers::fences);
    case WindowStep::Start: open.accesses[use.window] = {use.window, rank, {}, {{call, -1}}}; return;
    case WindowStep::Complete:
      if (const auto at = open.accesses.find(use.window); at != open.accesses.end()) {
        at->second.calls.push_back({call, -1});
        search_.counts_.window_epochs += at->second.targets.size();
        end(at->second, &ForOthers::accesses);
        open.accesses.erase(at);
      } else {
        ++search_.counts_.window_epochs;
        leave_out(call);
      }
      return;
    case WindowStep::Post: open.posts[use.window] = call; return;
    case WindowStep::Wait:
      if (const auto at = open.posts.find(use.window); at != open.posts.end()) {
        end({use.window, rank, at->second, call}, &ForOthers::exposures);
        open.posts.erase(at);
      }
      return;
    case WindowStep::Lock:
    case WindowStep::Unlock:
      // An unknown target cannot be matched with the target of another process.
      if (use.target < 0) return;
      if (step == WindowStep::Lock) {
        open.locks[{use.window, use.target}] = {use.window, rank, use.target, use.is_exclusive, {{call, -1}}};
      } else if (const auto at = open.locks.find({use.window, use.target}); at != open.locks.end()) {
        at->second.calls.push_back({call, -1});
        end(at->second, &ForOthers::locks);
        open.locks.erase(at);
      }
      return;
    case WindowStep::None: return operation(call, use);
  }
}

/// A one-sided operation, or a call that completes some of them.
void Search::Windows::operation(const Call& call, const WindowUse& use) {
  Open& open = open_[rank_of(call.location)];
  bool is_locked = false;
  const bool is_for_all = use.target < 0;
  for (auto epoch = open.locks.lower_bound({use.window, is_for_all ? INT32_MIN : use.target});
       epoch != open.locks.end() && epoch->first.first == use.window &&
       (is_for_all || epoch->first.second == use.target);
       ++epoch) {
    is_locked = true;
    if (epoch->second.calls.size() < most_calls) epoch->second.calls.push_back({call, use.target});
  }
  const auto at = open.accesses.find(use.window);
  if (is_locked || at == open.accesses.end() || use.target < 0) return;
  AccessEpoch& access = at->second;
  if (access.calls.size() < most_calls) access.calls.push_back({call, use.target});
  const auto target = std::ranges::find(access.targets, use.target, &AccessEpoch::Target::rank);
  if (target == access.targets.end()) access.targets.push_back({use.target, call.leave_ns});
  else target->last_ns = std::max(target->last_ns, call.leave_ns);
}

void Search::Windows::forget(std::uint32_t location) {
  const auto at = open_.find(rank_of(location));
  if (at == open_.end()) return;
  for (const auto& [window, access] : at->second.accesses) {
    search_.counts_.window_epochs += access.targets.size();
    search_.counts_.window_epochs_left_out += access.targets.size();
  }
  open_.erase(at);
}

/// If so, the access did not wait for the exposure: the MPI library kept its operations until then, or the access
/// belongs to another exposure.
bool Search::Windows::is_over_before(const AccessEpoch& access, const ExposureEpoch& exposure) {
  return access.complete().leave_ns < exposure.post.enter_ns;
}

/// The access has met no exposure that it may have waited for.
void Search::Windows::leave_without(const AccessEpoch& access) {
  if (search_.counts_.is_sample || search_.counts_.gaps > 0) leave_out(access.complete());
}

void Search::Windows::add(const AccessEpoch& epoch) {
  const auto shared = std::make_shared<const AccessEpoch>(epoch);
  for (const AccessEpoch::Target& of : epoch.targets) {
    if (!is_in_trace(of.rank)) {
      leave_out(epoch.complete());
      continue;
    }
    Target& to = targets_[{epoch.window, of.rank}];
    std::int64_t& met_until_ns = to.met_until_ns.try_emplace(epoch.rank, INT64_MIN).first->second;
    std::deque<SharedAccess>& waiting = to.accesses[epoch.rank];
    const std::int64_t least_ns = epoch.complete().enter_ns;
    const auto exposure = std::ranges::lower_bound(to.exposures, std::max(least_ns, met_until_ns + 1), {},
                                                   [](const ExposureEpoch& e) { return e.wait.leave_ns; });
    if (waiting.empty() && exposure != to.exposures.end()) {
      if (is_over_before(epoch, *exposure)) {
        leave_without(epoch);
        continue;
      }
      met_until_ns = exposure->wait.leave_ns;
      meet(epoch, *exposure);
      continue;
    }
    waiting.push_back(shared);
    if (waiting.size() > most_waiting && waiting.front()->complete().leave_ns < known_until_ns_) {
      leave_out(waiting.front()->complete());
      waiting.pop_front();
    }
  }
}

void Search::Windows::add(const ExposureEpoch& epoch) {
  Target& of = targets_[{epoch.window, epoch.rank}];
  of.exposures.push_back(epoch);
  while (of.exposures.size() > most_recent && of.exposures.front().wait.leave_ns < known_until_ns_)
    of.exposures.pop_front();
  for (auto& [origin, waiting] : of.accesses) {
    for (; !waiting.empty() && is_over_before(*waiting.front(), epoch); waiting.pop_front())
      leave_without(*waiting.front());
    if (waiting.empty() || waiting.front()->complete().enter_ns > epoch.wait.leave_ns) continue;
    of.met_until_ns[origin] = epoch.wait.leave_ns;
    meet(*waiting.front(), epoch);
    waiting.pop_front();
  }
}

/// The origin waited until its target had begun the exposure, and the target until the origin ended its access.
void Search::Windows::meet(const AccessEpoch& access, const ExposureEpoch& exposure) const {
  const Moment posted = begin_of(exposure.post);
  for (const EpochCall& of : access.calls)
    if ((of.target < 0 || of.target == exposure.rank) && of.call.enter_ns < posted.ns && posted.ns < of.call.leave_ns)
      publish({WindowWait::Of::Post, of.call, posted, posted.ns - of.call.enter_ns, 0});
  const Call &wait = exposure.wait, &complete = access.complete();
  if (complete.enter_ns <= wait.enter_ns || complete.enter_ns >= wait.leave_ns) return;
  const auto target = std::ranges::find(access.targets, exposure.rank, &AccessEpoch::Target::rank);
  const std::int64_t idle_since_ns = std::max(target->last_ns, wait.enter_ns);
  publish({WindowWait::Of::Complete, wait, begin_of(complete), complete.enter_ns - wait.enter_ns,
           std::max(complete.enter_ns - idle_since_ns, std::int64_t{0})});
}

void Search::Windows::add(const LockEpoch& epoch) {
  Target& of = targets_[{epoch.window, epoch.target}];
  meet(epoch, of.exclusive);
  if (epoch.is_exclusive) meet(epoch, of.shared);
  keep(epoch.is_exclusive ? of.exclusive : of.shared, epoch);
}

void Search::Windows::meet(const LockEpoch& epoch, const Locks& others) const {
  const auto& by_end = others.by_end;
  for (auto at = by_end.upper_bound(epoch.begin_ns()); at != by_end.end(); ++at) {
    const LockEpoch& other = at->second;
    // All further locks begin after this one has ended.
    if (other.end_ns() - others.longest_ns >= epoch.end_ns()) break;
    if (other.rank == epoch.rank || other.begin_ns() >= epoch.end_ns()) continue;
    // The process that released the lock first held it first.
    const bool is_last = std::pair(epoch.end_ns(), epoch.rank) > std::pair(other.end_ns(), other.rank);
    if (is_last) wait_for(epoch, other);
    else wait_for(other, epoch);
  }
}

/// While one process holds the lock, the other cannot: a call during which the holder releases the lock has waited.
void Search::Windows::wait_for(const LockEpoch& waiting, const LockEpoch& holding) const {
  const Moment unlocked = begin_of(holding.unlock());
  for (const EpochCall& of : waiting.calls)
    if (of.call.enter_ns < unlocked.ns && unlocked.ns < of.call.leave_ns)
      publish({WindowWait::Of::Unlock, of.call, unlocked, unlocked.ns - of.call.enter_ns, 0});
}

void Search::Windows::keep(Locks& locks, const LockEpoch& epoch) const {
  auto& kept = locks.by_end.emplace(epoch.end_ns(), epoch)->second.calls;
  // All epochs that follow end later: none of these calls waited for them.
  if (!search_.distribution_) kept = {kept.front(), kept.back()};
  locks.longest_ns = std::max(locks.longest_ns, epoch.end_ns() - epoch.begin_ns());
  while (locks.by_end.size() > most_recent && locks.by_end.begin()->first < known_until_ns_)
    locks.by_end.erase(locks.by_end.begin());
}

void Search::Windows::add(const Fence& fence) {
  const auto [whole, is_first] = is_whole_.try_emplace(fence.window, false);
  const std::int32_t communicator = communicator_of(fence.window);
  const trace::CommunicatorOfTrace& of = search_.trace_.communicators().all()[static_cast<std::size_t>(communicator)];
  const auto size = static_cast<std::size_t>(of.size);
  if (is_first) {
    whole->second = of.members.size() == size;
    for (std::size_t i = 0; i < of.members.size() && whole->second; ++i) whole->second = is_in_trace(of.members[i]);
  }
  if (!whole->second) return leave_out(fence.call);
  const auto [at, is_new] = fences_.try_emplace({fence.window, fence.ordinal});
  if (is_new) fences_in_order_.push_back(at->first);
  std::vector<Call>& calls = at->second;
  calls.push_back(fence.call);
  ++fence_parts_;
  if (calls.size() == size) {
    const Call last =
        *std::ranges::max_element(calls, {}, [](const Call& call) { return std::pair(call.enter_ns, call.location); });
    // A call that was left before the last one was entered did not wait for it: the program said that nothing precedes.
    for (const Call& call : calls)
      if (last.enter_ns > call.enter_ns && last.enter_ns <= call.leave_ns)
        publish({WindowWait::Of::Fence, call, begin_of(last), last.enter_ns - call.enter_ns, 0});
    fence_parts_ -= size;
    fences_.erase(at);
  }
  while (!fences_in_order_.empty()) {
    const auto oldest = fences_.find(fences_in_order_.front());
    if (oldest != fences_.end()) {
      if (fence_parts_ <= most_fence_parts || oldest->second.front().leave_ns >= known_until_ns_) break;
      for (const Call& call : oldest->second) leave_out(call);
      fence_parts_ -= oldest->second.size();
      fences_.erase(oldest);
    }
    fences_in_order_.pop_front();
  }
  // Complete fences behind one with a missing part.
  constexpr std::size_t most_behind = 65536;
  if (fences_in_order_.size() > 2 * fences_.size() + most_behind)
    std::erase_if(fences_in_order_, [&](const auto& key) { return !fences_.contains(key); });
}

void Search::Windows::finish() {
  for (const auto& [key, calls] : fences_)
    for (const Call& call : calls) leave_out(call);
  for (const auto& [key, target] : targets_)
    for (const auto& [origin, waiting] : target.accesses)
      for (const SharedAccess& access : waiting) leave_out(access->complete());
}

/// It is unknown which process the epoch that ends with the call waited for.
void Search::Windows::leave_out(const Call& call) {
  search_.counts_.window_epochs_left_out += search_.looks_at(call.location);
  search_.add_untold(untold_others, call);
}

void Search::Windows::publish(const WindowWait& wait) const {
  if (wait.waiting_ns > 0 && search_.looks_at(wait.call.location)) search_.publish(wait);
}

}  // namespace refrain::patterns
