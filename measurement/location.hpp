#pragma once
/// A location: one thread of the program and everything that is measured on it.
///
/// Who may touch what: the owning thread, in ordinary context or in the tick handler, between entering and leaving
/// (entrance.hpp). `inside` is the only guard and is taken at the entries (MPI wrapper, mark, tick), never deeper.
/// The finalizing thread reads a location after `close_location`, when its owner no longer writes.

#include <atomic>
#include <cstdint>

#include "measurement/call_tree.hpp"
#include "measurement/extra_metrics.hpp"
#include "measurement/metrics.hpp"
#include "measurement/off_cpu.hpp"
#include "measurement/open_call.hpp"
#include "measurement/own_location.hpp"
#include "measurement/own_time.hpp"
#include "platform/clock.hpp"
#include "platform/thread_cpu_clock.hpp"
#include "platform/threads.hpp"
#include "unwind/walker.hpp"
#include "waits/durations.hpp"

namespace refrain::sampling {
struct ThreadSampler;
}

namespace refrain::measurement {

enum class Inside : std::uint8_t {
  User,         ///< the program's own code
  Measurement,  ///< Refrain's bookkeeping
  Tick,         ///< the same, in a tick (TickInProgress)
  Call,         ///< a call in progress (open_call.hpp)
  Closed,       ///< measurement of this location has ended
};

/// Nothing but the bookkeeping itself may look at what the location holds.
constexpr bool is_bookkeeping(Inside inside) { return inside == Inside::Measurement || inside == Inside::Tick; }

/// Whether new scopes may begin on a location.
enum class Gate : std::uint8_t {
  Open,
  Paused,  ///< another thread reads it: entries wait, ticks record nothing
  Shut,    ///< its measurement is ending
};

/// The bookkeeping of a tick, in progress while Location::inside is Tick. Only the sampling signal is blocked
/// meanwhile, so a signal handler of the program may run on top of the tick, and may leave it by a jump
/// (abandoned_scope.hpp).
struct TickInProgress {
  const std::uint64_t* mark = nullptr;  ///< on the tick's stack; holds `number` until the tick has ended
  std::uint64_t number = 0;
  std::uintptr_t frame = 0;     ///< stack pointer of the kernel's frame of the signal; 0: not known
  Inside found = Inside::User;  ///< where the tick has found the thread
};

/// A loop or region that the program has begun and not ended.
struct OpenMark {
  std::uintptr_t frame;   ///< canonical frame address of the function with the mark
  std::uintptr_t caller;  ///< return address of that function: with `frame` it tells the activation
  std::uintptr_t site;    ///< return address of the mark itself
  std::uintptr_t sp;      ///< stack pointer of the function at the mark
  std::uintptr_t iteration_begins, iteration_ends;  ///< of a loop: where its iterations were marked last
  platform::Ticks begin;
  OffCpuTimes off_before;          ///< of the thread by then
  platform::Ticks stopped_before;  ///< time for which the measurement had been stopped by then
  NodeId node;                     ///< call path of the mark
  std::uint32_t index;             ///< of the function's frame, from the outermost
  RegionId region;
  bool is_loop;
};

/// Those of one thread, outermost first.
struct OpenMarks {
  static constexpr std::uint32_t max_open = 60;
  std::uint32_t count;
  std::uint32_t at_iteration;                    ///< how many were open when the iteration in progress began
  std::uint32_t ignored;                         ///< begun when there was no room; their ends are to be ignored
  std::uint32_t ignored_loops;                   ///< those of them that are loops
  std::uintptr_t ignored_frame, ignored_caller;  ///< activation of the first of them
  OpenMark open[max_open];
};

/// Of a location that MPI_Pcontrol has stopped (stopping.hpp).
struct WhileStopped {
  UnitTotals unit{};         ///< the unit in progress as it was; what is added to Location::unit meanwhile is dropped
  platform::Ticks wall = 0;  ///< of all stops, but for the one in progress since Location::begin
  std::int64_t cpu_ns = 0;   ///< likewise
  std::int64_t row[columns_of(NodeKind::Region) + max_extra_metrics] = {};  ///< where calls write meanwhile
};

struct EventLog;    // measurement/event_log.hpp
struct Iterations;  // measurement/iterations.hpp
struct Follower;    // measurement/follower.hpp

struct alignas(64) Location {
  // ---- What every call touches: two cache lines, the first and that in which the tree ends ----
  std::atomic<Inside> inside{Inside::Closed};
  std::atomic<Gate> gate{Gate::Open};
  bool stopped = false;              ///< by MPI_Pcontrol: nothing is recorded (stopping.hpp)
  bool keeps_events = false;         ///< what happens is noted, and messages are numbered (event_log.hpp)
  std::int16_t calls_to_timing = 0;  ///< calls until the next that is timed; 0 or less: the call in progress is
  OpenCall call;                     ///< the one in progress, or the last; of a mark only `sp` and `pc`
  CallTree tree;
  waits::DurationTable durations;  ///< call_durations.hpp
  Follower* follower = nullptr;    ///< null: the location is cut by its own iterations alone
  ExtraReadings* extra = nullptr;  ///< null: no metrics are asked for beside the time
  unwind::Walker walker;
  /// The unit in progress. Its `wall` and `cpu_ns` hold what earlier threads of a pooled location have used up; the
  /// part of the running thread is added when the thread or the unit ends.
  UnitTotals unit{};
  EventLog* events = nullptr;  ///< null: none are kept of this location

  // ---- Further of calls ----
  std::uint32_t duration_entries = 0;  ///< of `durations`
  bool durations_are_full = false;
  platform::Ticks resumed_at = 0;     ///< when a stop of the measurement has ended last in a call
  waits::Transfer transfer_within;    ///< of the announced call that has answered (OpenCall::announcement)
  platform::Ticks call_seen = 0;      ///< when a tick has last found a thread in a call
  platform::Ticks call_verified = 0;  ///< the same, of ticks that have looked whether the call still is on the stack
  platform::Ticks ticked_call = 0;    ///< begin of the call that ticks have found last
  std::uint32_t ticks_in_call = 0;    ///< how many of them
  std::uint64_t requests_begun = 0;
  std::int64_t trigger_calls = 0;    ///< calls that may begin an iteration (iteration_trigger.hpp)
  std::uint64_t trigger_misses = 0;  ///< such calls while the function was not known

  // ---- Units, marks and iterations ----
  platform::Ticks begin = 0;      ///< of the unit in progress on this thread
  std::int64_t cpu_begin_ns = 0;  ///< the same on the thread's CPU clock
  UnitTotals outside{};           ///< outside of iterations, but for the unit in progress
  WhileStopped while_stopped;
  OpenMarks* marks = nullptr;        ///< made by the first mark of the program
  bool marks_ignored = false;        ///< there was no memory for them
  Iterations* iterations = nullptr;  ///< its loops, or those that it follows; else made by the first loop

  // ---- Samples ----
  TickInProgress tick;
  std::uint32_t ticks_beyond_scope = 0;        ///< in a row, further out than the scope that is in progress
  sampling::ThreadSampler* sampler = nullptr;  ///< sampling/thread_sampler.hpp; null: no ticks come

  // ---- Own time (own_time.hpp) ----
  CallTiming call_timing{};
  OwnTimes own_times[own_time_count]{};
  platform::Ticks own_times_left_out = 0;  ///< all own work that was timed or charged by itself
  std::uint64_t random_state = 0;          ///< next_random()

  // ---- The thread ----
  std::int64_t losses[loss_count]{};
  std::int32_t thread = 0;  ///< 0 is the thread that the process began with
  int os_thread_id = 0;
  char name[32]{};
  OffCpu off_cpu;
  platform::ThreadCpuClock cpu_clock;  ///< begins with what tells calls that the thread has kept its processor
  platform::Ticks first_begin = 0;     ///< of the location's first thread
  platform::Ticks end = 0;             ///< of its last thread
  std::atomic<bool> in_use{false};     ///< a thread owns it now; else it waits in the pool
  Location* next = nullptr;            ///< all locations of the process, newest first

  // Async-signal-safe.
  void count_loss(Loss loss) { add_loss(loss, 1); }
  void add_loss(Loss loss, std::int64_t much) { losses[static_cast<std::size_t>(loss)] += much; }
};

/// The innermost frame of a path.
struct Activation {
  std::uintptr_t frame;   ///< canonical frame address, 0 when the path has one frame only
  std::uintptr_t caller;  ///< return address of the function, with the frame
  std::uint32_t index;    ///< of the frame, from the outermost
};

/// The call-tree node of the path `start` is in, with the marks that are open on it. Inside a scope only.
/// Async-signal-safe.
NodeId path_of(Location& location, const unwind::Start& start, Activation* innermost = nullptr);

/// Ends the unit in progress when an iteration that the location follows has begun or ended since (follower.hpp).
/// `was`: where the thread has come from. By the entrance, or by who holds the thread; before anything is counted.
/// Async-signal-safe.
void keep_up(Location& location, Inside was);

/// Uniform in [0, 2^32): xorshift64*. A tick that comes here and draws, too, does no harm. Async-signal-safe.
inline std::uint64_t next_random(Location& location) {
  std::uint64_t x = location.random_state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  location.random_state = x;
  return (x * 0x2545f4914f6cdd1du) >> 32;
}

inline OwnTimeBegin begin_own_time(Location& location) {
  // The clock is read first. With cold caches, the time that the timing itself then waits is about the time that was
  // spent before the reading.
  OwnTimeBegin begin;
  begin.at = platform::now();
  begin.watch = location.cpu_clock.watch().begin();
  begin.left_out = location.own_times_left_out;
  return begin;
}
[[gnu::always_inline]] inline void begin_timed_call(Location& location, platform::Ticks at) {
  CallTiming& timing = location.call_timing;
  timing.begin_before = timing.begin;
  timing.begin = {at, location.own_times_left_out, location.cpu_clock.watch().begin()};
}
TimedOwnWork::~TimedOwnWork() { location_.unit.own += end_own_time(location_, of_, begin_); }

/// Since the last look at its time off the CPU.
[[gnu::always_inline]] inline bool has_kept_processor(const Location& location) {
  return location.cpu_clock.watch().holds(location.off_cpu.watch);
}
/// The thread itself leaves user code for a call, which begins at the time that is returned. The previous call has
/// already looked at its own time if it was long enough; if not, it counts as part of this stretch.
[[gnu::always_inline]] inline platform::Ticks end_user_time(Location& location) {
  const platform::Ticks now = platform::now();
  if (now - shortest_with_switch < location.call.begin || has_kept_processor(location)) return now;
  return look_at_call_begin(location, now);
}

/// The unit in progress lasts until the given times, and what comes after them is another one's. Inside a scope.
void end_unit(Location& location, platform::Ticks now, std::int64_t cpu_now_ns);
/// The unit in progress has been taken elsewhere; a new one begins. Async-signal-safe.
void start_unit_anew(Location& location);
/// The unit in progress is time outside of iterations; a new one begins.
void count_unit_outside(Location& location);

}  // namespace refrain::measurement
