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

namespace {

/// Uniform in [0, 2^32). xorshift64*.
std::uint64_t random_of(Location& location) {
  std::uint64_t x = location.random_state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  location.random_state = x;
  return (x * 0x2545f4914f6cdd1du) >> 32;
}

/// Uniform in [0.5, 1.5) of `mean`.
std::uint64_t jittered(Location& location, std::uint64_t mean) { return mean / 2 + (random_of(location) * mean >> 32); }

constexpr std::int64_t at_next_kernel_tick = 1;

}  // namespace

void arm_next(Location& location) {
  if (tick_settings.clock == platform::TimerClock::Wall) {
    location.timer.arm(
        static_cast<std::int64_t>(jittered(location, static_cast<std::uint64_t>(tick_settings.period_ns))));
    return;
  }
  // A random number of kernel ticks with the right mean: the fraction is rounded up as often as it is large.
  const std::uint64_t ticks =
      (jittered(location, tick_settings.kernel_ticks_per_sample) + (random_of(location) >> 16)) >> 16;
  location.ticks_to_pass = ticks > 1 ? static_cast<std::uint32_t>(ticks - 1) : 0;
  location.timer.arm(at_next_kernel_tick);
}

namespace {

/// A tick that found the program's own code.
void sample(Location& location, std::int64_t weight, const void* context) {
  const auto node = measurement::path_of(location, {platform::interrupted_registers(context), true, context});
  std::int64_t* values = location.tree.values(node);
  ++values[column_of(MetricId::Samples)];
  values[column_of(MetricId::Weight)] += weight;
  if (location.extra) [[unlikely]]
    charge_reading(location, true, values + columns_of(measurement::NodeKind::Function));
  auto& unit = location.unit;
  ++unit.ticks_user;
  unit.weight_user_ns += weight;
  unit.weight_user_squared += static_cast<double>(weight) * static_cast<double>(weight);
}

/// CPU time that the tick at `now` stands for.
///
/// A CPU-clock timer is looked at on the kernel's own tick only, so samples are a choice among those kernel ticks that
/// find the thread running, and each of these must have the same chance whatever the thread did before. Choosing by CPU
/// time elapsed, or letting a tick stand for it, favours what comes after long stretches without a tick: with bursts of
/// 2 ms between sleeps a 10 % path was seen as 6.6 %. So kernel ticks are counted, and all samples weigh the same.
std::int64_t weight_of_tick(Location& location, std::int64_t now) {
  const std::int64_t elapsed = now - location.last_tick_ns;
  location.last_tick_ns = now;
  if (tick_settings.clock == platform::TimerClock::Wall) return elapsed;
  if (elapsed > tick_settings.longest_gap_ns) location.count_loss(Loss::TickLate);
  return tick_settings.weight_ns;
}

/// After entering Measurement: another thread reads the location, or soon will. Then nothing of it may be written.
bool is_read_by_another(const Location& location) {
  return location.gate.load(std::memory_order_relaxed) != measurement::Gate::Open;
}

/// A tick that only passes the time to the next sample, or that may not look around.
void pass(Location& location, Inside inside) {
  if (location.following && inside != Inside::Measurement) {
    location.inside.store(Inside::Measurement, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const bool open = !is_read_by_another(location);
    if (open) measurement::keep_up(location, inside);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    location.inside.store(inside, std::memory_order_relaxed);
    if (!open) return;
  }
  ++location.unit.ticks_lost;
  if (inside == Inside::Mpi) location.handler_time_in_call += tick_settings.tick_cost;
}

void tick(Location& location, const void* context) {
  const Inside inside = location.inside.load(std::memory_order_relaxed);
  if (inside == Inside::Closed || location.stopped) return;
  if (location.ticks_to_pass > 0) {
    --location.ticks_to_pass;
    pass(location, inside);
    location.timer.arm(at_next_kernel_tick);
    return;
  }
  if (inside == Inside::Measurement) {
    pass(location, inside);
    location.count_loss(Loss::InsideMeasurement);
  } else {
    location.inside.store(Inside::Measurement, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (is_read_by_another(location)) {
      location.inside.store(inside, std::memory_order_relaxed);
      if (location.gate.load(std::memory_order_relaxed) != measurement::Gate::Shut) arm_next(location);
      return;
    }
    if (location.following) measurement::keep_up(location, inside);
    const std::int64_t weight = weight_of_tick(location, sampling_clock_ns());
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
  arm_next(location);
}

}  // namespace

void handle_tick(int, siginfo_t*, void* context) {
  const int saved_errno = errno;
  Location* location = measurement::current_location;
  if (location && location->sampling && tick_settings.running) tick(*location, context);
  errno = saved_errno;
}

}  // namespace refrain::sampling
