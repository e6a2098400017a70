/// Measures the cost of a sample in user code beyond the delivery of the signal and re-arming the timer: raises the
/// same signal at depth 40 with a handler that only re-arms a timer, and with Refrain's handler.

#include <benchmark/benchmark.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measurement/locations.hpp"
#include "platform/threads.hpp"
#include "sampling/sampler.hpp"
#include "sampling/tick.hpp"

namespace {

using namespace refrain;

volatile int keep_frame;
measurement::Location* location;
platform::IntervalTimer bare_timer;

void bare_handler(int, siginfo_t*, void*) { bare_timer.arm(3'600'000'000'000); }

void raise_tick(benchmark::State& state) {
  const int signal = sampling::sampling_signal(), process = getpid(), thread = platform::thread_id();
  for (auto _ : state) syscall(SYS_tgkill, process, thread, signal);
}

[[gnu::noinline]] void descend(int depth, benchmark::State& state) {
  if (depth <= 1) {
    raise_tick(state);
  } else {
    descend(depth - 1, state);
  }
  keep_frame = depth;
}

void with_handler(benchmark::State& state, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(sampling::sampling_signal(), &action, nullptr);
  descend(static_cast<int>(state.range(0)), state);
}

void bare_signal(benchmark::State& state) { with_handler(state, bare_handler); }
void refrain_sample(benchmark::State& state) { with_handler(state, sampling::handle_tick); }

BENCHMARK(bare_signal)->Arg(40)->Repetitions(9)->ReportAggregatesOnly();
BENCHMARK(refrain_sample)->Arg(40)->Repetitions(9)->ReportAggregatesOnly();

}  // namespace

int main(int argc, char** argv) {
  platform::start_clock();
  if (!unwind::start_rule_cache()) return 1;
  // The period is so long that only raised signals arrive; each sample still re-arms the timer.
  sampling::start_sampler({1, platform::TimerClock::Wall, false, 0});
  sampling::tick_settings.period_ns = 3'600'000'000'000;
  location = measurement::begin_location({32u << 20, 1024, unwind::Backend::Incremental});
  (void)measurement::enter_location(*location);
  sampling::start_sampling(*location);
  bare_timer.create(platform::TimerClock::Wall, sampling::sampling_signal());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
