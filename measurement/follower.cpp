#include "measurement/follower.hpp"

#include <utility>

#include "measurement/event_log.hpp"
#include "platform/floating_point.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {

using platform::Ticks;

constexpr auto relaxed = std::memory_order_relaxed;

namespace {

/// Puts the unit in progress into the queue, if it is an iteration, and the spans passed before it. False: there is no
/// room, and the passed spans count as time outside of iterations.
bool enqueue(Location& l, Follower& f, IterationId iteration) {
  QueuedUnit unit{0, iteration, f.epoch.load(relaxed), f.passed, {}, {}};
  if (iteration != outside_of_iterations) {
    unit.totals = l.unit;
    for (std::uint32_t i = 0; l.extra && i < extra_metrics.count; ++i) unit.extra[i] = l.extra->unit[i];
  }
  if (f.queue.put(l, unit)) return true;
  l.count_loss(Loss::IterationUnclustered);
  count_passed_outside(l, f.passed);
  return false;
}

/// Counts time in an MPI call outside of iterations.
void count_call_outside(Location& l, NodeId call, Ticks time, std::int64_t off_ns) {
  l.outside.mpi += time;
  l.outside.off_mpi_ns += off_ns;
  std::int64_t* const values = l.tree.outside_values(call);
  values[column_of(MetricId::Time)] += time;
  values[column_of(MetricId::OffCpuMpi)] += off_ns;
}

/// Counts time off the CPU in the unit in progress: in the call in progress, or waiting for a core in user code.
void count_off(Location& l, bool in_call, std::int64_t off_ns) {
  (in_call ? l.unit.off_mpi_ns : l.unit.waited_ns) += off_ns;
  if (in_call && off_ns > 0) row_of(l, l.call)[column_of(MetricId::OffCpuMpi)] += off_ns;
}

/// Whether the unit in progress would be empty with these totals.
bool is_empty(const Location& l, const UnitTotals& unit) {
  for (const auto& column : format::total_columns)
    if (unit.*column.total != 0) return false;
  for (std::uint32_t i = 0; l.extra && i < extra_metrics.count; ++i)
    if (l.extra->unit[i] != 0) return false;
  return l.tree.touched().empty();
}
/// Whether nothing but time was recorded in the unit in progress.
bool has_no_records(const Location& l) {
  UnitTotals unit = l.unit;
  unit.wall = unit.cpu_ns = unit.waited_ns = unit.off_mpi_ns = 0;
  return is_empty(l, unit);
}

/// Whether the unit in progress covers all of its span, which has ended, and nothing was recorded in it: the thread was
/// in user code all the time, or in `call`.
bool is_passed(const Location& l, const Follower& f, Ticks span_begin, bool in_call, NodeId call) {
  if (l.begin != span_begin || l.unit.wall != 0 || !has_no_records(l)) return false;
  if ((in_call ? l.unit.waited_ns : l.unit.off_mpi_ns) != 0) return false;
  if (in_call && (call == root_node || l.call.begin > span_begin)) return false;
  return f.passed.wall == 0 || f.passed.call == call;
}

/// Ends the unit in progress, which belongs to a span before `epoch`, with its span, and begins a new one in `epoch`.
/// `alive`: the location had a thread.
void catch_up(Location& l, Follower& f, std::uint64_t epoch, Inside was, bool alive) {
  const platform::OwnFloatingPoint own_environment;
  const std::uint64_t from = f.epoch.load(relaxed);
  const Span span = span_at(from), now_in = span_at(epoch);
  Span next = span_at(from + 1);
  IterationId iteration = span.iteration;
  const bool kept = spans_are_kept_since(from);
  if (!kept) {  // the location was not served in time: all of the time is outside
    iteration = outside_of_iterations;
    next = now_in;
  }
  const bool in_call = alive && was == Inside::Call;
  // A call that began while the measurement was stopped has no path: its time off the CPU is in no row.
  const NodeId call = in_call && l.call.node != unrecorded_call ? l.call.node : root_node;
  const Ticks beyond = alive ? now_in.begin - next.begin : 0;
  const Ticks beyond_outside = alive ? now_in.outside - next.outside : 0;
  // CPU time since the last look is divided; that before it belongs to the unit in progress.
  const bool looked = alive && l.off_cpu.at > l.begin;
  Ticks since = looked ? l.off_cpu.at : l.begin;
  if (since > next.begin) since = next.begin;
  const std::int64_t cpu_since = looked && l.off_cpu.cpu_ns > l.cpu_begin_ns ? l.off_cpu.cpu_ns : l.cpu_begin_ns;
  const OffCpuTimes off_cpu = alive ? take_off_cpu(l, in_call) : OffCpuTimes{};
  const std::int64_t cpu_now = alive && l.off_cpu.cpu_ns > cpu_since ? l.off_cpu.cpu_ns : cpu_since;
  const Ticks elapsed = alive ? platform::now() - since : 0;
  std::int64_t UnitTotals::*const of_off = in_call ? &UnitTotals::off_mpi_ns : &UnitTotals::waited_ns;
  WallShares cpu(cpu_now - cpu_since, elapsed), off(in_call ? off_cpu.in_call : off_cpu.waited, elapsed);
  if (l.extra) end_unit_readings(*l.extra);

  const bool with_unit = iteration != outside_of_iterations;
  const bool passes =
      alive && with_unit && (!in_call || off_cpu.waited == 0) && is_passed(l, f, span.begin, in_call, call);
  if (alive) {
    l.unit.wall += next.begin - l.begin;
    l.unit.cpu_ns += cpu_since - l.cpu_begin_ns + cpu.of(next.begin - since);
    count_off(l, in_call, off.of(next.begin - since));
    l.unit.off_mpi_ns += off_cpu.mpi - off_cpu.in_call;  // of earlier calls
    if (in_call) l.unit.waited_ns += off_cpu.waited;     // before the call
  }
  if (in_call) cut_open_call(l, passes ? span.begin : next.begin, now_in.begin);
  l.call.values = nullptr;

  if (passes) {
    Passed& to = f.passed;
    to = {to.wall > 0 ? to.first : from, to.wall + l.unit.wall, to.cpu_ns + l.unit.cpu_ns, to.off_ns + l.unit.*of_off,
          call};
    start_unit_anew(l);
  } else {
    const bool anything = f.passed.wall > 0 || (with_unit && (alive || !is_empty(l, l.unit)));
    if (anything && !enqueue(l, f, iteration)) {
      count_unit_outside(l);
    } else if (with_unit) {
      start_unit_anew(l);
    } else {
      if (!kept && (alive || !is_empty(l, l.unit))) l.count_loss(Loss::IterationUnclustered);
      count_unit_outside(l);
    }
    f.passed = {from + 1, 0, 0, 0, call};
  }

  l.outside.wall += beyond_outside;
  l.outside.cpu_ns += cpu.of(beyond_outside);
  const std::int64_t off_outside = off.of(beyond_outside);
  if (call != root_node && beyond_outside > 0) count_call_outside(l, call, beyond_outside, off_outside);
  else (in_call ? l.outside.off_mpi_ns : l.outside.waited_ns) += off_outside;
  if (beyond > beyond_outside) {
    const Ticks wall = beyond - beyond_outside;
    const std::int64_t share = off.of(wall);
    f.passed.wall += wall;
    f.passed.cpu_ns += cpu.of(wall);
    if (!in_call || call != root_node) f.passed.off_ns += share;
  }
  if (alive) {
    l.unit.cpu_ns = cpu.rest();
    count_off(l, in_call, off.rest());
    l.cpu_begin_ns = cpu_now;
    l.begin = now_in.begin;
  }
  f.epoch.store(epoch, relaxed);
  if (!l.events) return;
  for (std::uint64_t i = from; i != epoch; ++i) {
    const IterationId ended = span_at(i).iteration;
    const Ticks end = span_at(i + 1).begin;
    if (!spans_are_kept_since(i)) return note_cut(l, outside_of_iterations, now_in.begin, in_call);
    note_cut(l, ended, end, in_call);
  }
}

void notice_boundaries(Location& l, Inside was) {
  Follower& f = *l.follower;
  const std::uint64_t epoch = published_epoch.load(std::memory_order_acquire);
  if (f.stopped.load(relaxed)) return;
  for (std::uint64_t from; (from = f.epoch.load(relaxed)) != epoch;) {
    const Ticks boundary = span_at(from + 1).begin;
    const bool kept = spans_are_kept_since(from);
    if (f.alive && (l.begin < boundary || !kept)) return catch_up(l, f, epoch, was, true);
    // The location had no thread when the span ended. But one may have begun or ended between the boundary and its
    // publication.
    Ticks beyond = 0;
    std::uint64_t to = epoch;
    if (kept && l.end > boundary && l.unit.wall > 0) {
      beyond = l.end - boundary < l.unit.wall ? l.end - boundary : l.unit.wall;
      to = from + 1;
    } else if (f.alive) {
      for (to = from + 1; to < epoch && span_at(to + 1).begin <= l.begin;) ++to;
    }
    l.unit.wall -= beyond;
    catch_up(l, f, to, was, false);
    l.unit.wall = beyond;
  }
}

}  // namespace

void count_passed_outside(Location& l, const Passed& passed) {
  l.outside.wall += passed.wall;
  l.outside.cpu_ns += passed.cpu_ns;
  if (passed.call != root_node) count_call_outside(l, passed.call, passed.wall, passed.off_ns);
  else l.outside.waited_ns += passed.off_ns;
}

void keep_up(Location& l, Inside was) {
  if (!l.stopped) [[likely]]
    return notice_boundaries(l, was);
  // The location is treated as if its thread had ended at the stop.
  const UnitTotals dropped = std::exchange(l.unit, l.while_stopped.unit);
  notice_boundaries(l, was);
  l.while_stopped.unit = std::exchange(l.unit, dropped);
}

void begin_following(Location& l, Follower& f) {
  f.epoch.store(published_epoch.load(std::memory_order_acquire), relaxed);
  l.follower = &f;
  l.iterations = &f.iterations;
}

void flush_passed(Location& l) {
  Follower& f = *l.follower;
  if (f.passed.wall == 0) return;
  (void)enqueue(l, f, outside_of_iterations);
  f.passed = {};
}

}  // namespace refrain::measurement
