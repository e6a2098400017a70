#pragma once
/// The tick handler and what it reads; written by sampler.cpp in ordinary context before the first tick.

#include <cstdint>
#include <signal.h>

#include "measurement/location.hpp"
#include "platform/interval_timer.hpp"

namespace refrain::sampling {

struct TickSettings {
  platform::TimerClock clock;
  std::int64_t period_ns;                 ///< mean time between samples
  std::uint64_t kernel_ticks_per_sample;  ///< CPU clock: the same in kernel ticks, times 2^16
  std::int64_t weight_ns;                 ///< CPU clock: what one sample stands for
  std::int64_t longest_gap_ns;  ///< CPU clock: a longer time between samples is a loss: the signal was held back
  platform::Ticks tick_cost;
  bool running;
};
extern TickSettings tick_settings;

/// The clock that the timer runs on, nanoseconds. Async-signal-safe.
std::int64_t sampling_clock_ns();

/// Arms the location's timer on the way to its next sample, a random 0.5 to 1.5 periods away. Async-signal-safe.
void arm_next(measurement::Location& location);

/// SA_SIGINFO handler. Async-signal-safe.
void handle_tick(int signal, siginfo_t* info, void* context);

}  // namespace refrain::sampling
