#pragma once
/// Samples, a random 0.5 to 1.5 periods after one another: a fixed period aliases with the program's own (a 10 % path
/// was seen as 31.5 %).
///
/// On the CPU clock, where it is allowed, an event of the task clock per thread (platform/task_clock_event.hpp) samples
/// user mode, however short the phases are. A timer beside it, at which the kernel looks on its own tick, tells where
/// the thread is in the kernel. Where the event is not allowed the timer makes all samples.
/// On the wall clock there is a timer, and a sample weighs the time since the last one.

#include <cstdint>

#include "measurement/location.hpp"
#include "platform/interval_timer.hpp"

namespace refrain::sampling {

struct SamplerSettings {
  std::int64_t frequency;  ///< Hz of the clock below; 0: no sampling
  platform::TimerClock clock;
  bool task_clock;  ///< wanted; on the CPU clock only
  int signal;  ///< a real-time signal, which only the timer can use; 0: SIGURG for the task clock, and for the timer
               ///< the first real-time signal from the top, of those that the program has left at their default
};

enum class SamplerStart : std::uint8_t { Ok, Off, NoSignal };

/// Installs the handler. Once per process, before any thread starts sampling. Ordinary context.
SamplerStart start_sampler(const SamplerSettings& settings);
/// The handler stays installed (a tick may be on its way) and ignores everything.
void stop_sampler();

/// What makes the samples.
enum class Source : std::uint8_t { None, TaskClock, CpuTimer, WallTimer };
Source sampling_source();
/// Why that is the timer on the CPU clock; empty when it is not.
const char* why_not_the_task_clock();

/// True when more ticks per second were asked for than the kernel's own tick delivers on the CPU clock.
bool frequency_is_capped();
int sampling_signal();
/// The signal that our handler was installed for, also when the program has taken it since; 0: none.
int signal_of_handler();

/// Starts the timer and the event of the calling thread for its location. A refusal is counted as a loss.
void start_sampling(measurement::Location& location);

/// Starts timer and event again for a location that was stopped (Location::stopped): its last tick has not armed the
/// timer, and has paused the event. Also for another thread's location, while that is paused.
void resume_sampling(measurement::Location& location);

/// No more ticks come to the location, whose thread or measurement ends. CPU time that none has told of is counted as a
/// loss.
void end_sampling(measurement::Location& location);

/// CPU time of a location's thread whose ticks have not come though they were due, as far as it can be told now: the
/// kernel's ticks that found it and were not seen. One may be on its way; two in user mode were held back.
std::int64_t cpu_time_without_ticks(const measurement::Location& location);

/// In a forked child, which has copies of the parent's descriptors and no timers.
void forget_parents_samplers();

/// The program wants the signal for itself: all timers off, the loss counted at every location.
void give_up_signal();

/// Calibrated cost of one tick in ticks of the clock; taken off the MPI call that a tick interrupts.
void set_tick_cost(platform::Ticks cost);

}  // namespace refrain::sampling
