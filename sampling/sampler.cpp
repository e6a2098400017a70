#include "sampling/sampler.hpp"

#include <limits>
#include <signal.h>

#include "measurement/locations.hpp"
#include "sampling/tick.hpp"

namespace refrain::sampling {
namespace {

int signal_in_use = 0;
bool capped = false;

bool is_default(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

int choose_signal(int wanted) {
  if (wanted) return is_default(wanted) ? wanted : 0;
  // From the top, but for the last two, which other tools like to take.
  for (int signal = SIGRTMAX - 2; signal > SIGRTMIN + 2; --signal)
    if (is_default(signal)) return signal;
  return 0;
}

}  // namespace

SamplerStart start_sampler(const SamplerSettings& settings) {
  if (settings.frequency == 0) return SamplerStart::Off;
  const int signal = choose_signal(settings.signal);
  if (!signal) return SamplerStart::NoSignal;

  const std::int64_t period = 1'000'000'000 / settings.frequency;
  // A CPU-clock timer waits for the kernel's tick: half a tick late on average, which is taken off in advance.
  const std::int64_t resolution =
      settings.clock == platform::TimerClock::ThreadCpu ? platform::cpu_timer_resolution_ns() : 0;
  std::int64_t shortest = period / 2 - resolution / 2;
  if (shortest < 1000) shortest = 1000;
  capped = period < resolution;
  // On the wall clock a thread may wait for a processor as long as it likes, and the next tick stands for that too.
  constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();
  const bool cpu = settings.clock == platform::TimerClock::ThreadCpu;
  tick_settings = {.clock = settings.clock,
                   .shortest_ns = shortest,
                   .spread_ns = period,
                   .longest_lateness_ns = cpu ? resolution * 5 / 4 : forever,
                   .longest_gap_ns = cpu ? 10 * period + 25 * resolution : forever,
                   .tick_cost = 0,
                   .running = true};

  struct sigaction action {};
  action.sa_sigaction = handle_tick;
  // All signals wait while the handler runs: a program's handler that jumps out would leave the scope open for good.
  // Not on the alternate stack: the smallest one that programs use is smaller than the kernel's own frame (AVX-512).
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  if (sigaction(signal, &action, nullptr) != 0) return SamplerStart::NoSignal;
  signal_in_use = signal;
  return SamplerStart::Ok;
}

void stop_sampler() { tick_settings.running = false; }
bool frequency_is_capped() { return capped; }
int sampling_signal() { return signal_in_use; }
void set_tick_cost(platform::Ticks cost) { tick_settings.tick_cost = cost; }

void start_sampling(measurement::Location& location) {
  if (!signal_in_use || !tick_settings.running) return;
  if (!location.timer.create(tick_settings.clock, signal_in_use)) {
    location.count_loss(measurement::Loss::TimerUnavailable);
    return;
  }
  location.sampling = true;
  arm_next(location, sampling_clock_ns());
}

void give_up_signal() {
  tick_settings.running = false;
  signal_in_use = 0;
  for (auto* l = measurement::first_location(); l; l = l->next) {
    if (!l->sampling) continue;
    l->sampling = false;
    l->timer.destroy();
    l->count_loss(measurement::Loss::SignalTaken);
  }
}

}  // namespace refrain::sampling
