#include "measurement/followers.hpp"

#include <sched.h>

#include "measurement/entrance.hpp"
#include "measurement/follower_iterations.hpp"
#include "measurement/following.hpp"
#include "measurement/locations.hpp"
#include "platform/patience.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {

namespace {

/// Some tries: who is in Refrain's bookkeeping now will notice the boundary before long.
bool is_outside_measurement(const Location& l) {
  for (int i = 0; i < 100; ++i) {
    if (!is_bookkeeping(l.inside.load(std::memory_order_acquire))) return true;
    sched_yield();
  }
  return false;
}

}  // namespace

void look_after_followers(Location& first) {
  const std::uint64_t epoch = published_epoch.load(std::memory_order_relaxed);
  constexpr std::uint64_t long_ago = kept_spans / 4;
  followers_due.store(epoch + long_ago, std::memory_order_relaxed);
  const platform::NoSignals quiet;  // a handler that jumps out would leave others held, or their queues taken, for ever
  const auto for_each_taken = [&](auto&& f) {
    for (Location* l = first_location(); l; l = l->next) {
      if (!follows(*l) || l->following->taking.test_and_set(std::memory_order_acquire)) continue;
      if (follows(*l)) f(*l);
      l->following->taking.clear(std::memory_order_release);
    }
  };
  bool any_held = false;
  for_each_taken([&](Location& l) {
    take_items(l, first);
    if (epoch - l.following->epoch.load(std::memory_order_relaxed) < long_ago) return;
    Gate open = Gate::Open;
    l.following->held = l.gate.compare_exchange_strong(open, Gate::Held);
    any_held = any_held || l.following->held;
  });
  if (!any_held) return leave_out_own_work(first);
  const bool barrier = platform::barrier_on_all_threads();
  for (Location* l = first_location(); l; l = l->next) {
    if (!l->following || !l->following->held) continue;
    l->following->held = false;
    if (barrier && is_outside_measurement(*l) && follows(*l)) {
      keep_up(*l, l->inside.load(std::memory_order_relaxed));
      flush_passed(*l);
    }
    Gate held = Gate::Held;
    l->gate.compare_exchange_strong(held, Gate::Open, std::memory_order_release);
  }
  wake_at_gates();
  for_each_taken([&](Location& l) { take_items(l, first); });
  leave_out_own_work(first);
}

namespace {

/// Whether the flag is the caller's now. Who has it works for some milliseconds at most.
bool wait_to_take(Following& f, std::int64_t longest_ns) {
  platform::Patience patience(longest_ns);
  while (f.taking.test_and_set(std::memory_order_acquire))
    if (!patience.wait()) return false;
  return true;
}

}  // namespace

TakenFollower::TakenFollower(Location& l) : location_(l) {
  constexpr std::int64_t long_enough_ns = 50'000'000;
  if (l.following) is_taken_ = wait_to_take(*l.following, long_enough_ns);
}
TakenFollower::~TakenFollower() {
  if (location_.following && is_taken_) location_.following->taking.clear(std::memory_order_release);
}

void take_recorded(Location& l, Location& counted_at) {
  if (follows(l)) take_items(l, counted_at);
}

void bring_up_to_date(Location& l) {
  if (!follows(l)) return;
  keep_up(l, l.inside.load(std::memory_order_relaxed));
  flush_passed(l);
  take_items(l, l);
  give_back_items(l);
  l.settled += l.following->outside;
  l.following->outside = {};
  log_missing_at_end(l);
}

void bring_followers_up_to_date() {
  for (Location* l = first_location(); l; l = l->next)
    if (l == own_location() || l->gate.load(std::memory_order_relaxed) != Gate::Open) bring_up_to_date(*l);
}

void stop_following(Location& l) {
  if (!follows(l)) return;
  Following& f = *l.following;
  constexpr std::int64_t long_enough_ns = 1'000'000'000;
  (void)wait_to_take(f, long_enough_ns);
  flush_passed(l);
  give_back_items(l);
  l.settled += f.outside;
  f.outside = {};
  l.iterations = f.iterations;
  f.stopped.store(true, std::memory_order_relaxed);
  f.taking.clear(std::memory_order_release);
}

}  // namespace refrain::measurement
