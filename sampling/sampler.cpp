#include "sampling/sampler.hpp"

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

  std::int64_t period = 1'000'000'000 / settings.frequency;
  const bool cpu = settings.clock == platform::TimerClock::ThreadCpu;
  const std::int64_t kernel_tick = platform::cpu_timer_resolution_ns();
  capped = cpu && period < kernel_tick;
  if (capped) period = kernel_tick;
  tick_settings = {
      .clock = settings.clock,
      .period_ns = period,
      .kernel_ticks_per_sample = (static_cast<std::uint64_t>(period) << 16) / static_cast<std::uint64_t>(kernel_tick),
      .weight_ns = period,
      .longest_gap_ns = 10 * period + 25 * kernel_tick,
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
  location.last_tick_ns = sampling_clock_ns();
  arm_next(location);
}

void resume_sampling(measurement::Location& location) {
  if (!location.sampling) return;
  const bool cpu = tick_settings.clock == platform::TimerClock::ThreadCpu;
  location.last_tick_ns = cpu ? platform::thread_cpu_ns_of(location.os_thread_id) : platform::monotonic_ns();
  arm_next(location);
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
