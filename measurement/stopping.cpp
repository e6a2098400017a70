#include "measurement/stopping.hpp"

#include <sched.h>
#include <utility>

#include "measurement/entrance.hpp"
#include "measurement/follower.hpp"
#include "measurement/locations.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {

namespace {

using platform::Ticks;

std::int64_t cpu_of(const Location& l) {
  return &l == own_location() ? platform::thread_cpu_ns() : platform::thread_cpu_ns_of(l.os_thread_id);
}

void stop(Location& l, Inside inside, Ticks now) {
  if (l.stopped) return;
  if (l.follower) keep_up(l, inside);
  if (inside == Inside::Call) stop_open_call(l, now);
  if (l.extra) take_reading(l, false);
  count_off_cpu(l, inside == Inside::Call);
  const std::int64_t cpu = cpu_of(l);
  l.unit.wall += now - l.begin;
  if (cpu > l.cpu_begin_ns) l.unit.cpu_ns += cpu - l.cpu_begin_ns;
  l.begin = l.end = now;
  l.cpu_begin_ns = cpu;
  begin_stopped(l);
}

void resume(Location& l, Inside inside, Ticks now) {
  const std::int64_t cpu = cpu_of(l);
  const StoppedTime until_now = stopped_until(l, now, cpu);
  l.while_stopped.wall = until_now.wall;
  l.while_stopped.cpu_ns = until_now.cpu_ns;
  l.unit = l.while_stopped.unit;
  l.while_stopped.unit = {};
  (void)take_off_cpu(l, inside == Inside::Call);
  l.stopped = false;
  if (is_follower(l)) {
    keep_up(l, Inside::Closed);
    l.follower->alive = true;
  }
  l.begin = now;
  l.cpu_begin_ns = cpu;
  if (inside == Inside::Call) resume_open_call(l, now);
  if (&l == own_location()) leave_out_own_work(l);
  else if (l.extra) l.extra->leave_out = true;
}

/// Waits a little, at the gate if another thread is pausing this one.
void wait() {
  if (own_location()->gate.load(std::memory_order_relaxed) == Gate::Paused)
    (void)wait_at_gate(*own_location(), Inside::User);
  sched_yield();
}

/// Pauses all locations and calls f(location, where its thread is, now) for those that have a thread. False: they could
/// not be paused.
template <class F>
bool for_all_paused(F&& f) {
  constexpr std::int64_t long_enough = 5'000'000'000;
  const std::int64_t deadline = platform::monotonic_ns() + long_enough;
  for (; platform::monotonic_ns() <= deadline; wait()) {
    const platform::NoSignals quiet;  // a handler that jumps out would leave the others paused for ever
    if (!pause_others()) continue;
    const Ticks now = platform::now();
    for (Location* l = first_location(); l; l = l->next) {
      if (l == own_location()) {
        f(*l, Inside::User, now);
      } else if (l->gate.load(std::memory_order_relaxed) == Gate::Paused) {
        const Inside inside = wait_outside_bookkeeping(*l);
        if (inside != Inside::Closed) f(*l, inside, now);
      }
    }
    resume_others();
    return true;
  }
  return false;
}

std::atomic_flag changing;

/// Runs f() on one thread at a time.
template <class F>
bool one_at_a_time(F&& f) {
  while (changing.test_and_set(std::memory_order_acquire)) wait();
  const bool done = f();
  changing.clear(std::memory_order_release);
  return done;
}

bool calls_had_extras = false;

}  // namespace

void begin_stopped(Location& l) {
  if (is_follower(l)) l.follower->alive = false;
  l.while_stopped.unit = std::exchange(l.unit, {});
  l.stopped = true;
}

StoppedTime stopped_until(const Location& l, Ticks now, std::int64_t cpu_now_ns) {
  StoppedTime time{l.while_stopped.wall, l.while_stopped.cpu_ns};
  if (!l.stopped) return time;
  time.wall += now - l.begin;
  if (cpu_now_ns > l.cpu_begin_ns) time.cpu_ns += cpu_now_ns - l.cpu_begin_ns;
  return time;
}

bool stop_measurement() {
  return one_at_a_time([] {
    if (measurement_is_stopped.exchange(true)) return true;
    calls_had_extras = calls_have_extras.exchange(true);
    if (for_all_paused(stop)) return true;
    calls_have_extras.store(calls_had_extras);
    measurement_is_stopped.store(false);
    return false;
  });
}

bool resume_measurement(void (*resumed)(Location& location)) {
  return one_at_a_time([resumed] {
    if (!measurement_is_stopped.exchange(false)) return true;
    const bool done = for_all_paused([&](Location& l, Inside inside, Ticks now) {
      if (!l.stopped) return;
      resume(l, inside, now);
      resumed(l);
    });
    if (done) calls_have_extras.store(calls_had_extras);
    else measurement_is_stopped.store(true);
    return done;
  });
}

}  // namespace refrain::measurement
