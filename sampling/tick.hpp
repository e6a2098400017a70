#pragma once
/// The tick handler and what it reads; written by sampler.cpp in ordinary context before the first tick.

#include <cstdint>
#include <signal.h>

#include "measurement/location.hpp"
#include "platform/interval_timer.hpp"

namespace refrain::sampling {

struct TickSettings {
  platform::TimerClock clock;
  std::int64_t shortest_ns;          ///< of the random interval
  std::int64_t spread_ns;            ///< longest minus shortest
  std::int64_t longest_lateness_ns;  ///< a tick later than this after its time is no sample, see tick.cpp
  std::int64_t longest_gap_ns;       ///< a longer time between ticks is a loss: the signal was held back
  platform::Ticks tick_cost;
  bool running;
};
extern TickSettings tick_settings;

/// The clock that the timer runs on, nanoseconds. Async-signal-safe.
std::int64_t sampling_clock_ns();

/// Arms the location's timer for a random interval from `now_ns` on. Async-signal-safe.
void arm_next(measurement::Location& location, std::int64_t now_ns);

/// SA_SIGINFO handler. Async-signal-safe.
void handle_tick(int signal, siginfo_t* info, void* context);

}  // namespace refrain::sampling
