#include "measurement/locations.hpp"

#include <cstring>
#include <new>
#include <sys/prctl.h>

#include "measurement/abandoned_scope.hpp"
#include "measurement/call_durations.hpp"
#include "measurement/entrance.hpp"
#include "measurement/event_log.hpp"
#include "measurement/follower.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/marks.hpp"
#include "measurement/stopping.hpp"
#include "platform/backoff.hpp"
#include "platform/floating_point.hpp"
#include "platform/pages.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {
namespace {

/// OpenCall::sp while a thread begins or ends: there is no call from the program.
constexpr std::uintptr_t no_scope = ~std::uintptr_t{0};

std::atomic<Location*> all{nullptr};
std::atomic<std::int32_t> thread_count{0};
std::atomic<std::int64_t> lives{0};         ///< number of threads that became locations
std::atomic<const void*> pausing{nullptr};  ///< this_pauser() of the thread that pauses the others

Location* from_pool() {
  for (Location* l = all.load(std::memory_order_acquire); l; l = l->next) {
    bool free = false;
    if (l->gate.load(std::memory_order_relaxed) != Gate::Shut && l->in_use.compare_exchange_strong(free, true))
      return l;
  }
  return nullptr;
}

/// Ends the life of the thread that owns the location. An incomplete iteration of its own loop counts as time outside
/// of iterations. The unit of a follower stays in progress.
void end_lifetime(Location& l, std::int64_t cpu_now_ns) {
  l.end = platform::now();
  count_off_cpu(l, false);
  end_marks(l, l.end);
  end_unit(l, l.end, cpu_now_ns);
  note_thread_end(l);
  l.stopped = false;
  end_readings(l);
  forget_marks(l);
  if (l.follower) l.follower->alive = false;
  if (!is_follower(l)) count_unit_outside(l);
}

/// Identifies the calling thread as the one that pauses: its location, or a substitute for a helper thread without one.
const void* this_pauser() { return own_location() ? static_cast<const void*>(own_location()) : &pausing; }

/// A thread that stays in Refrain's bookkeeping for longer than this, or is served for longer, is not paused.
constexpr std::int64_t pause_timeout_ns = 50'000'000;

/// Pauses a gate unless it is shut. False: the first thread has served the location for too long.
bool pause_gate(Location& l) {
  platform::Backoff backoff(pause_timeout_ns);
  Gate gate = Gate::Open;
  while (!l.gate.compare_exchange_strong(gate, Gate::Paused) && gate == Gate::Served) {
    if (!backoff.wait()) return false;
    gate = Gate::Open;
  }
  return true;
}

/// Pauses the locations that `for_each` visits.
template <class ForEach>
bool pause(const ForEach& for_each) {
  const void* nobody = nullptr;
  if (!pausing.compare_exchange_strong(nobody, this_pauser())) return false;
  bool is_paused = true;
  for_each([&](Location& l) { is_paused = is_paused && pause_gate(l); });
  // Owners see the gate at their next entry, and the barrier makes their earlier entries visible here.
  is_paused = is_paused && platform::barrier_on_all_threads();
  for_each([&](const Location& l) {
    is_paused = is_paused && !is_bookkeeping(wait_outside_bookkeeping(l, pause_timeout_ns));
  });
  if (!is_paused) resume_others();
  return is_paused;
}

}  // namespace

std::int64_t threads_measured() { return lives.load(std::memory_order_relaxed); }
Location* first_location() { return all.load(std::memory_order_acquire); }
void forget_locations() {
  for (Location* l = first_location(); l; l = l->next) l->off_cpu.run_delay.close_copy();
  all.store(nullptr, std::memory_order_release);
  forget_durations();
}

Location* make_detached_location(const LocationSettings& settings) {
  const unwind::WalkerMemory memory = unwind::map_walker_memory(settings.callpath_depth, sizeof(Location));
  if (!memory.base) return nullptr;
  auto* l = new (memory.owner) Location{};
  if (l->walker.create(platform::own_stack(), memory, settings.backend) && l->tree.create(settings.memory)) return l;
  l->~Location();
  unwind::unmap_walker_memory(memory);
  return nullptr;
}

void free_detached_location(Location* l) {
  end_off_cpu(*l);
  free_durations(*l);
  forget_marks(*l);
  platform::unmake_on_pages(l->follower);  // after forget_marks(), which uses its iterations
  end_readings(*l);
  platform::unmake_on_pages(l->extra);
  l->tree.destroy();
  const unwind::WalkerMemory memory = l->walker.memory();
  l->~Location();
  unwind::unmap_walker_memory(memory);
}

Location* begin_location(const LocationSettings& settings) {
  Location* l = from_pool();
  if (l) {
    l->walker.reset(platform::own_stack());
    return l;
  }
  l = make_detached_location(settings);
  if (!l) return nullptr;
  l->in_use.store(true, std::memory_order_relaxed);
  l->thread = thread_count.fetch_add(1, std::memory_order_relaxed);
  begin_events(*l);
  if (!is_first_thread(*l))
    if (auto* follower = platform::make_on_pages<Follower>()) begin_following(*l, *follower);
  Location* head = all.load(std::memory_order_relaxed);
  do {
    l->next = head;
  } while (!all.compare_exchange_weak(head, l, std::memory_order_release, std::memory_order_relaxed));
  return l;
}

bool enter_location(Location& l) {
  const platform::OwnFloatingPoint own_environment;
  l.call.sp = no_scope;
  if (!enter(l, Inside::Closed)) return false;
  lives.fetch_add(1, std::memory_order_relaxed);
  l.os_thread_id = platform::thread_id();
  prctl(PR_GET_NAME, l.name);
  l.random_state =
      static_cast<std::uint64_t>(platform::now()) * 0x9e3779b97f4a7c15u ^ static_cast<std::uint64_t>(l.os_thread_id);
  l.cpu_clock.attach();
  if (l.follower) l.follower->alive = true;
  begin_readings(l);
  begin_own_times(l);
  begin_off_cpu(l);
  l.begin = platform::now();
  l.cpu_begin_ns = l.cpu_clock.at(l.begin);
  if (measurement_is_stopped.load()) begin_stopped(l);
  if (!l.first_begin) l.first_begin = l.begin;
  if (l.extra && !l.stopped) note_reading(l, l.begin, false);
  set_own_location(&l);
  leave(l, Inside::User);
  return true;
}

void end_location(Location& l) {
  const platform::OwnFloatingPoint own_environment;
  const Inside inside = end_unfinished_bookkeeping(l);
  if (!pass_gate(l, inside)) return;
  l.call.sp = no_scope;
  if (inside == Inside::Call) {  // the thread was cancelled in the call, or has left it by a jump
    if (l.follower) keep_up(l, inside);
    end_abandoned_call(l, l.call_seen);
  }
  if (l.follower) keep_up(l, Inside::User);
  lifecycle.ticks_end(l);
  set_own_location(nullptr);
  prctl(PR_GET_NAME, l.name);
  end_lifetime(l, platform::thread_cpu_ns());
  end_off_cpu(l);
  l.cpu_clock.detach();
  leave(l, Inside::Closed);
  l.in_use.store(false, std::memory_order_release);
}

bool is_held(const Location& l) {
  const Gate gate = l.gate.load(std::memory_order_relaxed);
  return &l == own_location() || gate == Gate::Paused || gate == Gate::Shut;
}

Inside wait_outside_bookkeeping(const Location& l, std::int64_t timeout_ns) {
  platform::Backoff backoff(timeout_ns);
  Inside inside;
  do inside = l.inside.load(std::memory_order_acquire);
  while (is_bookkeeping(inside) && backoff.wait());
  return inside;
}

bool pause_others() {
  const auto for_each_other = [](auto&& f) {
    for (Location* l = first_location(); l; l = l->next)
      if (l != own_location()) f(*l);
  };
  return pause(for_each_other);
}

bool pause_one(Location& location) {
  return pause([&](auto&& f) { f(location); });
}

void resume_others() {
  if (pausing.load(std::memory_order_relaxed) != this_pauser()) return;
  for (Location* l = first_location(); l; l = l->next) {
    Gate paused = Gate::Paused;
    l->gate.compare_exchange_strong(paused, Gate::Open, std::memory_order_release);
  }
  pausing.store(nullptr, std::memory_order_release);
  wake_at_gates();
}

void close_location(Location& l) {
  if (l.gate.exchange(Gate::Shut) == Gate::Shut) return;
  const platform::OwnFloatingPoint own_environment;
  wake_at_gates();
  const bool own = &l == own_location();
  if (!l.in_use.load(std::memory_order_acquire)) return;  // its thread has ended
  if (!own) {
    // The owner sees the shut gate at its next entry; the barrier makes its earlier stores to `inside` visible here.
    // If there is no barrier, waiting some time has the same effect.
    if (!platform::barrier_on_all_threads()) platform::pause_ms(10);
    constexpr std::int64_t long_at_the_end_ns = 2'000'000'000;
    if (is_bookkeeping(wait_outside_bookkeeping(l, long_at_the_end_ns))) l.count_loss(Loss::ThreadStillRunning);
  }
  lifecycle.ticks_end(l);
  const Inside inside = own ? end_unfinished_bookkeeping(l) : l.inside.load(std::memory_order_acquire);
  if (l.follower) keep_up(l, inside);
  if (inside == Inside::Call) {
    count_off_cpu(l, true);
    end_open_call(l, platform::now());
    l.count_loss(Loss::ThreadStillRunning);
  }
  end_lifetime(l, own ? platform::thread_cpu_ns() : platform::thread_cpu_ns_of(l.os_thread_id));
  end_off_cpu(l);
  if (own) {
    l.cpu_clock.detach();
    leave(l, Inside::Closed);
    set_own_location(nullptr);
  }
}

}  // namespace refrain::measurement
