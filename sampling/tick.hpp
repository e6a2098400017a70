#pragma once
/// The tick handler and what it reads; written by sampler.cpp in ordinary context before the first tick.

#include <signal.h>

#include <cstdint>

#include "measurement/location.hpp"
#include "platform/interval_timer.hpp"

namespace refrain::sampling {

struct TickSettings {
  platform::TimerClock clock;
  std::int64_t shortest_ns;   ///< of the random interval
  std::int64_t spread_ns;     ///< longest minus shortest
  std::int64_t longest_believable_ns;  ///< time between ticks beyond this was not sampled: the signal was blocked
  platform::Ticks tick_cost;
  bool running;
};
extern TickSettings tick_settings;

/// The clock that the timer runs on, nanoseconds. Async-signal-safe.
std::int64_t sampling_clock_ns();

/// A random interval. Async-signal-safe.
std::int64_t next_interval_ns(measurement::Location& location);

/// SA_SIGINFO handler. Async-signal-safe.
void handle_tick(int signal, siginfo_t* info, void* context);

}  // namespace refrain::sampling
