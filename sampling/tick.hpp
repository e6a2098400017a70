#pragma once
/// The tick handler and its settings, which sampler.cpp writes in ordinary context before the first tick.

#include <cstdint>
#include <signal.h>

#include "measurement/location.hpp"
#include "platform/interval_timer.hpp"

namespace refrain::sampling {

struct TickSettings {
  platform::TimerClock clock;
  std::int64_t period_ns;       ///< requested mean time between samples
  std::int64_t kernel_tick_ns;  ///< length of the kernel's tick
  std::int64_t tick_period_ns;  ///< CPU clock: mean time between samples of the timer alone
  std::int64_t longest_gap_ns;  ///< CPU time without an overflow of the task clock after which the event is silent
  platform::Ticks tick_cost;
  bool running;
};
inline TickSettings tick_settings{};

/// Whether the signal comes from the calling thread's own timer or event, not from the program or another process; also
/// if that timer or event no longer exists. Async-signal-safe.
bool is_own_tick(const siginfo_t& info);

/// Called by the handler for every other signal of this number; null: such signals are dropped. Async-signal-safe.
inline void (*on_foreign_signal)(int signal, siginfo_t* info, void* context) = nullptr;

/// The clock of the sampling, nanoseconds. Async-signal-safe.
std::int64_t sampling_clock_ns();

/// Starts the location's timer, and its event if it has one. Async-signal-safe.
void begin_ticks(measurement::Location& location);

/// SA_SIGINFO handler. Async-signal-safe.
void handle_tick(int signal, siginfo_t* info, void* context);

}  // namespace refrain::sampling
