#pragma once
/// A location: one thread of the program and everything that is measured on it.
///
/// Who may touch what: the owning thread, in ordinary context inside a MeasurementScope or in the tick handler while
/// `inside` is User. `inside` is the only guard and is taken at the entries (MPI wrapper, tick), never deeper.
/// The finalizing thread reads a location after `close_location`, when its owner no longer writes.

#include <atomic>
#include <cstdint>

#include "measurement/call_tree.hpp"
#include "measurement/metrics.hpp"
#include "platform/clock.hpp"
#include "platform/interval_timer.hpp"
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

/// Sums of the unit in progress; see archive::UnitRecord for the meaning of each.
struct UnitTotals {
  platform::Ticks begin;
  std::int64_t cpu_begin_ns;
  platform::Ticks mpi;
  std::int64_t mpi_calls;
  std::int64_t ticks_user, ticks_mpi, ticks_lost;
  std::int64_t weight_user_ns, weight_mpi_ns;
  double weight_user_squared;
};

struct alignas(64) Location {
  std::atomic<Inside> inside{Inside::Closed};
  bool sampling = false;
  std::atomic<bool> closing{false};       ///< the process is finalizing: no new scope may begin
  platform::Ticks handler_time_in_call = 0;  ///< calibrated time of the ticks that came during the present MPI call
  platform::Ticks call_begin = 0;
  std::int64_t* call_values = nullptr;     ///< value row of the MPI call in progress
  UnitTotals unit{};

  unwind::Walker walker;
  CallTree tree;
  std::uint32_t module_generation = 0;

  platform::IntervalTimer timer;
  std::int64_t last_tick_cpu_ns = 0;
  std::uint64_t random_state = 0;

  std::int64_t losses[loss_count]{};
  std::int32_t thread = 0;
  std::int64_t os_thread_id = 0;
  char name[32]{};
  platform::Ticks begin = 0, end = 0;
  std::int64_t end_cpu_ns = 0;
  Location* next = nullptr;  ///< all locations of the process, newest first

  void count_loss(Loss loss) { ++losses[static_cast<std::size_t>(loss)]; }
};

/// The location of the calling thread, null when it is not measured.
extern thread_local Location* current_location __attribute__((tls_model("initial-exec")));

/// The call-tree node of the path `start` is in. Inside a scope only. Async-signal-safe.
NodeId path_of(Location& location, const unwind::Start& start);

}  // namespace refrain::measurement
