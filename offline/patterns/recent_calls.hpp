#pragma once
/// The last MPI calls of one location, for patterns that look back from a wait to what came before it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "offline/patterns/compound_events.hpp"

namespace refrain::patterns {

/// `Past` is what is kept of a call, with a member `enter_ns`. Memory: the last 256 calls.
template <class Past>
class RecentCalls {
 public:
  const std::deque<Past>& all() const { return calls_; }
  bool empty() const { return calls_.empty(); }
  const Past& last() const { return calls_.back(); }

  /// Takes out the calls that are nested in this one, and part of it: the last one first, each after `part(past)`.
  template <class Part>
  void take_out_inner(const Call& call, const Part& part) {
    while (call.inner_ns > 0 && !calls_.empty() && calls_.back().enter_ns >= call.enter_ns) {
      part(calls_.back());
      calls_.pop_back();
    }
  }

  /// Adds the call that was left last.
  Past& add(Past past) { return calls_.emplace_back(std::move(past)); }
  /// After add(): drops the oldest call if there are too many, and returns it.
  std::optional<Past> forget_oldest() {
    constexpr std::size_t most = 256;
    if (calls_.size() <= most) return std::nullopt;
    std::optional<Past> oldest(std::move(calls_.front()));
    calls_.pop_front();
    return oldest;
  }
  void clear() { calls_.clear(); }

  /// The oldest call that is kept.
  Past& first() { return calls_.front(); }
  /// The call that was entered then. Null: it is too old, or not added yet.
  Past* at(std::int64_t enter_ns) {
    const auto at = std::ranges::find(calls_.rbegin(), calls_.rend(), enter_ns, &Past::enter_ns);
    return at == calls_.rend() ? nullptr : &*at;
  }

  /// Remembers the longest wait of a call that is added later.
  void wait_before_it_is_told(const Waited& of) {
    if (!early_ || early_->waiter.ns != of.waiter.ns || early_->waiting_ns < of.waiting_ns) early_ = of;
  }
  /// The wait of the call that was entered then. Null: none is remembered.
  const Waited* early_wait(std::int64_t enter_ns) const {
    return early_ && early_->waiter.ns == enter_ns ? &*early_ : nullptr;
  }

 private:
  std::deque<Past> calls_;
  std::optional<Waited> early_;
};

}  // namespace refrain::patterns
