#include "runtime/snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include "measurement/event_log.hpp"
#include "measurement/follower.hpp"
#include "measurement/followers.hpp"
#include "measurement/iterations.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/locations.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/backoff.hpp"
#include "platform/clock.hpp"
#include "platform/floating_point.hpp"
#include "platform/message.hpp"
#include "platform/modules.hpp"
#include "platform/owned_lock.hpp"
#include "platform/threads.hpp"
#include "record/error_text.hpp"
#include "record/event_file.hpp"
#include "record/experiment.hpp"
#include "record/experiment_directory.hpp"
#include "record/iteration_file.hpp"
#include "record/output_file.hpp"
#include "record/writer.hpp"
#include "runtime/longer_work.hpp"
#include "runtime/rank.hpp"
#include "unwind/walker.hpp"

namespace refrain::runtime {
namespace {

using measurement::Location;
using platform::say;
using record::EventsUntil;

/// A job must leave something even if it is killed early, or by a launcher that does not wait for large ranks.
constexpr std::int64_t first_after_ns = 3'000'000'000;

platform::OwnedLock writing;  ///< held by the thread that writes; the others go on without writing
std::atomic<bool> failed{false};
std::int64_t period_ns = 0;
/// When the next snapshot is due. measurement::snapshot_due is the same, or earlier when events must be written.
std::atomic<platform::Ticks> next_snapshot{std::numeric_limits<platform::Ticks>::max()};
std::uint64_t random_state = 0;

/// Uniform in [0.9, 1.1) of `period`, so that thousands of ranks do not write at once.
std::int64_t jittered(std::int64_t period) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  const double uniform = static_cast<double>(random_state >> 11) * 0x1p-53;
  return static_cast<std::int64_t>(static_cast<double>(period) * (0.9 + 0.2 * uniform));
}

void set_due_at(platform::Ticks at) {
  next_snapshot.store(at, std::memory_order_relaxed);
  measurement::snapshot_due.store(at, std::memory_order_relaxed);
}

platform::Ticks ticks_in(std::int64_t nanoseconds) {
  return static_cast<platform::Ticks>(static_cast<double>(nanoseconds) * 1e-9 *
                                      platform::ticks_per_second(this_rank.first_anchor, platform::read_anchor()));
}

void set_due(std::int64_t nanoseconds) { set_due_at(platform::now() + ticks_in(nanoseconds)); }

void give_up(int error) {
  if (failed.exchange(true)) return;
  measurement::iteration_settings.log_memory = record::memory_without_file;
  say("rank %d cannot write its iterations to '%s': %s; they stay in memory while there is room",
      record::rank_in_experiment(), record::experiment_directory(), record::error_text(error).data());
}

void on_spill_wanted(Location& location) {
  const record::ErrnoKeeper keeper;
  const platform::OwnFloatingPoint own_environment;
  const platform::NoCancellation whole;
  if (failed.load(std::memory_order_relaxed)) return record::drop_iterations(location);
  if (!writing.try_lock()) return;  // the next iteration asks again
  const LongerWork work;
  // Before MPI_Init iterations wait in memory, but only up to this many bytes.
  constexpr std::size_t most = std::size_t{4} << 20;
  const bool has_directory =
      have_experiment(record::iterations_in_memory(location) > most ? Ending::Left : Ending::Warned);
  if (const int error = has_directory ? record::write_iterations(location) : 0) give_up(error);
  writing.unlock();
  if (measurement::own_location()) work.charge(*measurement::own_location());
}

/// Records calls in progress as events, because the process is about to end.
void end_calls_of_all_events() {
  const platform::Ticks now = platform::now();
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (l->in_use.load(std::memory_order_relaxed) && measurement::is_held(*l) &&
        l->inside.load(std::memory_order_relaxed) == measurement::Inside::Call)
      measurement::end_call_of_events(*l, now);
}

/// Writes what must be in the files before the rank's record is made, while other threads are held. Returns 0 or the
/// errno value.
int spill_all(EventsUntil until) {
  measurement::bring_followers_up_to_date();
  if (until == EventsUntil::Now) end_calls_of_all_events();
  for (Location* l = measurement::first_location(); l; l = l->next)
    if (const int error = record::write_iterations(*l)) return error;
  record::write_all_events(until);
  return 0;
}

/// Writes the rank's present state while the other threads are held, since the process may be about to end.
bool write_parting(Ending ending) {
  const bool goes_on = ending == Ending::Warned;
  if (spill_all(goes_on ? EventsUntil::Kept : EventsUntil::Now) != 0) return false;
  RankRecordBuilder builder;
  const bool written =
      build_record(builder, {record::iteration_bytes(), {}}, goes_on ? Threads::Running : Threads::Cut) &&
      write_record(builder, ending, this_rank.world);
  if (written) record::tell_unwritten_sample();
  return written;
}

/// Moves iterations to the file without holding any thread: those of locations that no other thread adds to meanwhile.
/// Returns 0 or the errno value.
int spill_while_others_go_on(Location& own) {
  for (Location* l = measurement::first_location(); l; l = l->next) {
    const measurement::FollowerLock lock(*l);
    if (!lock) continue;  // its iterations stay in memory, and the record takes them from there
    measurement::drain_queue(*l, own);
    const bool is_mine = l == &own || measurement::is_follower(*l);
    if (const int error = is_mine ? record::write_iterations(*l) : 0) return error;
  }
  return 0;
}

/// Holds each thread only while its own events are written. False: a thread could not be held; the events of the others
/// are written, since the file may have been begun anew.
bool write_events_one_by_one() {
  if (measurement::is_sample_of_events()) {
    if (!measurement::pause_others()) return false;
    record::drop_outdated_events(EventsUntil::Kept);
    measurement::resume_others();
  }
  bool all = true;
  for (Location* l = measurement::first_location(); l; l = l->next) {
    if (!l->events) continue;
    const bool is_own = l == measurement::own_location();
    if (!is_own && !measurement::pause_one(*l)) {
      all = false;
      continue;
    }
    record::write_events(*l, EventsUntil::Kept);
    if (!is_own) measurement::resume_others();
  }
  return all;
}

/// Writes the rank's state in a process that goes on: each thread is held only while its data are copied. Handlers of
/// the program may run again as soon as no thread is held. False: a thread could not be held, or there is no memory.
bool write_snapshot(Location& own, std::optional<platform::NoSignals>& quiet) {
  if (const int error = spill_while_others_go_on(own)) {
    give_up(error);
    return true;
  }
  RankRecordBuilder builder;
  if (!write_events_one_by_one() || !build_record(builder, {record::iteration_bytes(), {}}, Threads::Going))
    return false;
  quiet.reset();
  const record::WriteOutcome outcome = record::write_part(builder.record(), record::experiment_directory());
  if (outcome.written) record::tell_unwritten_sample();
  else if (!failed.exchange(true)) say("%s; no snapshots are written", outcome.line);
  return true;
}

/// How soon a failed attempt is repeated.
constexpr std::int64_t soon_ns = 100'000'000;
/// The same for a snapshot, which is much work: twice as long after each failure. Changed while `writing` is held.
std::int64_t retry_ns = soon_ns;

/// Writes events if the buffer of `location` is full, or that of a location whose thread makes no calls. If another
/// thread is writing, the location asks again at its next call. False: other threads could not be paused.
bool write_full_events(Location& location) {
  const bool others = measurement::another_is_full_of_events.load(std::memory_order_relaxed);
  if (!others && !measurement::is_full_of_events(location)) return true;
  if (!writing.try_lock()) return true;
  const LongerWork work;
  const platform::Ticks begin = platform::now();
  bool done = true;
  if (have_experiment(Ending::Warned)) {
    const platform::NoSignals quiet;  // a handler that jumps out would leave the others paused and the file locked
    if (!others) {
      record::write_events(location, EventsUntil::Kept);
    } else {
      measurement::another_is_full_of_events.store(false, std::memory_order_relaxed);
      done = write_events_one_by_one();
      if (!done) measurement::another_is_full_of_events.store(true, std::memory_order_relaxed);
    }
    if (done) measurement::note_flush(location, begin, platform::now());
  }
  writing.unlock();
  work.charge(location);
  return done;
}

void on_snapshot_is_due(Location& location) {
  const record::ErrnoKeeper keeper;
  const platform::OwnFloatingPoint own_environment;
  const platform::NoCancellation whole;
  const bool events_are_written = write_full_events(location);
  if (const platform::Ticks now = platform::now(), next = next_snapshot.load(std::memory_order_relaxed); now < next) {
    // Only events were due.
    const platform::Ticks again = events_are_written ? next : std::min(next, now + ticks_in(soon_ns));
    return measurement::snapshot_due.store(again, std::memory_order_relaxed);
  }
  if (failed.load(std::memory_order_relaxed)) return set_due(period_ns);
  if (!writing.try_lock()) return;
  const LongerWork work;
  const platform::Ticks begin = platform::now();
  platform::refresh_modules();  // before the others are held, since one of them may hold the loader's lock
  unwind::refresh_tables();
  read_cores_taken();
  const bool has_directory = have_experiment(Ending::Warned);
  // A handler that jumps out would leave another thread paused forever.
  std::optional<platform::NoSignals> quiet(std::in_place);
  if (!has_directory) {
    set_due(period_ns);
  } else if (!write_snapshot(location, quiet)) {
    set_due(retry_ns);
    retry_ns = std::min(2 * retry_ns, period_ns);
  } else {
    retry_ns = soon_ns;
    measurement::note_flush(location, begin, platform::now());
    set_due(jittered(period_ns));
  }
  quiet.reset();
  writing.unlock();
  work.charge(location);
}

}  // namespace

SnapshotsHeld::SnapshotsHeld() { writing.lock(); }
SnapshotsHeld::~SnapshotsHeld() { writing.unlock(); }

void start_snapshots(std::int64_t not_before_ns) {
  measurement::lifecycle.spill_wanted = on_spill_wanted;
  measurement::lifecycle.snapshot_is_due = on_snapshot_is_due;
  period_ns = this_rank.configuration.snapshot * 1'000'000'000;
  if (period_ns == 0) return;
  random_state =
      static_cast<std::uint64_t>(platform::wall_clock_ns()) ^ static_cast<std::uint64_t>(this_rank.world.rank) << 32;
  set_due(not_before_ns + jittered(std::min(period_ns, first_after_ns)));
}

void join_experiment(const char* from) {
  record::move_iteration_file(from);
  record::move_event_file(from);
  record::remove_part(from, record::rank_before_mpi);
  record::remove_experiment_directory(from);
}

void ask_for_snapshot() {
  if (period_ns != 0 && measurement::lifecycle.snapshot_is_due) set_due_at(std::numeric_limits<platform::Ticks>::min());
}

bool stop_snapshots() {
  measurement::lifecycle.spill_wanted = nullptr;
  measurement::lifecycle.snapshot_is_due = nullptr;
  // Another thread may be writing, or this one may, if a signal handler ends the process.
  if (writing.is_own()) return false;
  constexpr std::int64_t timeout_ns = 5'000'000'000;
  platform::Backoff backoff(timeout_ns);
  while (!writing.try_lock())
    if (!backoff.wait()) return false;
  return true;
}

bool write_as_it_is(Ending ending) {
  const platform::OwnFloatingPoint own_environment;
  // Both loops wait for other threads: one that writes a snapshot, and those that are in Refrain's bookkeeping.
  constexpr int longest_wait = 1000;
  for (int i = 0; !writing.try_lock(); ++i) {
    if (i == longest_wait) return false;
    platform::pause_ms(1);
  }
  // A thread that waits for this one may hold the loader's lock. So only a process that is ending, and so has a
  // deadline, may take it.
  if (ending != Ending::Warned) platform::try_refresh_modules();
  read_cores_taken();
  bool good = have_experiment(ending);
  for (int i = 0; good && !measurement::pause_others(); ++i) {
    good = i < longest_wait;
    platform::pause_ms(1);
  }
  if (good) {
    good = write_parting(ending);
    measurement::resume_others();
    if (period_ns) set_due(period_ns);
  }
  writing.unlock();
  return good;
}

}  // namespace refrain::runtime
