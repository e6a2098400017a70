#pragma once
/// The tick handler and what it reads; written by sampler.cpp in ordinary context before the first tick.

#include <cstdint>
#include <signal.h>

#include "measurement/location.hpp"
#include "platform/interval_timer.hpp"

namespace refrain::sampling {

struct TickSettings {
  platform::TimerClock clock;
  std::int64_t period_ns;       ///< mean time between samples that was asked for
  std::int64_t kernel_tick_ns;  ///< length of the kernel's tick
  std::int64_t tick_period_ns;  ///< CPU clock: mean time between samples of the timer alone
  std::int64_t longest_gap_ns;  ///< of CPU time without an overflow of the task clock: beyond it the event is silent
  platform::Ticks tick_cost;
  bool running;
};
inline TickSettings tick_settings{};

/// The calling thread's own, or the kernel's answer to what it has asked for: no signal that the program or anybody
/// else has sent. Also of a timer or an event that exists no more. Async-signal-safe.
bool is_own_tick(const siginfo_t& info);

/// Called by the handler for every other signal of this number; null: these are dropped. Async-signal-safe.
inline void (*on_foreign_signal)(int signal, siginfo_t* info, void* context) = nullptr;

/// The clock that samples come by, nanoseconds. Async-signal-safe.
std::int64_t sampling_clock_ns();

/// Sends the location's ticks on their way: timer, and event if it has one. Async-signal-safe.
void begin_ticks(measurement::Location& location);

/// SA_SIGINFO handler. Async-signal-safe.
void handle_tick(int signal, siginfo_t* info, void* context);

}  // namespace refrain::sampling
