#include "sampling/tick.hpp"

#include <errno.h>

#include "platform/signal_context.hpp"

namespace refrain::sampling {

using measurement::Inside;
using measurement::Location;
using measurement::Loss;
using measurement::MetricId;

TickSettings tick_settings{};

std::int64_t sampling_clock_ns() {
  return tick_settings.clock == platform::TimerClock::ThreadCpu ? platform::thread_cpu_ns() : platform::monotonic_ns();
}

void arm_next(Location& location, std::int64_t now_ns) {
  std::uint64_t x = location.random_state;  // xorshift64*
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  location.random_state = x;
  const std::uint64_t random = (x * 0x2545f4914f6cdd1du) >> 32;
  const std::uint64_t jitter = (random * static_cast<std::uint64_t>(tick_settings.spread_ns)) >> 32;
  const std::int64_t interval = tick_settings.shortest_ns + static_cast<std::int64_t>(jitter);
  location.last_tick_ns = now_ns;
  location.tick_due_ns = now_ns + interval;
  location.timer.arm(interval);
}

namespace {

/// A tick that found the program's own code.
void sample(Location& location, std::int64_t weight, const void* context) {
  const auto node = measurement::path_of(location, {platform::interrupted_registers(context), true, context});
  std::int64_t* values = location.tree.values(node);
  ++values[column_of(MetricId::Samples)];
  values[column_of(MetricId::Weight)] += weight;
  auto& unit = location.unit;
  ++unit.ticks_user;
  unit.weight_user_ns += weight;
  unit.weight_user_squared += static_cast<double>(weight) * static_cast<double>(weight);
}

/// A CPU-clock timer is looked at on the kernel's tick only. A thread that runs in bursts shorter than that, with
/// sleeps between, may be missed for many bursts, and where the first tick after such a gap finds it is not random: the
/// beat between its cycle and the kernel's tick decides. (A 10 % path behind a sleep of 2 ms was seen as 6.6 % when
/// that tick stood for the whole gap.) So a tick that comes too late for its interval only begins a new one; the time
/// of the gap is shared among all paths like the rest of the CPU time.
bool ends_a_gap(Location& location, std::int64_t now) {
  if (now - location.tick_due_ns <= tick_settings.longest_lateness_ns) return false;
  ++location.unit.ticks_lost;
  if (now - location.last_tick_ns > tick_settings.longest_gap_ns) location.count_loss(Loss::TickLate);
  return true;
}

void tick(Location& location, const void* context) {
  const Inside inside = location.inside.load(std::memory_order_relaxed);
  if (inside == Inside::Closed) return;
  const std::int64_t now = sampling_clock_ns();
  const std::int64_t weight = now - location.last_tick_ns;
  if (inside == Inside::Measurement) {
    ++location.unit.ticks_lost;
    location.count_loss(Loss::InsideMeasurement);
  } else {
    location.inside.store(Inside::Measurement, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (location.closing.load(std::memory_order_relaxed)) {
      location.inside.store(inside, std::memory_order_relaxed);
      return;
    }
    const bool gap = ends_a_gap(location, now);
    if (inside == Inside::Mpi) {
      location.handler_time_in_call += tick_settings.tick_cost;
      if (!gap) {
        ++location.unit.ticks_mpi;
        location.unit.weight_mpi_ns += weight;
      }
    } else if (!gap) {
      sample(location, weight, context);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    location.inside.store(inside, std::memory_order_relaxed);
  }
  arm_next(location, now);
}

}  // namespace

void handle_tick(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  Location* location = measurement::current_location;
  if (location && location->sampling && tick_settings.running) tick(*location, context);
  errno = saved_errno;
}

}  // namespace refrain::sampling
