#pragma once
/// A location: one thread of the program and everything that is measured on it.
///
/// Who may touch what: the owning thread, in ordinary context inside a MeasurementScope or in the tick handler while
/// `inside` is User. `inside` is the only guard and is taken at the entries (MPI wrapper, tick), never deeper.
/// The finalizing thread reads a location after `close_location`, when its owner no longer writes.

#include <atomic>
#include <cstdint>

#include "measurement/call_tree.hpp"
#include "measurement/extra_metrics.hpp"
#include "measurement/metrics.hpp"
#include "measurement/unit_totals.hpp"
#include "platform/clock.hpp"
#include "platform/interval_timer.hpp"
#include "platform/thread_cpu_clock.hpp"
#include "unwind/walker.hpp"

namespace refrain::measurement {

/// Index into the adapter's table of MPI functions (`region_names`).
enum class RegionId : std::uint16_t {};

enum class Inside : std::uint8_t {
  User,         ///< the program's own code
  Measurement,  ///< Refrain's bookkeeping
  Mpi,          ///< an outermost MPI call in progress
  Closed,       ///< measurement of this location has ended
};

/// Whether new scopes may begin on a location.
enum class Gate : std::uint8_t {
  Open,
  Paused,  ///< another thread reads it: entries wait, ticks pass
  Held,    ///< the same, for a moment, by the thread whose iterations it follows
  Shut,    ///< its measurement is ending
};

/// A loop or region that the program has begun and not ended.
struct OpenMark {
  std::uintptr_t frame;   ///< canonical frame address of the function with the mark
  std::uintptr_t caller;  ///< return address of that function: with `frame` it tells the activation
  std::uintptr_t site;    ///< return address of the mark itself
  std::uintptr_t sp;      ///< stack pointer of the function at the mark
  std::uintptr_t iteration_begins, iteration_ends;  ///< of a loop: where its iterations were marked last
  platform::Ticks begin;
  NodeId node;          ///< call path of the mark
  std::uint32_t index;  ///< of the function's frame, from the outermost
  RegionId region;
  bool is_loop;
};

/// Those of one thread, outermost first.
struct OpenMarks {
  static constexpr std::uint32_t most = 60;
  std::uint32_t count;
  std::uint32_t at_iteration;                          ///< how many of them the iteration in progress was begun below
  std::uint32_t unfollowed;                            ///< begun when there was no room; their ends are to be ignored
  std::uint32_t unfollowed_loops;                      ///< those of them that are loops
  std::uintptr_t unfollowed_frame, unfollowed_caller;  ///< activation of the first of them
  OpenMark open[most];
};

/// Of a location that MPI_Pcontrol has stopped (stopping.hpp).
struct WhileStopped {
  UnitTotals unit{};         ///< the unit in progress as it was; what is added to Location::unit meanwhile is dropped
  platform::Ticks wall = 0;  ///< of all stops, but for the one in progress since Location::begin
  std::int64_t cpu_ns = 0;   ///< likewise
  std::int64_t row[columns_of(NodeKind::Region) + most_extra_metrics] = {};  ///< where calls write meanwhile
};
/// Location::call_node of a call that began while the measurement was stopped.
inline constexpr NodeId unrecorded_call{0xffffffff};

struct Iterations;  // measurement/iterations.hpp
struct Following;   // measurement/following.hpp

struct alignas(64) Location {
  // What a steady-state MPI call touches comes first.
  std::atomic<Inside> inside{Inside::Closed};
  std::atomic<Gate> gate{Gate::Open};
  bool sampling = false;
  /// The MPI call in progress is that of another language's function, which will call
  /// the one of this region (one more, 0: none): mpi_call.hpp.
  std::uint16_t announced = 0;
  std::uintptr_t scope_sp = 0;  ///< stack pointer where the present scope began, to notice abandoned scopes
  platform::Ticks handler_time_in_call = 0;  ///< calibrated time of the ticks that came during the present MPI call
  platform::Ticks call_begin = 0;
  std::int64_t* call_values = nullptr;  ///< value row of the MPI call in progress, null when its unit has ended
  bool stopped = false;                 ///< by MPI_Pcontrol: nothing is recorded (stopping.hpp)
  Following* following = nullptr;       ///< what cuts a thread by another's iterations
  ExtraReadings* extra = nullptr;       ///< null: no metrics are asked for beside the time
  /// In progress. `wall` and `cpu_ns` hold what earlier threads of a pooled location have used up; the running one's
  /// part is added when it or the unit ends.
  UnitTotals unit{};

  unwind::Walker walker;
  CallTree tree;

  OpenMarks* marks = nullptr;        ///< made by the first mark of the program
  Iterations* iterations = nullptr;  ///< made by the first loop
  NodeId call_node{};                ///< of the MPI call in progress
  std::int64_t trigger_calls = 0;    ///< calls that may begin an iteration (iteration_trigger.hpp)
  std::uint64_t trigger_misses = 0;  ///< such calls while the function was not known
  UnitTotals settled{};              ///< outside of iterations, but for the unit in progress
  WhileStopped while_stopped;

  platform::IntervalTimer timer;
  std::int64_t last_tick_ns = 0;    ///< on the clock of the sampling
  std::uint32_t ticks_to_pass = 0;  ///< kernel ticks to count before the next sample
  std::uint64_t random_state = 0;

  std::int64_t losses[loss_count]{};
  std::int32_t thread = 0;  ///< 0 is the thread that the process began with
  int os_thread_id = 0;
  char name[32]{};
  platform::Ticks first_begin = 0;
  platform::ThreadCpuClock cpu_clock;
  platform::Ticks begin = 0;        ///< of the unit in progress on this thread
  std::int64_t cpu_begin_ns = 0;    ///< the same on the thread's CPU clock
  platform::Ticks end = 0;          ///< of the location's last thread
  std::atomic<bool> in_use{false};  ///< a thread owns it now; else it waits in the pool
  Location* next = nullptr;         ///< all locations of the process, newest first

  // Async-signal-safe.
  void count_loss(Loss loss) { ++losses[static_cast<std::size_t>(loss)]; }
};

/// The location of the calling thread, null when it is not measured.
extern constinit thread_local Location* current_location __attribute__((tls_model("initial-exec")));

/// The innermost frame of a path.
struct Activation {
  std::uintptr_t frame;   ///< canonical frame address, 0 when the path has one frame only
  std::uintptr_t caller;  ///< return address of the function, with the frame
  std::uint32_t index;    ///< of the frame, from the outermost
};

/// The call-tree node of the path `start` is in, with the marks that are open on it. Inside a scope only.
/// Async-signal-safe.
NodeId path_of(Location& location, const unwind::Start& start, Activation* innermost = nullptr);

/// For a thread that has just entered Measurement from `before` and found the gate not open: waits while it is paused.
/// False: it is shut; the location is Closed. Ordinary context.
bool pass_gate(Location& location, Inside before);
inline bool may_enter(Location& location, Inside before) {
  return location.gate.load(std::memory_order_acquire) == Gate::Open || pass_gate(location, before);
}

/// Ends the unit in progress when an iteration that the location follows has begun or ended since (following.hpp).
/// `was`: where the thread has come from. Inside a scope, before anything is counted. Async-signal-safe.
void keep_up(Location& location, Inside was);
/// The same at the end of an MPI call; the value row of the call.
std::int64_t* keep_up_after_call(Location& location);

/// Ends a scope that the program left without returning (longjmp or an exception out of an MPI call or of a signal
/// handler that interrupted one): true when the present scope began deeper in the stack than `sp`, so cannot be alive.
bool leave_abandoned_scope(Location& location, std::uintptr_t sp);

/// Begins a scope on the calling thread's location: Refrain's bookkeeping until `inside` is set again. `sp`: where the
/// program's stack ends that called. False: none may begin here, nothing is measured.
[[gnu::always_inline]] inline bool enter_scope(Location& location, std::uintptr_t sp) {
  if (location.inside.load(std::memory_order_relaxed) != Inside::User) [[unlikely]]
    if (!leave_abandoned_scope(location, sp)) return false;
  location.inside.store(Inside::Measurement, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!may_enter(location, Inside::User)) [[unlikely]]
    return false;
  location.scope_sp = sp;
  if (location.following) [[unlikely]]
    keep_up(location, Inside::User);
  return true;
}

/// Value row of the MPI call in progress, in the unit in progress.
inline std::int64_t* row_of_call(Location& location) {
  return location.call_node == unrecorded_call ? location.while_stopped.row : location.tree.values(location.call_node);
}

/// The unit in progress lasts until the given times, and what comes after them is another one's. Inside a scope.
void end_unit(Location& location, platform::Ticks now, std::int64_t cpu_now_ns);
/// The unit in progress has been taken elsewhere; a new one begins. Async-signal-safe.
void start_unit_anew(Location& location);
/// The unit in progress is time outside of iterations; a new one begins.
void settle_unit(Location& location);

}  // namespace refrain::measurement
