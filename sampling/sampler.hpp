#pragma once
/// Samples come at random intervals of 0.5 to 1.5 periods: a fixed period aliases with the program's own (a path of 10
/// % was measured as 31.5 %).
///
/// On the CPU clock an event of the task clock per thread (platform/task_clock_event.hpp) samples user mode, however
/// short the phases between waits are. A timer beside it, which the kernel checks at its own ticks, tells where the
/// thread is in the kernel. Where the event is not permitted the timer makes all samples.
/// On the wall clock there is only a timer, and a sample weighs the time since the last one.

#include <cstdint>

#include "measurement/location.hpp"
#include "platform/interval_timer.hpp"

namespace refrain::sampling {

struct SamplerSettings {
  std::int64_t frequency;  ///< Hz of the clock below; 0: no sampling
  platform::TimerClock clock;
  bool task_clock;  ///< use the task clock if possible; on the CPU clock only
  int signal;  ///< a real-time signal, for the timer only; 0: SIGURG for the task clock, and for the timer the highest
               ///< real-time signal that the program has left at its default
};

enum class SamplerStart : std::uint8_t { Ok, Off, NoSignal };

/// Installs the handler. Once per process, before any thread starts sampling. Ordinary context.
SamplerStart start_sampler(const SamplerSettings& settings);
/// The handler stays installed (a tick may be on its way) and ignores everything.
void stop_sampler();

/// The source of the samples.
enum class Source : std::uint8_t { None, TaskClock, CpuTimer, WallTimer };
Source sampling_source();
/// The reason why the source is the timer on the CPU clock; empty when it is not.
const char* why_not_the_task_clock();

/// Whether the requested frequency exceeds that of the kernel's tick, which limits the timer on the CPU clock.
bool frequency_is_capped();
int sampling_signal();
/// The signal that the handler was installed for, even if the program has taken it since; 0: none.
int signal_of_handler();

/// Starts the timer and the event of the calling thread for its location. If the kernel refuses one, that is counted as
/// a loss.
void start_sampling(measurement::Location& location);

/// Restarts the timer and the event of a location whose measurement was stopped (Location::stopped): its last tick has
/// paused the event and has not armed the timer. May be called for another thread's location while that is paused.
void resume_sampling(measurement::Location& location);

/// Ends the ticks of a location whose thread or measurement ends. CPU time without ticks is counted as a loss.
void end_sampling(measurement::Location& location);

/// CPU time of a location's thread for which ticks were due and have not come, as far as known now: the kernel counted
/// ticks that the handler has not seen. One tick may be pending; two in user mode were held back.
std::int64_t cpu_time_without_ticks(const measurement::Location& location);

/// In a forked child, which has copies of the parent's descriptors and no timers.
void forget_parents_samplers();

/// The program takes the signal: stops all timers and events, and counts the loss at every location.
void give_up_signal();

/// Sets the calibrated cost of one tick, in ticks of the clock; it is subtracted from the MPI call that a tick
/// interrupts.
void set_tick_cost(platform::Ticks cost);

}  // namespace refrain::sampling
