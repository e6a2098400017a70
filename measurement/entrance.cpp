#include "measurement/entrance.hpp"

#include <climits>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "measurement/event_log.hpp"
#include "platform/clock.hpp"

namespace refrain::measurement {

namespace {

/// Counts openings and closings of gates; a futex.
std::atomic<std::uint32_t> gate_changes{0};
std::atomic<int> waiting{0};

/// A gate is paused while a snapshot copies the location or writes its events; all gates are while the record of a
/// process that may end is written. A hanging file system or a killed thread must not stop the program for ever.
constexpr std::int64_t longest_wait_ns = 20'000'000'000;
/// Most gates are open again by then.
constexpr int polite_rounds = 64;

bool is_closed(const Location& l) {
  const Gate gate = l.gate.load(std::memory_order_acquire);
  return gate == Gate::Paused || gate == Gate::Served;
}

/// False: the gate was paused for too long.
bool wait_while_closed(const Location& l) {
  for (int i = 0; i < polite_rounds; ++i) {
    if (!is_closed(l)) return true;
    sched_yield();
  }
  const std::int64_t deadline = platform::monotonic_ns() + longest_wait_ns;
  waiting.fetch_add(1);
  bool opened = false;
  for (;;) {
    const std::uint32_t seen = gate_changes.load();
    opened = !is_closed(l);
    const std::int64_t left = deadline - platform::monotonic_ns();
    if (opened || left <= 0) break;
    const timespec time{left / 1'000'000'000, left % 1'000'000'000};
    syscall(SYS_futex, &gate_changes, FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
  }
  waiting.fetch_sub(1);
  return opened;
}

}  // namespace

void wake_at_gates() {
  gate_changes.fetch_add(1);
  if (waiting.load() > 0) syscall(SYS_futex, &gate_changes, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

bool wait_at_gate(Location& l, Inside from) {
  for (;;) {
    const Gate gate = l.gate.load(std::memory_order_acquire);
    if (gate == Gate::Open) return true;
    if (gate == Gate::Shut) {
      leave(l, Inside::Closed);
      return false;
    }
    leave(l, from);
    if (!wait_while_closed(l)) {
      l.count_loss(Loss::GateClosed);
      messages_go_uncounted.store(true, std::memory_order_relaxed);
      return false;
    }
    step_in(l);
  }
}

}  // namespace refrain::measurement
