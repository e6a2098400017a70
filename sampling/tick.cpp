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

std::int64_t next_interval_ns(Location& location) {
  std::uint64_t x = location.random_state;  // xorshift64*
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  location.random_state = x;
  const std::uint64_t random = (x * 0x2545f4914f6cdd1du) >> 32;
  return tick_settings.shortest_ns + static_cast<std::int64_t>((random * static_cast<std::uint64_t>(tick_settings.spread_ns)) >> 32);
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

void tick(Location& location, const void* context) {
  const Inside inside = location.inside.load(std::memory_order_relaxed);
  if (inside == Inside::Closed) return;
  const std::int64_t now = sampling_clock_ns();
  std::int64_t weight = now - location.last_tick_ns;
  location.last_tick_ns = now;
  if (weight > tick_settings.longest_believable_ns) {
    location.count_loss(Loss::TickLate);
    weight = tick_settings.longest_believable_ns;
  }
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
    if (inside == Inside::Mpi) {
      ++location.unit.ticks_mpi;
      location.unit.weight_mpi_ns += weight;
      location.handler_time_in_call += tick_settings.tick_cost;
    } else {
      sample(location, weight, context);
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    location.inside.store(inside, std::memory_order_relaxed);
  }
  location.timer.arm(next_interval_ns(location));
}

}  // namespace

void handle_tick(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  Location* location = measurement::current_location;
  if (location && location->sampling && tick_settings.running) tick(*location, context);
  errno = saved_errno;
}

}  // namespace refrain::sampling
