#pragma once
/// What the sampling of one thread keeps from tick to tick. Written by the thread's ticks, and by who starts, resumes
/// or ends its sampling while none can come.

#include <cstdint>

#include "measurement/location.hpp"
#include "platform/interval_timer.hpp"
#include "platform/task_clock_event.hpp"

namespace refrain::sampling {

struct ThreadSampler {
  bool active = false;            ///< ticks come
  bool takes_any_signal = false;  ///< each is a sample, whoever has sent it: for calibration and tests
  platform::IntervalTimer timer;
  std::int64_t to_next_sample_ns = 0;   ///< of kernel ticks, before one of them is a sample
  platform::TickTimes ticks_seen{};     ///< by the timer's last tick
  bool ticks_are_due = false;           ///< a tick that does not come is a loss
  platform::TaskClockEvent task_clock;  ///< none: the timer makes all samples
  std::int64_t last_sample_ns = 0;   ///< on the clock of the sampling: the last one of the event, or of the wall clock
  std::int64_t event_period_ns = 0;  ///< that the event has been given
  std::int64_t kernel_time_owed_ns = 0;        ///< CPU time in the kernel that no sample stands for yet
  std::int64_t ticks_without_event_ns = 0;     ///< in user mode, since the event was heard of
  std::int64_t events_without_tick_ns = 0;     ///< CPU time of events, since the timer was heard of or armed anew
  std::int64_t user_time_without_tick_ns = 0;  ///< what events stand for, since the timer was heard of
  bool tick_was_lost = false;                  ///< the timer was armed once more because it was not heard of
  unsigned silences = 0;                       ///< in a row, in each of which a tick took the event's place
  platform::Ticks event_call_begin = 0;        ///< begin of Location::call as the event found it last
  measurement::Inside event_inside = measurement::Inside::User;  ///< likewise where the thread was
  double recent_ticks_in_mpi = 0, recent_ticks = 0;  ///< recent kernel ticks that found it in the kernel, faded
  double recent_user_ns = 0, recent_cpu_ns = 0;      ///< recent CPU time, in user mode and in all, faded
};

/// The sampler of a location, made when there is none yet. Null: no memory. Ordinary context.
ThreadSampler* make_sampler(measurement::Location& location);
void free_sampler(measurement::Location& location);

}  // namespace refrain::sampling
