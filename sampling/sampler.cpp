#include "sampling/sampler.hpp"

#include <errno.h>
#include <signal.h>

#include "measurement/locations.hpp"
#include "platform/pages.hpp"
#include "platform/threads.hpp"
#include "sampling/thread_sampler.hpp"
#include "sampling/tick.hpp"

/// The C library's other name for sigaction(), which a program may define itself.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*) noexcept;

namespace refrain::sampling {
namespace {

int signal_in_use = 0, signal_with_handler = 0;
bool capped = false;
Source source = Source::None;
const char* why_not = "";

bool is_default(int signal) {
  struct sigaction action;
  return __sigaction(signal, nullptr, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

int choose_signal(int wanted) {
  if (wanted) return is_default(wanted) ? wanted : 0;
  // From the top, but without the last two, which other tools often use.
  for (int signal = SIGRTMAX - 2; signal > SIGRTMIN + 2; --signal)
    if (is_default(signal)) return signal;
  return 0;
}

/// SIGURG is ignored by default, so a stray one, for example after exec, does no harm; debuggers let it pass; programs
/// hardly use urgent data.
constexpr int task_clock_signal = SIGURG;

/// The reason why samples cannot come from the task clock. Null: they can.
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

/// Begins to count ticks and time at the present values. The location's thread need not be the calling one.
void note_begin(const measurement::Location& l, ThreadSampler& s) {
  s.ticks_seen = platform::tick_times_of(l.os_thread_id);
  s.last_sample_ns = tick_settings.clock == platform::TimerClock::ThreadCpu ? platform::thread_cpu_ns_of(l.os_thread_id)
                                                                            : platform::monotonic_ns();
  s.ticks_without_event_ns = s.events_without_tick_ns = s.user_time_without_tick_ns = s.kernel_time_owed_ns = 0;
  s.tick_was_lost = false;
  s.silences = 0;
}

void end_ticks(ThreadSampler& s) {
  s.active = false;
  s.timer.destroy();
  s.task_clock.close();
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
                   .running = true};

  struct sigaction action {};
  action.sa_sigaction = handle_tick;
  // The handler blocks only its own signal: the kernel would hand a signal of the process that this thread blocks to
  // another thread. So handlers of the program may run on top of ours (measurement/abandoned_scope.hpp). It does not
  // run on the alternate stack, which may be smaller than the kernel's own frame (AVX-512).
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (__sigaction(signal, &action, nullptr) != 0) return SamplerStart::NoSignal;
  signal_in_use = signal_with_handler = signal;
  platform::NoSignals::never_hold(signal);
  source = !cpu ? Source::WallTimer : reason ? Source::CpuTimer : Source::TaskClock;
  why_not = reason ? reason : "";
  return SamplerStart::Ok;
}

void stop_sampler() { tick_settings.running = false; }
Source sampling_source() { return source; }
const char* why_not_the_task_clock() { return why_not; }
bool frequency_is_capped() { return capped; }
int sampling_signal() { return signal_in_use; }
int signal_of_handler() { return signal_with_handler; }
void set_tick_cost(platform::Ticks cost) { tick_settings.tick_cost = cost; }

ThreadSampler* make_sampler(measurement::Location& location) {
  if (!location.sampler) location.sampler = platform::make_on_pages<ThreadSampler>();
  return location.sampler;
}

void free_sampler(measurement::Location& location) {
  platform::unmake_on_pages(location.sampler);
  location.sampler = nullptr;
}

void start_sampling(measurement::Location& location) {
  if (!signal_in_use || !tick_settings.running) return;
  ThreadSampler* sampler = make_sampler(location);
  if (!sampler) return location.count_loss(measurement::Loss::TimerUnavailable);
  sampler->recent_user_ns = sampler->recent_cpu_ns = sampler->recent_ticks = sampler->recent_ticks_in_mpi = 0;
  sampler->ticks_are_due = tick_settings.clock == platform::TimerClock::ThreadCpu;
  note_begin(location, *sampler);
  const bool has_event = source == Source::TaskClock && sampler->task_clock.open(signal_in_use);
  if (source == Source::TaskClock && !has_event) location.count_loss(measurement::Loss::TaskClockUnavailable);
  const bool has_timer = sampler->timer.create(tick_settings.clock, signal_in_use);
  if (!has_timer) location.count_loss(measurement::Loss::TimerUnavailable);
  if (!has_timer && !has_event) return;
  sampler->active = true;
  begin_ticks(location);
}

void resume_sampling(measurement::Location& location) {
  if (!location.sampler || !location.sampler->active) return;
  note_begin(location, *location.sampler);
  begin_ticks(location);
}

void end_sampling(measurement::Location& location) {
  if (!location.sampler) return;
  end_ticks(*location.sampler);
  location.add_loss(measurement::Loss::CpuTimeWithoutTicks, cpu_time_without_ticks(location));
  location.sampler->ticks_are_due = false;
}

std::int64_t cpu_time_without_ticks(const measurement::Location& l) {
  if (!l.sampler || !l.sampler->ticks_are_due || l.stopped) return 0;
  const platform::TickTimes& seen = l.sampler->ticks_seen;
  const std::int64_t tick = platform::cpu_timer_resolution_ns();
  const platform::TickTimes now = platform::tick_times_of(&l == measurement::own_location() ? 0 : l.os_thread_id);
  if (now.all < 0 || now.user - seen.user < 2 * tick) return 0;
  if (l.sampler->events_without_tick_ns > 0 || l.sampler->tick_was_lost) {  // only ticks of the timer are missing
    const bool own = &l == measurement::own_location();
    const std::int64_t cpu_ns = own ? platform::thread_cpu_ns() : platform::thread_cpu_ns_of(l.os_thread_id);
    const std::int64_t silent_ns = cpu_ns - l.sampler->last_sample_ns;
    return silent_ns < tick_settings.longest_gap_ns ? 0 : silent_ns;
  }
  return now.all - seen.all - tick;
}

void give_up_signal() {
  tick_settings.running = false;
  signal_in_use = 0;
  platform::NoSignals::never_hold(0);
  for (auto* l = measurement::first_location(); l; l = l->next) {
    if (!l->sampler || !l->sampler->active) continue;
    end_ticks(*l->sampler);
    l->count_loss(measurement::Loss::SignalTaken);
  }
}

void forget_parents_samplers() {
  for (auto* l = measurement::first_location(); l; l = l->next)
    if (l->sampler) l->sampler->task_clock.close_copy();
}

}  // namespace refrain::sampling
