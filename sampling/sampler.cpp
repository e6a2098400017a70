#include "sampling/sampler.hpp"

#include <errno.h>
#include <signal.h>

#include "measurement/locations.hpp"
#include "sampling/tick.hpp"

/// The library's other name for it: a program may define the common one.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;

namespace refrain::sampling {
namespace {

int signal_in_use = 0;
bool capped = false;
Source source = Source::None;
const char* why_not = "";

bool is_default(int signal) {
  struct sigaction action;
  return __sigaction(signal, nullptr, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

int choose_signal(int wanted) {
  if (wanted) return is_default(wanted) ? wanted : 0;
  // From the top, but for the last two, which other tools like to take.
  for (int signal = SIGRTMAX - 2; signal > SIGRTMIN + 2; --signal)
    if (is_default(signal)) return signal;
  return 0;
}

/// SIGURG: a stray one, after exec for example, does no harm, since its default is to be ignored; debuggers let it
/// pass; hardly anybody uses what it is for.
constexpr int task_clock_signal = SIGURG;

/// Null, or why samples cannot come from the task clock.
const char* try_task_clock(const SamplerSettings& settings) {
  if (!settings.task_clock) return "REFRAIN_SAMPLING_SOURCE=timer";
  if (settings.signal) return "REFRAIN_SAMPLING_SIGNAL names a signal";
  if (!is_default(task_clock_signal)) return "the program uses SIGURG";
  platform::TaskClockEvent event;
  if (event.open(task_clock_signal)) return event.close(), nullptr;
  switch (errno) {
    case EACCES:
    case EPERM: return "perf_event_open is not permitted: see kernel.perf_event_paranoid, which may be 2 at most";
    case EMFILE:
    case ENFILE: return "too few file descriptors";
    case ENOSYS: return "there is no perf_event_open here";
    default: return "the kernel refuses";
  }
}

}  // namespace

SamplerStart start_sampler(const SamplerSettings& settings) {
  if (settings.frequency == 0) return SamplerStart::Off;
  const bool cpu = settings.clock == platform::TimerClock::ThreadCpu;
  const char* reason = cpu ? try_task_clock(settings) : "";
  const int signal = reason ? choose_signal(settings.signal) : task_clock_signal;
  if (!signal) return SamplerStart::NoSignal;

  const std::int64_t period = 1'000'000'000 / settings.frequency;
  const std::int64_t kernel_tick = platform::cpu_timer_resolution_ns();
  capped = cpu && reason && period < kernel_tick;
  tick_settings = {.clock = settings.clock,
                   .period_ns = period,
                   .kernel_tick_ns = kernel_tick,
                   .tick_period_ns = period > kernel_tick ? period : kernel_tick,
                   .longest_gap_ns = 10 * period + 25 * kernel_tick,
                   .tick_cost = 0,
                   .running = true};

  struct sigaction action {};
  action.sa_sigaction = handle_tick;
  // All signals wait while the handler runs: a program's handler that jumps out would leave the scope open for good.
  // Not on the alternate stack: the smallest one that programs use is smaller than the kernel's own frame (AVX-512).
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  if (__sigaction(signal, &action, nullptr) != 0) return SamplerStart::NoSignal;
  signal_in_use = signal;
  source = !cpu ? Source::WallTimer : reason ? Source::CpuTimer : Source::TaskClock;
  why_not = reason ? reason : "";
  return SamplerStart::Ok;
}

void stop_sampler() { tick_settings.running = false; }
Source sampling_source() { return source; }
const char* why_not_the_task_clock() { return why_not; }
bool frequency_is_capped() { return capped; }
int sampling_signal() { return signal_in_use; }
void set_tick_cost(platform::Ticks cost) { tick_settings.tick_cost = cost; }

namespace {

/// Of the location's thread, which need not be the calling one.
void mark_begin(measurement::Location& l) {
  l.ticks_seen = platform::tick_times_of(l.os_thread_id);
  l.last_sample_ns = tick_settings.clock == platform::TimerClock::ThreadCpu ? platform::thread_cpu_ns_of(l.os_thread_id)
                                                                            : platform::monotonic_ns();
  l.ticks_without_event_ns = l.kernel_time_owed_ns = 0;
  l.silences = 0;
}

}  // namespace

void start_sampling(measurement::Location& location) {
  if (!signal_in_use || !tick_settings.running) return;
  location.late_user_ns = location.late_cpu_ns = location.late_ticks = location.late_ticks_in_mpi = 0;
  location.ticks_are_due = tick_settings.clock == platform::TimerClock::ThreadCpu;
  mark_begin(location);
  const bool has_event = source == Source::TaskClock && location.task_clock.open(signal_in_use);
  if (source == Source::TaskClock && !has_event) location.count_loss(measurement::Loss::TaskClockUnavailable);
  const bool has_timer = location.timer.create(tick_settings.clock, signal_in_use);
  if (!has_timer) location.count_loss(measurement::Loss::TimerUnavailable);
  if (!has_timer && !has_event) return;
  location.sampling = true;
  begin_ticks(location);
}

void resume_sampling(measurement::Location& location) {
  if (!location.sampling) return;
  mark_begin(location);
  begin_ticks(location);
}

void give_up_signal() {
  tick_settings.running = false;
  signal_in_use = 0;
  for (auto* l = measurement::first_location(); l; l = l->next) {
    if (!l->sampling) continue;
    l->sampling = false;
    l->timer.destroy();
    l->task_clock.close();
    l->count_loss(measurement::Loss::SignalTaken);
  }
}

}  // namespace refrain::sampling
