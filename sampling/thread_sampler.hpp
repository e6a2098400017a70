#pragma once
/// State of the sampling of one thread. Written by the thread's ticks, and by the thread that starts, resumes or ends
/// its sampling, while no tick can come.

#include <cstdint>

#include "measurement/location.hpp"
#include "platform/interval_timer.hpp"
#include "platform/task_clock_event.hpp"

namespace refrain::sampling {

struct ThreadSampler {
  bool active = false;            ///< ticks come
  bool takes_any_signal = false;  ///< every signal is a sample, whatever sent it: for calibration and tests
  platform::IntervalTimer timer;
  std::int64_t to_next_sample_ns = 0;       ///< time of kernel ticks until one of them is a sample
  platform::TickTimes ticks_seen{};         ///< the kernel's counts at the timer's last tick
  bool ticks_are_due = false;               ///< a tick that does not come is a loss
  platform::TaskClockEvent task_clock;      ///< none: the timer makes all samples
  std::int64_t last_sample_ns = 0;          ///< time of the last sample of the event, or of the wall clock
  std::int64_t event_period_ns = 0;         ///< present period of the event
  std::int64_t kernel_time_owed_ns = 0;     ///< CPU time in the kernel that no sample stands for yet
  std::int64_t ticks_without_event_ns = 0;  ///< time of ticks in user mode since the last event
  std::int64_t events_without_tick_ns = 0;  ///< CPU time of events since the timer's last tick, or since it was armed
  std::int64_t user_time_without_tick_ns = 0;  ///< user time of events since the timer's last tick
  bool tick_was_lost = false;                  ///< the timer was armed again because its tick did not come
  unsigned silences = 0;                       ///< number of successive ticks that replaced a missing event
  platform::Ticks event_call_begin = 0;        ///< begin of Location::call at the last event
  measurement::Inside event_inside = measurement::Inside::User;  ///< where the last event found the thread
  double recent_ticks_in_mpi = 0, recent_ticks = 0;  ///< recent kernel ticks that found it in the kernel, faded
  double recent_user_ns = 0, recent_cpu_ns = 0;      ///< recent CPU time, in user mode and in all, faded
};

/// The sampler of a location, made when there is none yet. Null: no memory. Ordinary context.
ThreadSampler* make_sampler(measurement::Location& location);
void free_sampler(measurement::Location& location);

}  // namespace refrain::sampling
