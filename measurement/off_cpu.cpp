#include "measurement/off_cpu.hpp"

#include <utility>

#include "measurement/location.hpp"

namespace refrain::measurement {

namespace {

/// By which way run delay may be read.
enum class Delay : std::uint8_t {
  Kept,  ///< a descriptor that is kept
  Any    ///< a file that is opened for that, too. Ordinary context
};

/// What is off the CPU for less cannot have been switched out, and has not waited for a core.
constexpr std::int64_t shortest_off_ns = 1'000;

/// A helper thread has the thread-local variables of its maker, whose own_location() is not its own.
bool is_own(const Location& l) { return l.os_thread_id == platform::thread_id(); }

struct Clocks {
  platform::Ticks at;
  std::int64_t cpu_ns, behind_ns;
};

/// Of the thread; one that is gone is as it was at the last look.
Clocks read_clocks(const Location& l, bool own) {
  Clocks now{platform::now(), own ? platform::thread_cpu_ns() : platform::thread_cpu_ns_of(l.os_thread_id), 0};
  now.behind_ns = platform::monotonic_ns() - now.cpu_ns;
  return now.cpu_ns >= 0 ? now : Clocks{l.off_cpu.at, l.off_cpu.cpu_ns, l.off_cpu.behind_ns};
}

/// Ordinary context.
std::int64_t read_delay(const Location& l) {
  const std::int64_t kept = l.off_cpu.run_delay.ns();
  return kept != platform::RunDelay::unknown ? kept : platform::RunDelay::ns_of(l.os_thread_id);
}

/// The same; of a descriptor that the program has closed nothing is kept.
std::int64_t read_delay_anew(Location& l, Delay by) {
  OffCpu& of = l.off_cpu;
  if (of.has_descriptor) {
    if (const std::int64_t kept = of.run_delay.ns(); kept != platform::RunDelay::unknown) return kept;
    of.run_delay.close();
    of.has_descriptor = false;
  }
  return by == Delay::Any ? platform::RunDelay::ns_of(l.os_thread_id) : platform::RunDelay::unknown;
}

bool may_have_waited(const OffCpuTimes& unread) { return unread.user + unread.mpi >= shortest_off_ns; }

/// whole * part / all, to 2^-31 of it. A division of 128 bits would be a call that a handler may not make.
std::int64_t share_of(std::int64_t whole, std::int64_t part, std::int64_t all) {
  for (; all >> 31 != 0; all >>= 1) part >>= 1;
  return whole / all * part + whole % all * part / all;
}

/// Of what the run delay has grown by, the part that falls to user code.
std::int64_t part_of_user(std::int64_t grown, const OffCpuTimes& off) {
  if (off.mpi <= 0) return grown;
  if (off.user <= 0) return 0;
  return share_of(grown, off.user, off.user + off.mpi);
}

/// Nanoseconds of ticks before `now`, by what both clocks have grown by since the last look.
std::int64_t ns_of(platform::Ticks ticks, const OffCpu& of, const Clocks& now) {
  const std::int64_t grown_ns = now.cpu_ns + now.behind_ns - of.cpu_ns - of.behind_ns;
  const platform::Ticks grown = now.at - of.at;
  return ticks < grown ? share_of(grown_ns, ticks, grown) : grown_ns;
}

/// Where the thread is now, and where the watch says that it has been switched out since the last look.
enum class Switched : std::uint8_t { InCall, InCallsBefore, InUserCode };

Switched switched(const Location& l, bool own, bool in_mpi) {
  if (in_mpi) return Switched::InCall;
  return own && l.off_cpu.calls > 0 && has_kept_processor(l) ? Switched::InCallsBefore : Switched::InUserCode;
}

/// What the clocks have grown by since the last look. They may be corrected by a few nanoseconds: the sum stays right.
OffCpuTimes grown_until(const OffCpu& of, const Clocks& now, Switched where) {
  const std::int64_t all = now.behind_ns - of.behind_ns;
  if (where != Switched::InUserCode) return {.mpi = all};
  if (of.calls == 0 || all <= 0) return {.user = all};
  const std::int64_t calls_ns = ns_of(of.calls, of, now), in_calls = calls_ns < all ? calls_ns : all;
  return {.user = all - in_calls, .mpi = in_calls};
}

/// How the time off the CPU in calls is shared: among the short calls since the last look and the call in progress.
struct SharesOfCalls {
  std::int64_t off_ns;                  ///< of all of them: no more than they have lasted
  platform::Ticks lasted, in_progress;  ///< all of them, and the call in progress since the last look

  std::int64_t of(platform::Ticks part) const { return lasted > 0 ? share_of(off_ns, part, lasted) : 0; }
};

/// `until`: the call in progress was there until then; 0: there is none.
SharesOfCalls shares_of_calls(const Location& l, std::int64_t off_ns, const Clocks& now, platform::Ticks until) {
  const OffCpu& of = l.off_cpu;
  const platform::Ticks since = l.call.begin > of.at ? l.call.begin : of.at;
  SharesOfCalls shares{off_ns, 0, until > since ? until - since : 0};
  shares.lasted = shares.in_progress;
  for (std::uint32_t i = 0; i < of.short_call_count; ++i) shares.lasted += of.short_calls[i].lasted;
  const std::int64_t lasted_ns = ns_of(shares.lasted, of, now);
  if (shares.off_ns > lasted_ns) shares.off_ns = lasted_ns;
  return shares;
}

std::int64_t& off_cpu_of_path(Location& l, NodeId node) {
  std::int64_t* row = node == unrecorded_call ? l.while_stopped.row : l.tree.values(node);
  return row[column_of(MetricId::OffCpuMpi)];
}

void give_to_short_calls(Location& l, const SharesOfCalls& shares) {
  const OffCpu& of = l.off_cpu;
  for (std::uint32_t i = 0; i < of.short_call_count; ++i)
    if (const std::int64_t off_ns = shares.of(of.short_calls[i].lasted); off_ns > 0)
      off_cpu_of_path(l, of.short_calls[i].node) += off_ns;
}

/// Remembers a call that has ended for the next look. False: it is to be looked at now.
bool remember_short_call(OffCpu& of, NodeId node, platform::Ticks lasted) {
  if (of.calls + lasted >= shortest_without_watch) return false;
  std::uint32_t i = 0;
  while (i < of.short_call_count && of.short_calls[i].node != node) ++i;
  if (i == OffCpu::max_short_calls) return false;
  if (i == of.short_call_count) {
    of.short_calls[i] = {node, 0};
    std::atomic_signal_fence(std::memory_order_release);
    of.short_call_count = i + 1;
  }
  of.short_calls[i].lasted += lasted;
  of.calls += lasted;
  return true;
}

/// How much longer than at the last reading the thread has waited for a core in user code.
std::int64_t take_waited(OffCpu& of, std::int64_t delay_ns) {
  if (delay_ns == platform::RunDelay::unknown) return 0;
  const std::int64_t before = std::exchange(of.delay_ns, delay_ns);
  return part_of_user(delay_ns - before, std::exchange(of.unread, {}));
}

void remember(OffCpu& of, const Clocks& now) {
  of.at = now.at;
  of.calls = 0;
  of.short_call_count = 0;
  of.cpu_ns = now.cpu_ns;
  of.behind_ns = now.behind_ns;
}

struct Reading {
  Clocks clocks;
  std::int64_t delay_ns;  ///< where it may have grown and can be read
};

/// A kernel that did not count at the begin of the thread is not asked again for its run delay. The clocks come last:
/// reading the CPU clock makes the kernel look whether the thread has had its turn, and where it has, the thread loses
/// its core there and not in the program's next look at that clock.
Reading read(Location& l, bool own, Delay by, bool delay_is_asked) {
  const bool is_asked = l.off_cpu.knows_delay && delay_is_asked;
  const std::int64_t delay_ns = is_asked ? read_delay_anew(l, by) : platform::RunDelay::unknown;
  return {read_clocks(l, own), delay_ns};
}

/// How often everything is read at most. A thread that has lost its core while it read has a new turn.
constexpr int max_tries = 2;

/// No watch tells of a switch, but the clocks do: run delay is read only when time is missing, and once more behind the
/// clocks, since what it has grown by meanwhile tells that they were not read at one moment.
Reading read_without_watch(Location& l, Delay by) {
  const OffCpu& of = l.off_cpu;
  Reading reading = read(l, true, by, false);
  OffCpuTimes missing = of.unread;
  missing.user += reading.clocks.behind_ns - of.behind_ns;
  if (!of.knows_delay || !may_have_waited(missing)) return reading;
  for (int i = 0; i < max_tries; ++i) {
    reading = read(l, true, by, true);
    if (reading.delay_ns == platform::RunDelay::unknown || reading.delay_ns == read_delay_anew(l, by)) break;
  }
  return reading;
}

/// Reads everything at one moment: if the thread is switched out in between, everything is read again. Each try begins
/// the watch anew before it reads, so that the next look notices any later switch; only the thread itself can begin a
/// watch. While it holds, the thread cannot have waited for a core.
Reading read_at_once(Location& l, bool own, Delay by) {
  OffCpu& of = l.off_cpu;
  if (!own) {
    of.watch = 0;
    return read(l, own, by, true);
  }
  if (!l.cpu_clock.watch().works()) return read_without_watch(l, by);
  bool delay_is_asked = !has_kept_processor(l) || may_have_waited(of.unread);
  for (int i = 1;; ++i) {
    of.watch = l.cpu_clock.watch().begin();
    const Reading reading = read(l, own, by, delay_is_asked);
    if (i == max_tries || has_kept_processor(l)) return reading;
    delay_is_asked = true;
  }
}

void note_in_call(OffCpu& of, platform::Ticks begin, std::int64_t off_ns) {
  if (of.call_begin != begin) of.call_ns = 0;
  of.call_begin = begin;
  of.call_ns += off_ns;
}

/// Whether the rows of call paths may be written.
enum class Rows : std::uint8_t { Written, Kept };

/// `after_call`: so much of the time, which counts as that of a call, has passed since the call.
OffCpuTimes take(Location& l, bool own, bool in_mpi, Delay by, platform::Ticks after_call = 0,
                 Rows rows = Rows::Written) {
  OffCpu& of = l.off_cpu;
  const Switched where = switched(l, own, in_mpi);
  const Reading reading = read_at_once(l, own, by);
  const Clocks& now = reading.clocks;
  OffCpuTimes grown = grown_until(of, now, where);
  if (after_call > 0 && grown.mpi > 0) {
    const std::int64_t after_ns = ns_of(after_call, of, now);
    grown.user = after_ns < grown.mpi ? after_ns : grown.mpi;
    grown.mpi -= grown.user;
  }
  if (grown.mpi > 0) {
    const SharesOfCalls shares = shares_of_calls(l, grown.mpi, now, in_mpi ? now.at - after_call : 0);
    if (rows == Rows::Written && !l.stopped) give_to_short_calls(l, shares);
    grown.in_call = shares.of(shares.in_progress);
    if (grown.in_call > 0) note_in_call(of, l.call.begin, grown.in_call);
  }
  if (now.cpu_ns != of.cpu_ns) of.unread += grown;
  remember(of, now);
  grown.waited = take_waited(of, reading.delay_ns);
  if (!l.stopped) of.sum += grown;
  return grown;
}

void count(Location& l, const OffCpuTimes& grown) {
  l.unit.waited_ns += grown.waited;
  l.unit.off_mpi_ns += grown.mpi;
  if (grown.in_call > 0 && !l.stopped) off_cpu_of_path(l, l.call.node) += grown.in_call;
}

/// Where no watch tells, it is taken for granted of what was short.
bool may_have_been_switched_out(Location& l, platform::Ticks lasted) {
  return !has_kept_processor(l) && (lasted >= shortest_without_watch || l.cpu_clock.watch().works());
}

/// By the thread itself, as a piece of own work.
void look(Location& l, bool in_mpi, platform::Ticks after_call = 0) {
  const OwnTimeBegin begin = begin_own_time(l);
  count(l, take(l, true, in_mpi, Delay::Kept, after_call));
  l.unit.own += end_own_time(l, OwnTime::OffCpu, begin);
}

}  // namespace

void begin_off_cpu(Location& l) {
  OffCpu& of = l.off_cpu;
  of.has_descriptor = of.run_delay.open();
  of.watch = l.cpu_clock.watch().begin();
  remember(of, read_clocks(l, true));
  of.unread = of.sum = {};
  of.delay_ns = read_delay(l);
  of.knows_delay = of.delay_ns != platform::RunDelay::unknown;
  if (!of.knows_delay) l.count_loss(Loss::RunDelayUnknown);
}

void end_off_cpu(Location& l) {
  OffCpu& of = l.off_cpu;
  constexpr std::int64_t worth_a_word_ns = 1'000'000;
  if (of.knows_delay && of.unread.user >= worth_a_word_ns) l.count_loss(Loss::RunDelayUnknown);
  of.run_delay.close();
  of.has_descriptor = of.knows_delay = false;
  of.unread = {};
}

OffCpuTimes take_off_cpu(Location& l, bool in_mpi) {
  // A tick that is left by a jump must not leave a file open.
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
  const OffCpu& of = l.off_cpu;
  const bool own = is_own(l);
  const Clocks now = read_clocks(l, own);
  OffCpuTimes grown = grown_until(of, now, switched(l, own, in_mpi));
  if (in_mpi && grown.mpi > 0) {
    const SharesOfCalls shares = shares_of_calls(l, grown.mpi, now, now.at);
    grown.in_call = shares.of(shares.in_progress);
  }
  OffCpuTimes unread = of.unread;
  unread += grown;
  const bool is_asked = of.knows_delay && may_have_waited(unread);
  const std::int64_t delay_ns = is_asked ? read_delay(l) : platform::RunDelay::unknown;
  if (delay_ns != platform::RunDelay::unknown) grown.waited = part_of_user(delay_ns - of.delay_ns, unread);
  return grown;
}

void look_at_call_end(Location& l, platform::Ticks lasted, platform::Ticks end) {
  if (!may_have_been_switched_out(l, lasted)) return;
  OffCpu& of = l.off_cpu;
  if (remember_short_call(of, l.call.node, lasted)) {
    of.watch = l.cpu_clock.watch().begin();
    return;
  }
  // Another thread may have held this one at its gate: that is bookkeeping.
  const platform::Ticks since = platform::now() - end;
  look(l, true, since > shortest_without_watch ? since : 0);
}

platform::Ticks look_at_call_begin(Location& l, platform::Ticks now) {
  if (!may_have_been_switched_out(l, now - l.call.begin)) return now;
  look(l, false);
  return platform::now();
}

void look_at_boundary(Location& l, platform::Ticks now) {
  if (!is_own(l)) return;  // who ends the measurement of another thread has counted all
  const OffCpu& of = l.off_cpu;
  const bool is_unread = of.knows_delay && !of.has_descriptor && may_have_waited(of.unread);
  const bool is_long = now - of.at >= longest_without_look;
  if (is_unread || is_long || of.calls > 0 || may_have_been_switched_out(l, now - l.call.begin))
    count_off_cpu(l, false);
}

}  // namespace refrain::measurement
