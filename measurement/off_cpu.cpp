#include "measurement/off_cpu.hpp"

#include <utility>

#include "measurement/location.hpp"

namespace refrain::measurement {

namespace {

/// How run delay may be read.
enum class Delay : std::uint8_t {
  Kept,  ///< only through a descriptor that is kept open
  Any    ///< also from a file that is opened for the reading. Ordinary context
};

/// A thread that was off the CPU for less was not switched out, and has not waited for a core.
constexpr std::int64_t shortest_off_ns = 1'000;

/// Whether the location is that of the calling thread. A helper thread shares the thread-local variables of its maker,
/// so own_location() does not tell.
bool is_own(const Location& l) { return l.os_thread_id == platform::thread_id(); }

struct Clocks {
  platform::Ticks at;
  std::int64_t cpu_ns, behind_ns;
};

/// Reads the clocks of the location's thread. The clocks of a thread that no longer exists are those of the last look.
Clocks read_clocks(const Location& l, bool own) {
  Clocks now{platform::now(), own ? platform::thread_cpu_ns() : platform::thread_cpu_ns_of(l.os_thread_id), 0};
  now.behind_ns = platform::monotonic_ns() - now.cpu_ns;
  return now.cpu_ns >= 0 ? now : Clocks{l.off_cpu.at, l.off_cpu.cpu_ns, l.off_cpu.behind_ns};
}

/// The run delay of the location's thread. Ordinary context.
std::int64_t read_delay(const Location& l) {
  const std::int64_t kept = l.off_cpu.run_delay.ns();
  return kept != platform::RunDelay::unknown ? kept : platform::RunDelay::ns_of(l.os_thread_id);
}

/// The same. Closes a descriptor whose number the program has taken.
std::int64_t read_delay_anew(Location& l, Delay by) {
  OffCpu& state = l.off_cpu;
  if (state.has_descriptor) {
    if (const std::int64_t kept = state.run_delay.ns(); kept != platform::RunDelay::unknown) return kept;
    state.run_delay.close();
    state.has_descriptor = false;
  }
  return by == Delay::Any ? platform::RunDelay::ns_of(l.os_thread_id) : platform::RunDelay::unknown;
}

bool may_have_waited(const OffCpuTimes& unread) { return unread.user + unread.mpi >= shortest_off_ns; }

/// whole * part / all, with a relative error of 2^-31. A division of 128 bits would be a function call, which a handler
/// must not make.
std::int64_t share_of(std::int64_t whole, std::int64_t part, std::int64_t all) {
  for (; all >> 31 != 0; all >>= 1) part >>= 1;
  return whole / all * part + whole % all * part / all;
}

/// The part of the growth of run delay that belongs to user code.
std::int64_t part_of_user(std::int64_t grown, const OffCpuTimes& off) {
  if (off.mpi <= 0) return grown;
  if (off.user <= 0) return 0;
  return share_of(grown, off.user, off.user + off.mpi);
}

/// Converts ticks before `now` to nanoseconds, by the growth of both clocks since the last look.
std::int64_t ns_of(platform::Ticks ticks, const OffCpu& state, const Clocks& now) {
  const std::int64_t grown_ns = now.cpu_ns + now.behind_ns - state.cpu_ns - state.behind_ns;
  const platform::Ticks grown = now.at - state.at;
  return ticks < grown ? share_of(grown_ns, ticks, grown) : grown_ns;
}

/// Where the thread may have been switched out since the last look, by the watch and by where it is now.
enum class Switched : std::uint8_t { InCall, InCallsBefore, InUserCode };

Switched switched(const Location& l, bool own, bool in_mpi) {
  if (in_mpi) return Switched::InCall;
  return own && l.off_cpu.calls > 0 && has_kept_processor(l) ? Switched::InCallsBefore : Switched::InUserCode;
}

/// The time off the CPU since the last look. The clocks may be corrected by a few nanoseconds, so it may be negative;
/// the sum is right.
OffCpuTimes grown_until(const OffCpu& state, const Clocks& now, Switched where) {
  const std::int64_t all = now.behind_ns - state.behind_ns;
  if (where != Switched::InUserCode) return {.mpi = all};
  if (state.calls == 0 || all <= 0) return {.user = all};
  const std::int64_t calls_ns = ns_of(state.calls, state, now), in_calls = calls_ns < all ? calls_ns : all;
  return {.user = all - in_calls, .mpi = in_calls};
}

/// Divides the time off the CPU in calls among the short calls since the last look and the call in progress.
struct SharesOfCalls {
  std::int64_t off_ns;  ///< of all these calls; no more than their duration
  platform::Ticks lasted,
      in_progress;  ///< duration of all these calls, and of the call in progress since the last look

  std::int64_t of(platform::Ticks part) const { return lasted > 0 ? share_of(off_ns, part, lasted) : 0; }
};

/// `until`: the end of the call in progress; 0: there is none.
SharesOfCalls shares_of_calls(const Location& l, std::int64_t off_ns, const Clocks& now, platform::Ticks until) {
  const OffCpu& state = l.off_cpu;
  const platform::Ticks since = l.call.begin > state.at ? l.call.begin : state.at;
  SharesOfCalls shares{off_ns, 0, until > since ? until - since : 0};
  shares.lasted = shares.in_progress;
  for (std::uint32_t i = 0; i < state.short_call_count; ++i) shares.lasted += state.short_calls[i].lasted;
  const std::int64_t lasted_ns = ns_of(shares.lasted, state, now);
  if (shares.off_ns > lasted_ns) shares.off_ns = lasted_ns;
  return shares;
}

std::int64_t& off_cpu_of_path(Location& l, NodeId node) {
  std::int64_t* row = node == unrecorded_call ? l.while_stopped.row : l.tree.values(node);
  return row[column_of(MetricId::OffCpuMpi)];
}

void give_to_short_calls(Location& l, const SharesOfCalls& shares) {
  const OffCpu& state = l.off_cpu;
  for (std::uint32_t i = 0; i < state.short_call_count; ++i)
    if (const std::int64_t off_ns = shares.of(state.short_calls[i].lasted); off_ns > 0)
      off_cpu_of_path(l, state.short_calls[i].node) += off_ns;
}

/// Remembers a call that has ended for the next look. False: a look is needed now.
bool remember_short_call(OffCpu& state, NodeId node, platform::Ticks lasted) {
  if (state.calls + lasted >= shortest_without_watch) return false;
  std::uint32_t i = 0;
  while (i < state.short_call_count && state.short_calls[i].node != node) ++i;
  if (i == OffCpu::max_short_calls) return false;
  if (i == state.short_call_count) {
    state.short_calls[i] = {node, 0};
    std::atomic_signal_fence(std::memory_order_release);
    state.short_call_count = i + 1;
  }
  state.short_calls[i].lasted += lasted;
  state.calls += lasted;
  return true;
}

/// The time for which the thread has waited for a core in user code since run delay was last read.
std::int64_t take_waited(OffCpu& state, std::int64_t delay_ns) {
  if (delay_ns == platform::RunDelay::unknown) return 0;
  const std::int64_t before = std::exchange(state.delay_ns, delay_ns);
  return part_of_user(delay_ns - before, std::exchange(state.unread, {}));
}

void remember(OffCpu& state, const Clocks& now) {
  state.at = now.at;
  state.calls = 0;
  state.short_call_count = 0;
  state.cpu_ns = now.cpu_ns;
  state.behind_ns = now.behind_ns;
}

struct Reading {
  Clocks clocks;
  std::int64_t delay_ns;  ///< RunDelay::unknown where it cannot have grown or cannot be read
};

/// Reads run delay and the clocks. Run delay is not read where the kernel did not count it at the begin of the thread.
/// The clocks come last: reading the CPU clock makes the kernel check whether the thread's time slice has expired; if
/// so, the thread loses its core here and not when the program next reads that clock.
Reading read(Location& l, bool own, Delay by, bool delay_is_asked) {
  const bool is_asked = l.off_cpu.knows_delay && delay_is_asked;
  const std::int64_t delay_ns = is_asked ? read_delay_anew(l, by) : platform::RunDelay::unknown;
  return {read_clocks(l, own), delay_ns};
}

/// The number of times that everything is read at most. A thread that lost its core while reading has a new time slice.
constexpr int max_tries = 2;

/// Without a switch watch the clocks show a switch: run delay is read only when time is missing. It is read once more
/// after the clocks: if it has grown, the readings do not belong to one moment.
Reading read_without_watch(Location& l, Delay by) {
  const OffCpu& state = l.off_cpu;
  Reading reading = read(l, true, by, false);
  OffCpuTimes missing = state.unread;
  missing.user += reading.clocks.behind_ns - state.behind_ns;
  if (!state.knows_delay || !may_have_waited(missing)) return reading;
  for (int i = 0; i < max_tries; ++i) {
    reading = read(l, true, by, true);
    if (reading.delay_ns == platform::RunDelay::unknown || reading.delay_ns == read_delay_anew(l, by)) break;
  }
  return reading;
}

/// Reads all values at one moment: if the thread is switched out in between, they are read again. Each try begins the
/// watch anew before it reads, so that the next look notices any later switch; only the thread itself can begin a
/// watch. While the watch holds, the thread cannot have waited for a core.
Reading read_at_once(Location& l, bool own, Delay by) {
  OffCpu& state = l.off_cpu;
  if (!own) {
    state.watch = 0;
    return read(l, own, by, true);
  }
  if (!l.cpu_clock.watch().works()) return read_without_watch(l, by);
  bool delay_is_asked = !has_kept_processor(l) || may_have_waited(state.unread);
  for (int i = 1;; ++i) {
    state.watch = l.cpu_clock.watch().begin();
    const Reading reading = read(l, own, by, delay_is_asked);
    if (i == max_tries || has_kept_processor(l)) return reading;
    delay_is_asked = true;
  }
}

void note_in_call(OffCpu& state, platform::Ticks begin, std::int64_t off_ns) {
  if (state.call_begin != begin) state.call_ns = 0;
  state.call_begin = begin;
  state.call_ns += off_ns;
}

/// Whether the rows of call paths may be written.
enum class Rows : std::uint8_t { Written, Kept };

/// A look. `after_call`: ticks since the end of the call, by which the time in calls is reduced in favour of user code.
OffCpuTimes take(Location& l, bool own, bool in_mpi, Delay by, platform::Ticks after_call = 0,
                 Rows rows = Rows::Written) {
  OffCpu& state = l.off_cpu;
  const Switched where = switched(l, own, in_mpi);
  const Reading reading = read_at_once(l, own, by);
  const Clocks& now = reading.clocks;
  OffCpuTimes grown = grown_until(state, now, where);
  if (after_call > 0 && grown.mpi > 0) {
    const std::int64_t after_ns = ns_of(after_call, state, now);
    grown.user = after_ns < grown.mpi ? after_ns : grown.mpi;
    grown.mpi -= grown.user;
  }
  if (grown.mpi > 0) {
    const SharesOfCalls shares = shares_of_calls(l, grown.mpi, now, in_mpi ? now.at - after_call : 0);
    if (rows == Rows::Written && !l.stopped) give_to_short_calls(l, shares);
    grown.in_call = shares.of(shares.in_progress);
    if (grown.in_call > 0) note_in_call(state, l.call.begin, grown.in_call);
  }
  if (now.cpu_ns != state.cpu_ns) state.unread += grown;
  remember(state, now);
  grown.waited = take_waited(state, reading.delay_ns);
  if (!l.stopped) state.sum += grown;
  return grown;
}

void count(Location& l, const OffCpuTimes& grown) {
  l.unit.waited_ns += grown.waited;
  l.unit.off_mpi_ns += grown.mpi;
  if (grown.in_call > 0 && !l.stopped) off_cpu_of_path(l, l.call.node) += grown.in_call;
}

/// Whether the thread may have been switched out in the last `lasted` ticks. Without a watch a short interval is
/// assumed to have no switch.
bool may_have_been_switched_out(Location& l, platform::Ticks lasted) {
  return !has_kept_processor(l) && (lasted >= shortest_without_watch || l.cpu_clock.watch().works());
}

/// Looks and counts, as a piece of own work. By the thread itself.
void look(Location& l, bool in_mpi, platform::Ticks after_call = 0) {
  const OwnTimeBegin begin = begin_own_time(l);
  count(l, take(l, true, in_mpi, Delay::Kept, after_call));
  l.unit.own += end_own_time(l, OwnTime::OffCpu, begin);
}

}  // namespace

void begin_off_cpu(Location& l) {
  OffCpu& state = l.off_cpu;
  state.has_descriptor = state.run_delay.open();
  state.watch = l.cpu_clock.watch().begin();
  remember(state, read_clocks(l, true));
  state.unread = state.sum = {};
  state.delay_ns = read_delay(l);
  state.knows_delay = state.delay_ns != platform::RunDelay::unknown;
  if (!state.knows_delay) l.count_loss(Loss::RunDelayUnknown);
}

void end_off_cpu(Location& l) {
  OffCpu& state = l.off_cpu;
  constexpr std::int64_t worth_a_word_ns = 1'000'000;
  if (state.knows_delay && state.unread.user >= worth_a_word_ns) l.count_loss(Loss::RunDelayUnknown);
  state.run_delay.close();
  state.has_descriptor = state.knows_delay = false;
  state.unread = {};
}

OffCpuTimes take_off_cpu(Location& l, bool in_mpi) {
  // A tick may be left by a jump, and must not leave a file open then.
  const bool in_handler = l.inside.load(std::memory_order_relaxed) == Inside::Tick;
  return take(l, is_own(l), in_mpi, in_handler ? Delay::Kept : Delay::Any);
}

void count_off_cpu(Location& l, bool in_mpi) { count(l, take_off_cpu(l, in_mpi)); }

void count_off_cpu_in_tick(Location& l, bool holds) {
  count(l, take(l, true, false, Delay::Kept, 0, holds ? Rows::Written : Rows::Kept));
}

void count_off_cpu_of_call(Location& l, platform::Ticks until) {
  const bool in_handler = l.inside.load(std::memory_order_relaxed) == Inside::Tick;
  count(l, take(l, is_own(l), true, in_handler ? Delay::Kept : Delay::Any, platform::now() - until));
}

OffCpuTimes off_cpu_since_look(const Location& l, bool in_mpi) {
  const OffCpu& state = l.off_cpu;
  const bool own = is_own(l);
  const Clocks now = read_clocks(l, own);
  OffCpuTimes grown = grown_until(state, now, switched(l, own, in_mpi));
  if (in_mpi && grown.mpi > 0) {
    const SharesOfCalls shares = shares_of_calls(l, grown.mpi, now, now.at);
    grown.in_call = shares.of(shares.in_progress);
  }
  OffCpuTimes unread = state.unread;
  unread += grown;
  const bool is_asked = state.knows_delay && may_have_waited(unread);
  const std::int64_t delay_ns = is_asked ? read_delay(l) : platform::RunDelay::unknown;
  if (delay_ns != platform::RunDelay::unknown) grown.waited = part_of_user(delay_ns - state.delay_ns, unread);
  return grown;
}

void look_at_call_end(Location& l, platform::Ticks lasted, platform::Ticks end) {
  if (!may_have_been_switched_out(l, lasted)) return;
  OffCpu& state = l.off_cpu;
  if (remember_short_call(state, l.call.node, lasted)) {
    state.watch = l.cpu_clock.watch().begin();
    return;
  }
  // Another thread may have held this one at its gate. That time is bookkeeping.
  const platform::Ticks since = platform::now() - end;
  look(l, true, since > shortest_without_watch ? since : 0);
}

platform::Ticks look_at_call_begin(Location& l, platform::Ticks now) {
  if (!may_have_been_switched_out(l, now - l.call.begin)) return now;
  look(l, false);
  return platform::now();
}

void look_at_boundary(Location& l, platform::Ticks now) {
  if (!is_own(l)) return;  // the thread that ends the measurement of this one has counted everything
  const OffCpu& state = l.off_cpu;
  const bool is_unread = state.knows_delay && !state.has_descriptor && may_have_waited(state.unread);
  const bool is_long = now - state.at >= longest_without_look;
  if (is_unread || is_long || state.calls > 0 || may_have_been_switched_out(l, now - l.call.begin))
    count_off_cpu(l, false);
}

}  // namespace refrain::measurement
