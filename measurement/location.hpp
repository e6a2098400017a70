#pragma once
/// A location: one thread of the program and everything that is measured on it.
///
/// Access: the owning thread writes to its location between entering and leaving (entrance.hpp), in ordinary context or
/// in the tick handler. `inside` is the only guard; it is taken at the entries (MPI wrapper, mark, tick), never deeper.
/// The finalizing thread reads a location after close_location(), when its owner writes no more.

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
  Tick,         ///< Refrain's bookkeeping in a tick (TickInProgress)
  Call,         ///< a call in progress (open_call.hpp)
  Closed,       ///< the measurement of this location has ended
};

/// True: nothing but the bookkeeping itself may read the contents of the location.
constexpr bool is_bookkeeping(Inside inside) { return inside == Inside::Measurement || inside == Inside::Tick; }

/// Whether new scopes may begin on a location.
enum class Gate : std::uint8_t {
  Open,
  Paused,  ///< another thread reads the location: entries wait, ticks record nothing
  Served,  ///< paused for a moment while the first thread serves the follower (followers.hpp)
  Shut,    ///< the measurement of the location is ending
};

/// The bookkeeping of a tick, in progress while Location::inside is Tick. Only the sampling signal is blocked
/// meanwhile, so a signal handler of the program may run on top of the tick, and may leave it by a jump
/// (abandoned_scope.hpp).
struct TickInProgress {
  const std::uint64_t* mark = nullptr;  ///< on the tick's stack; holds `number` until the tick has ended
  std::uint64_t number = 0;
  std::uintptr_t frame = 0;     ///< stack pointer of the kernel's frame of the signal; 0: not known
  Inside found = Inside::User;  ///< where the tick found the thread
};

/// A loop or region that the program has begun and not ended.
struct OpenMark {
  std::uintptr_t frame;   ///< canonical frame address of the function with the mark
  std::uintptr_t caller;  ///< return address of that function; identifies the activation together with `frame`
  std::uintptr_t site;    ///< return address of the mark itself
  std::uintptr_t sp;      ///< stack pointer of the function at the mark
  std::uintptr_t iteration_begins, iteration_ends;  ///< return addresses of the last iteration marks of a loop
  platform::Ticks begin;
  OffCpuTimes off_before;          ///< time off the CPU of the thread up to `begin`
  platform::Ticks stopped_before;  ///< time up to `begin` for which the measurement was stopped
  NodeId node;                     ///< call path of the mark
  std::uint32_t index;             ///< of the function's frame, counted from the outermost
  RegionId region;
  bool is_loop;
};

/// The open marks of one thread, outermost first.
struct OpenMarks {
  static constexpr std::uint32_t max_open = 60;
  std::uint32_t count;
  std::uint32_t at_iteration;                    ///< number of open marks when the iteration in progress began
  std::uint32_t ignored;                         ///< marks begun when there was no room; their ends are ignored, too
  std::uint32_t ignored_loops;                   ///< number of loops among the ignored marks
  std::uintptr_t ignored_frame, ignored_caller;  ///< activation of the first ignored mark
  OpenMark open[max_open];
};

/// State of a location while MPI_Pcontrol has stopped the measurement (stopping.hpp).
struct WhileStopped {
  UnitTotals unit{};         ///< the unit in progress at the stop; values added to Location::unit meanwhile are dropped
  platform::Ticks wall = 0;  ///< of all earlier stops; the one in progress began at Location::begin
  std::int64_t cpu_ns = 0;   ///< likewise
  std::int64_t row[columns_of(NodeKind::Region) + max_extra_metrics] =
      {};  ///< value row of calls meanwhile, never read
};

struct EventLog;    // measurement/event_log.hpp
struct Iterations;  // measurement/iterations.hpp
struct Follower;    // measurement/follower.hpp

struct alignas(64) Location {
  // ---- Touched by every call: two cache lines, the first and the one in which the tree ends ----
  std::atomic<Inside> inside{Inside::Closed};
  std::atomic<Gate> gate{Gate::Open};
  bool stopped = false;              ///< MPI_Pcontrol has stopped the measurement (stopping.hpp)
  bool keeps_events = false;         ///< events are noted, and messages are numbered (event_log.hpp)
  std::int16_t calls_to_timing = 0;  ///< calls until the next timed one; 0 or less: the call in progress is timed
  OpenCall call;                     ///< the call in progress, or the last one; marks set `sp` and `pc` only
  CallTree tree;
  waits::DurationTable durations;  ///< call_durations.hpp
  Follower* follower = nullptr;    ///< null: only its own iterations cut the location
  ExtraReadings* extra = nullptr;  ///< null: the user has asked for no extra metrics
  unwind::Walker walker;
  /// The unit in progress. `wall` and `cpu_ns` are those of earlier threads of a pooled location; those of the present
  /// thread are added when the thread or the unit ends.
  UnitTotals unit{};
  EventLog* events = nullptr;  ///< null: no events of this location are kept

  // ---- Calls, rarely touched ----
  std::uint32_t duration_entries = 0;  ///< number of entries in `durations`
  bool durations_are_full = false;
  platform::Ticks resumed_at = 0;     ///< when the measurement was last resumed during a call
  waits::Transfer transfer_within;    ///< of the announced call that has come (OpenCall::announcement)
  platform::Ticks call_seen = 0;      ///< when a tick last found the thread in a call
  platform::Ticks call_verified = 0;  ///< when a tick last verified that the call is still on the stack
  platform::Ticks ticked_call = 0;    ///< begin of the call that ticks found last
  std::uint32_t ticks_in_call = 0;    ///< number of ticks that found that call
  std::uint64_t requests_begun = 0;
  std::int64_t trigger_calls = 0;    ///< calls that may begin an iteration (iteration_trigger.hpp)
  std::uint64_t trigger_misses = 0;  ///< such calls while the function was not known

  // ---- Units, marks and iterations ----
  platform::Ticks begin = 0;      ///< of the unit in progress on this thread
  std::int64_t cpu_begin_ns = 0;  ///< likewise on the thread's CPU clock
  UnitTotals outside{};           ///< totals outside of iterations, without the unit in progress
  WhileStopped while_stopped;
  OpenMarks* marks = nullptr;        ///< made by the first mark of the program
  bool marks_ignored = false;        ///< there was no memory for `marks`
  Iterations* iterations = nullptr;  ///< its own loops, made by the first one; of a follower Follower::iterations

  // ---- Samples ----
  TickInProgress tick;
  std::uint32_t ticks_beyond_scope = 0;        ///< successive ticks that came further out than the scope in progress
  sampling::ThreadSampler* sampler = nullptr;  ///< sampling/thread_sampler.hpp; null: no ticks come

  // ---- Own time (own_time.hpp) ----
  CallTiming call_timing{};
  OwnTimes own_times[own_time_count]{};
  platform::Ticks own_times_left_out = 0;  ///< sum of all own work that was timed or charged separately
  std::uint64_t random_state = 0;          ///< next_random()

  // ---- The thread ----
  std::int64_t losses[loss_count]{};
  std::int32_t thread = 0;  ///< 0 is the thread that the process began with
  int os_thread_id = 0;
  char name[32]{};
  OffCpu off_cpu;
  platform::ThreadCpuClock cpu_clock;  ///< its first member tells calls whether the thread has kept its processor
  platform::Ticks first_begin = 0;     ///< of the location's first thread
  platform::Ticks end = 0;             ///< of its last thread
  std::atomic<bool> in_use{false};     ///< a thread owns the location; else it is in the pool
  Location* next = nullptr;            ///< all locations of the process, newest first

  // Async-signal-safe.
  void count_loss(Loss loss) { add_loss(loss, 1); }
  void add_loss(Loss loss, std::int64_t much) { losses[static_cast<std::size_t>(loss)] += much; }
};

/// The innermost frame of a path.
struct Activation {
  std::uintptr_t frame;   ///< canonical frame address, 0 when the path has one frame only
  std::uintptr_t caller;  ///< return address of the function
  std::uint32_t index;    ///< of the frame, counted from the outermost
};

/// The call-tree node of the call path of `start`, including the marks that are open on it. Inside a scope only.
/// Async-signal-safe.
NodeId path_of(Location& location, const unwind::Start& start, Activation* innermost = nullptr);

/// Ends the unit in progress of a follower if an iteration of the first thread has begun or ended since (follower.hpp).
/// `was`: where the thread came from. Called by the entrance or by the holder of the location, before anything is
/// counted. Async-signal-safe.
void keep_up(Location& location, Inside was);

/// Uniform in [0, 2^32): xorshift64*. A tick that interrupts it and draws a number, too, does no harm.
/// Async-signal-safe.
inline std::uint64_t next_random(Location& location) {
  std::uint64_t x = location.random_state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  location.random_state = x;
  return (x * 0x2545f4914f6cdd1du) >> 32;
}

inline OwnTimeBegin begin_own_time(Location& location) {
  // The clock is read first: with cold caches, the misses of the timing itself cost about as much as those before the
  // reading.
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

/// Whether the thread has kept its processor since the last look at its time off the CPU.
[[gnu::always_inline]] inline bool has_kept_processor(const Location& location) {
  return location.cpu_clock.watch().holds(location.off_cpu.watch);
}
/// Ends the time in user code before a call, and returns when the call begins. A previous call that was long enough has
/// already looked at the time off the CPU; a shorter one is covered by this look. By the thread itself.
[[gnu::always_inline]] inline platform::Ticks end_user_time(Location& location) {
  const platform::Ticks now = platform::now();
  if (now - shortest_with_switch < location.call.begin || has_kept_processor(location)) return now;
  return look_at_call_begin(location, now);
}

/// The unit in progress ends at the given times. Inside a scope.
void end_unit(Location& location, platform::Ticks now, std::int64_t cpu_now_ns);
/// The values of the unit in progress have been taken; a new unit begins. Async-signal-safe.
void start_unit_anew(Location& location);
/// Counts the unit in progress as time outside of iterations; a new unit begins.
void count_unit_outside(Location& location);

}  // namespace refrain::measurement
