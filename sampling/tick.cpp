#include "sampling/tick.hpp"

#include <algorithm>
#include <cmath>
#include <errno.h>
#include <utility>

#include "measurement/abandoned_scope.hpp"
#include "measurement/entrance.hpp"
#include "measurement/event_log.hpp"
#include "measurement/off_cpu.hpp"
#include "platform/floating_point.hpp"
#include "platform/signal_context.hpp"
#include "sampling/thread_sampler.hpp"

namespace refrain::sampling {

using measurement::Inside;
using measurement::Location;
using measurement::Loss;
using measurement::MetricId;

bool is_own_tick(const siginfo_t& info) {
  const Location* location = measurement::own_location();
  if (!location || !location->sampler) return false;
  const ThreadSampler& sampler = *location->sampler;
  // No other code has descriptors signal by SIGURG.
  const bool of_closed_event = info.si_signo == SIGURG && platform::TaskClockEvent::is_of_descriptor(info);
  return sampler.takes_any_signal || sampler.timer.has_sent(info) || sampler.task_clock.has_sent(info) ||
         of_closed_event;
}

std::int64_t sampling_clock_ns() {
  return tick_settings.clock == platform::TimerClock::ThreadCpu ? platform::thread_cpu_ns() : platform::monotonic_ns();
}

namespace {

/// Uniform in [0.5, 1.5) of `mean`: no program has a matching period.
std::int64_t jittered(Location& location, std::int64_t mean) {
  return mean / 2 + static_cast<std::int64_t>(next_random(location) * static_cast<std::uint64_t>(mean) >> 32);
}

/// The period in progress at a random moment, and the rest of it.
struct PeriodInProgress {
  std::int64_t whole, rest;
  std::int64_t passed() const { return whole - rest; }
};
/// Sampling begins as if it had been going on for long, so that every moment has the same chance to be sampled, from
/// the first on. If the first sample came after a whole period, the begins of threads would never be seen. A random
/// moment lies in a period with a probability proportional to its length (density x / mean on [0.5, 1.5) of the mean),
/// anywhere in it.
PeriodInProgress in_progress(Location& location, std::int64_t mean) {
  constexpr double range = 4294967296.0;  // of next_random
  const double length = std::sqrt(0.25 + 2 * (static_cast<double>(next_random(location)) / range));
  const double rest = (static_cast<double>(next_random(location)) + 1) / range;
  const auto whole = static_cast<std::int64_t>(length * static_cast<double>(mean));
  // Until the handler has run, events come at this interval.
  const std::int64_t least = std::min<std::int64_t>(100'000, mean / 8);
  return {whole, std::max(least, static_cast<std::int64_t>(rest * static_cast<double>(whole)))};
}

constexpr std::int64_t at_next_kernel_tick = 1;

bool is_on_wall_clock() { return tick_settings.clock == platform::TimerClock::Wall; }

/// Each tick arms the timer for the next one. A tick that the program leaves by a jump does not, so the timer also has
/// an interval: one kernel tick of CPU time, or a longer one beside an event, which notices a missing tick sooner
/// (check_timer).
void arm_timer(Location& location) {
  ThreadSampler& sampler = *location.sampler;
  const bool alone = !is_on_wall_clock() && !sampler.task_clock.exists();
  sampler.timer.arm(is_on_wall_clock() ? jittered(location, tick_settings.period_ns) : at_next_kernel_tick,
                    alone ? tick_settings.kernel_tick_ns : tick_settings.longest_gap_ns);
}

// ---- the task clock: overflows in user mode -------------------------------------------------------------------------

/// The event's timer also runs in kernel mode, but its overflows there are not delivered. So that samples come at the
/// requested frequency, its period adapts slowly to the part of time in user mode; each sample weighs its own period.
std::int64_t mean_event_period(const ThreadSampler& sampler) {
  constexpr double min_part = 0.25;
  double part = sampler.recent_cpu_ns > 0 ? sampler.recent_user_ns / sampler.recent_cpu_ns : 1;
  if (part < min_part) part = min_part;
  return static_cast<std::int64_t>(part * static_cast<double>(tick_settings.period_ns));
}

/// Arms the timer again if its tick was lost. Event and timer share a standard signal, of which only one can be
/// pending: a tick that comes while an event is pending is lost, and with it the timer, which only its handler arms.
void check_timer(Location& location, std::int64_t elapsed) {
  ThreadSampler& sampler = *location.sampler;
  const std::int64_t few_ticks = 4 * tick_settings.kernel_tick_ns;
  sampler.events_without_tick_ns += elapsed;
  sampler.user_time_without_tick_ns += sampler.event_period_ns;
  if (sampler.events_without_tick_ns < few_ticks) return;
  sampler.events_without_tick_ns = 0;
  // If the signal was blocked for long, both were held back; that is a loss, which the next tick counts. In that case
  // the thread's user time exceeds that of its events. Its time in the kernel proves nothing, as no event comes there.
  const std::int64_t user_ns = platform::tick_times_of(0).user - sampler.ticks_seen.user;
  sampler.tick_was_lost = user_ns < sampler.user_time_without_tick_ns + few_ticks;
  arm_timer(location);
}

constexpr double kept = 1 - 1.0 / 32;  ///< factor of a faded sum at each step

/// CPU time that a tick stands for: where it found the thread, and additionally in MPI calls.
struct Weight {
  std::int64_t here, in_mpi;
};

/// CPU time that a tick of the event stands for: its period, in user mode, where every moment has the same chance. CPU
/// time beyond the period was spent in the kernel, where the event is not delivered. If no MPI call has begun or ended
/// since the last sample, the kernel was called from where the thread is now. Otherwise MPI calls get the part of that
/// time that recent kernel ticks suggest. The rest is distributed over the next samples: they are close to short stays
/// in the kernel, and samples of nearly equal weight have the smallest errors. (Assigning it in lumps of a period made
/// the standard errors of shares larger by a half, in a program with as much time in the kernel as in user mode.)
Weight weight_of_event(Location& location, Inside inside) {
  ThreadSampler& sampler = *location.sampler;
  const std::int64_t now = sampling_clock_ns();
  const std::int64_t elapsed = now - sampler.last_sample_ns, period = sampler.event_period_ns;
  const bool mixed = location.call.begin != sampler.event_call_begin || inside != sampler.event_inside;
  sampler.last_sample_ns = now;
  sampler.event_call_begin = location.call.begin;
  sampler.event_inside = inside;
  sampler.ticks_without_event_ns = 0;
  sampler.silences = 0;
  check_timer(location, elapsed);
  if (elapsed <= 0) return {period, 0};
  sampler.recent_user_ns = kept * sampler.recent_user_ns + static_cast<double>(period < elapsed ? period : elapsed);
  sampler.recent_cpu_ns = kept * sampler.recent_cpu_ns + static_cast<double>(elapsed);
  std::int64_t& owed = sampler.kernel_time_owed_ns;
  Weight weight{period, 0};
  if (mixed && elapsed > period && sampler.recent_ticks > 0) {
    const double part = sampler.recent_ticks_in_mpi / sampler.recent_ticks;
    weight.in_mpi = static_cast<std::int64_t>(part * static_cast<double>(elapsed - period));
  }
  owed += elapsed - period - weight.in_mpi;
  constexpr std::int64_t samples_to_pay = 4;
  if (owed > 0) {
    const std::int64_t paid = owed / samples_to_pay;
    weight.here += paid;
    owed -= paid;
  }
  return weight;
}

/// CPU time that a kernel tick beside an event stands for, when ticks worth `kernel_ns` have found the thread in the
/// kernel: the whole of a long stay, of which there is no other evidence.
std::int64_t weight_beside_event(Location& location, std::int64_t kernel_ns) {
  ThreadSampler& sampler = *location.sampler;
  if (kernel_ns <= 0) return 0;
  sampler.recent_ticks = kept * sampler.recent_ticks + 1;
  sampler.recent_ticks_in_mpi *= kept;
  if (location.inside.load(std::memory_order_relaxed) == Inside::Call) sampler.recent_ticks_in_mpi += 1;
  if (kernel_ns < 2 * tick_settings.kernel_tick_ns) return 0;
  sampler.kernel_time_owed_ns -= kernel_ns;
  return kernel_ns;
}

/// Leaves all samples to the timer.
void give_up_event(Location& location) {
  ThreadSampler& sampler = *location.sampler;
  sampler.task_clock.close();
  sampler.to_next_sample_ns = jittered(location, tick_settings.tick_period_ns);
  location.count_loss(Loss::TaskClockUnavailable);
}

/// CPU time that a tick of the timer stands for because the event has been silent for too long; 0 if it has not.
///
/// The program may have closed the event's descriptor or disabled its events (prctl), which nothing else would notice.
/// Or the thread is switched out every few microseconds, as when several threads poll on one core with sched_yield:
/// each time it runs again the kernel restarts the event's timer with at least 10 us, so it never expires. The tick is
/// then the sample that is due.
std::int64_t weight_of_silence(Location& location, std::int64_t user_ns) {
  ThreadSampler& sampler = *location.sampler;
  constexpr unsigned max_in_a_row = 16;
  sampler.ticks_without_event_ns += user_ns;
  const std::int64_t long_enough = 4 * (tick_settings.period_ns + tick_settings.kernel_tick_ns);
  if (sampler.ticks_without_event_ns < long_enough) return 0;
  sampler.ticks_without_event_ns = 0;
  if (!sampler.task_clock.is_open()) {
    give_up_event(location);
    return 0;
  }
  const std::int64_t now = sampling_clock_ns(), elapsed = now - sampler.last_sample_ns;
  if (elapsed <= tick_settings.longest_gap_ns) return 0;
  sampler.last_sample_ns = now;
  if (++sampler.silences > max_in_a_row || !sampler.task_clock.start(sampler.event_period_ns)) give_up_event(location);
  const std::int64_t due = elapsed + sampler.kernel_time_owed_ns;
  sampler.kernel_time_owed_ns = std::min<std::int64_t>(due, 0);
  return std::max<std::int64_t>(due, 0);
}

// ---- the timer on the CPU clock: the kernel's ticks -----------------------------------------------------------------

/// CPU time of the samples that are due at this tick; 0: none is.
///
/// The kernel checks CPU-clock timers at its own ticks only, so samples are a choice among the ticks that find the
/// thread running, and each of these must have the same chance, whatever the thread did before. Choosing by elapsed CPU
/// time, or weighting a tick with it, favours code that runs after long times without a tick: with bursts of 2 ms
/// between sleeps a path of 10 % was measured as 6.6 %. So ticks are counted. The timer comes at the first one. Further
/// ticks that the kernel has counted were in the same stay in the kernel; or the signal was held back, which `overruns`
/// shows; or their handlers were left by a jump: kernels deliver signals that are pending for the thread before those
/// of the process, whose handlers then run on top of the first instruction of ours.
std::int64_t weight_of_ticks(Location& location, int overruns) {
  ThreadSampler& sampler = *location.sampler;
  const platform::TickTimes now = platform::tick_times_of(0);
  std::int64_t all_ns = now.all - sampler.ticks_seen.all, user_ns = now.user - sampler.ticks_seen.user;
  sampler.ticks_seen = now;
  sampler.events_without_tick_ns = sampler.user_time_without_tick_ns = 0;
  if (std::exchange(sampler.tick_was_lost, false)) return 0;  // events have made the samples meanwhile
  const std::int64_t two = 2 * tick_settings.kernel_tick_ns;
  if (all_ns >= two && user_ns >= two && overruns == 0 && !sampler.task_clock.exists()) {
    location.add_loss(Loss::CpuTimeWithoutTicks, all_ns - tick_settings.kernel_tick_ns);
    all_ns = tick_settings.kernel_tick_ns;
  } else if (all_ns >= two && user_ns >= two) {
    location.count_loss(Loss::TickLate);
    location.add_loss(Loss::CpuTimeWithoutTicks, all_ns - tick_settings.kernel_tick_ns);
    sampler.last_sample_ns = sampling_clock_ns();
    sampler.kernel_time_owed_ns = 0;
    return 0;
  }
  if (sampler.task_clock.exists()) {
    const std::int64_t overdue = weight_of_silence(location, user_ns);
    return overdue > 0 ? overdue : weight_beside_event(location, all_ns - user_ns);
  }
  sampler.to_next_sample_ns -= all_ns;
  if (sampler.to_next_sample_ns > 0) return 0;
  const std::int64_t mean = tick_settings.tick_period_ns;
  std::int64_t samples = -sampler.to_next_sample_ns / mean;  // more than one after a long stay in the kernel
  sampler.to_next_sample_ns += samples * mean;
  do {
    sampler.to_next_sample_ns += jittered(location, mean);
    ++samples;
  } while (sampler.to_next_sample_ns <= 0);
  return samples * mean;
}

// ---- what a tick does to the location -------------------------------------------------------------------------------

/// Records a sample of the program's own code.
void sample(Location& location, std::int64_t weight, const void* context) {
  const std::uint64_t number = location.tick.number;
  const auto node = measurement::path_of(location, {platform::interrupted_registers(context), true, context});
  // The tick was taken for abandoned and continued, as that of a fiber may: another walk has mixed with this one.
  if (location.tick.number != number) [[unlikely]]
    return;
  std::int64_t* values = location.tree.values(node);
  ++values[column_of(MetricId::Samples)];
  values[column_of(MetricId::Weight)] += weight;
  if (location.extra) [[unlikely]]
    charge_reading(location, true, platform::now(), values + columns_of(measurement::NodeKind::Function));
  if (location.keeps_events) note_sample(location, node, weight);
  auto& unit = location.unit;
  ++unit.ticks_user;
  unit.weight_user_ns += weight;
  unit.weight_user_squared += static_cast<double>(weight) * static_cast<double>(weight);
}

/// Counts a tick that is no sample, or that has found Refrain's bookkeeping.
void take_no_sample(Location& location, Inside inside, const void* context) {
  if (location.follower && !is_bookkeeping(inside)) {
    const measurement::Hold hold(location, inside, context);
    if (!hold) return;
  }
  ++location.unit.ticks_lost;
  if (inside == Inside::Call) location.call.taken_out += tick_settings.tick_cost;
  else if (inside == Inside::User) measurement::count_off_cpu_in_tick(location, false);
}

/// Records a tick that stands for CPU time. False: the measurement of the location is ending.
bool take_sample(Location& location, Inside inside, Weight weight, const void* context) {
  if (is_bookkeeping(inside)) {
    take_no_sample(location, inside, context);
    location.count_loss(Loss::InsideMeasurement);
    return true;
  }
  const measurement::Hold hold(location, inside, context);
  if (!hold) return location.gate.load(std::memory_order_relaxed) != measurement::Gate::Shut;
  if (inside == Inside::Call) {
    ++location.unit.ticks_mpi;
    location.unit.weight_mpi_ns += weight.here;
    location.call.taken_out += tick_settings.tick_cost;
  } else {
    measurement::count_off_cpu_in_tick(location, true);
    sample(location, weight.here, context);
  }
  location.unit.weight_mpi_ns += weight.in_mpi;
  return true;
}

/// The weight of a sample of the wall clock: the time since the last one.
std::int64_t wall_weight(Location& location) {
  ThreadSampler& sampler = *location.sampler;
  const std::int64_t now = sampling_clock_ns();
  const std::int64_t elapsed = now - sampler.last_sample_ns;
  sampler.last_sample_ns = now;
  return elapsed;
}

void tick(Location& location, const siginfo_t& info, const void* context) {
  ThreadSampler& sampler = *location.sampler;
  const Inside inside =
      measurement::inside_at_tick(location, {platform::interrupted_registers(context), true, context});
  if (inside == Inside::Closed) return;
  if (location.stopped) {
    sampler.timer.arm(0);
    return sampler.task_clock.pause();
  }
  if (is_on_wall_clock()) {
    if (take_sample(location, inside, {wall_weight(location), 0}, context)) arm_timer(location);
  } else if (info.si_code == SI_TIMER) {
    const std::int64_t weight = weight_of_ticks(location, info.si_overrun);
    if (weight == 0) take_no_sample(location, inside, context);
    else if (!take_sample(location, inside, {weight, 0}, context)) return;
    arm_timer(location);
  } else if (sampler.takes_any_signal) {
    (void)take_sample(location, inside, {tick_settings.tick_period_ns, 0}, context);
  } else if (sampler.task_clock.has_sent(info)) {
    if (!take_sample(location, inside, weight_of_event(location, inside), context)) return;
    sampler.event_period_ns = jittered(location, mean_event_period(sampler));
    if (!sampler.task_clock.set_period(sampler.event_period_ns)) give_up_event(location);
  }
}

}  // namespace

void begin_ticks(Location& location) {
  const platform::OwnFloatingPoint own_environment;
  ThreadSampler& sampler = *location.sampler;
  if (is_on_wall_clock()) {
    const PeriodInProgress first = in_progress(location, tick_settings.period_ns);
    sampler.last_sample_ns -= first.passed();
    sampler.timer.arm(first.rest);
    return;
  }
  sampler.to_next_sample_ns = in_progress(location, tick_settings.tick_period_ns).rest;
  arm_timer(location);
  if (!sampler.task_clock.exists()) return;
  const PeriodInProgress first = in_progress(location, mean_event_period(sampler));
  sampler.event_period_ns = first.whole;
  sampler.last_sample_ns -= first.passed();
  if (!sampler.task_clock.start(first.rest)) give_up_event(location);
}

void handle_tick(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  Location* location = measurement::own_location();
  if (!is_own_tick(*info)) {
    if (on_foreign_signal) on_foreign_signal(signal, info, context);
  } else if (location->sampler->active && !tick_settings.running) {
    location->sampler->timer.arm(0);
  } else if (location->sampler->active) {
    const Inside inside = location->inside.load(std::memory_order_relaxed);
    if (inside == Inside::User || inside == Inside::Call) {
      // A handler of the program on top of this one ends the watch, as a switch does, so its time does not count as
      // ours.
      const measurement::OwnTimeBegin begin = measurement::begin_own_time(*location);
      tick(*location, *info, context);
      (void)measurement::take_own_time(*location, measurement::OwnTime::Tick, begin);
    } else {
      tick(*location, *info, context);  // its time is part of the bookkeeping that it has interrupted
    }
  }
  errno = saved_errno;
}

}  // namespace refrain::sampling
