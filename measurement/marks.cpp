#include "measurement/marks.hpp"

#include "measurement/event_log.hpp"
#include "measurement/followers.hpp"
#include "measurement/iterations.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/mpi_call.hpp"
#include "measurement/regions.hpp"
#include "measurement/stopping.hpp"
#include "platform/clock.hpp"
#include "platform/floating_point.hpp"
#include "platform/pages.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {
namespace {

using platform::Registers;
using platform::Ticks;

/// Some microseconds, whatever the frequency of the clock.
constexpr Ticks short_pause = 10'000;

/// Counts and reports marks that do not match. `site`: the return address of the call that shows it.
void report_misuse(Location& l, std::uintptr_t site, const char* what) {
  l.count_loss(Loss::MarkMisused);
  lifecycle.mark_misused(what, site);
}

/// The marks of the location, made at the first one. Null: there was no memory then, and all marks of the location are
/// ignored.
OpenMarks* marks_of(Location& l) {
  if (!l.marks && !l.marks_ignored) l.marks = platform::make_on_pages<OpenMarks>();
  l.marks_ignored = !l.marks;
  return l.marks;
}

/// Counts a mark that is ignored for lack of memory, which is no misuse. Returns whether it is.
bool count_if_ignored(Location& l) {
  if (l.marks_ignored) l.count_loss(Loss::IterationUnclustered);
  return l.marks_ignored;
}

/// The loop that is being cut into iterations; null outside of it.
ClusteredLoop* current_loop(Location& l) { return l.iterations ? l.iterations->current : nullptr; }

bool in_iteration(Location& l) { return l.iterations && l.iterations->in_iteration; }

// ---- The stack of open marks ----

OpenMark& top(Location& l) { return l.marks->open[l.marks->count - 1]; }

/// One plus the index of the innermost loop among the outermost `count` marks; 0: there is none.
std::uint32_t innermost_loop(const OpenMarks& marks, std::uint32_t count) {
  while (count > 0 && !marks.open[count - 1].is_loop) --count;
  return count;
}

/// Removes the innermost mark.
void take_back(Location& l) {
  const OpenMark mark = l.marks->open[--l.marks->count];
  l.walker.forget(mark.index);
  if (!mark.is_loop || !current_loop(l)) return;
  if (l.iterations->inner_loops > 0) --l.iterations->inner_loops;
  else l.iterations->current = nullptr;
}

/// Removes the innermost mark, which was left without its end; its time is not counted.
void drop(Location& l) {
  note_mark(l, top(l), false, false, platform::now());
  take_back(l);
}

/// Closes the innermost mark and counts its time.
void close(Location& l, Ticks now) {
  const OpenMark& mark = top(l);
  look_at_boundary(l, now);
  note_mark(l, mark, false, true, now);
  const Ticks time = now - mark.begin - (stopped_until(l, now, 0).wall - mark.stopped_before);
  if (time > 0 && l.tree.node(mark.node).kind == NodeKind::Marked) {
    std::int64_t* const values = l.tree.values(mark.node);
    values[column_of(MetricId::MarkTime)] += time;
    values[column_of(MetricId::MarkOffCpu)] += l.off_cpu.sum.user - mark.off_before.user;
    values[column_of(MetricId::MarkWaited)] += l.off_cpu.sum.waited - mark.off_before.waited;
  }
  take_back(l);
}

/// The time of a mark. If the thread had to wait at the entry while the measurement was stopped or resumed, that is the
/// begin of the present unit.
Ticks entry_time(const Location& l, const OwnTimeBegin& entered) { return entered.at > l.begin ? entered.at : l.begin; }

/// Publishes the span that ends at `now` to the followers and notes its end. To be called after end_unit(), so that the
/// time this takes belongs to the next unit and the readings of metrics to this one.
void tell_cut(Location& l, Ticks now, IterationId iteration) {
  if (is_first_thread(l)) end_span(now, iteration);
  note_cut(l, iteration, now, false);
}
/// The iteration of the current loop that is in progress or has just ended.
IterationId this_iteration(const Location& l) {
  const ClusteredLoop& loop = *l.iterations->current;
  return iteration_id(loop.region, loop.iterations);
}

/// Ends the iteration in progress of the current loop, or the time before its first iteration. `comes_to_its_end`
/// false: the iteration was left, and its time counts as outside of iterations.
void cut_iteration(Location& l, Ticks now, bool comes_to_its_end) {
  const platform::OwnFloatingPoint own_environment;
  end_unit(l, now, l.cpu_clock.at(now));
  tell_cut(l, now, comes_to_its_end ? this_iteration(l) : outside_of_iterations);
  if (comes_to_its_end) take_iteration(l);
  else count_unit_outside(l);
  l.iterations->in_iteration = false;
  if (is_first_thread(l)) serve_followers_if_due(l);
}
void leave_iteration(Location& l) { cut_iteration(l, platform::now(), false); }
void finish_iteration(Location& l, Ticks now) { cut_iteration(l, now, true); }

/// Drops marks that were left without their end until `count` are open.
void drop_marks(Location& l, std::uint32_t count) {
  if (l.marks->count <= count) return;
  for (; l.marks->count > count; drop(l))
    report_misuse(l, top(l).site, "a loop or region that begins there was left without its end");
  if (l.marks->at_iteration > count) l.marks->at_iteration = count;
  if (in_iteration(l) && !current_loop(l)) leave_iteration(l);
}

bool stack_contains(Location& l, std::uintptr_t address) { return l.walker.stack().contains(address); }

/// Drops marks of functions that must have returned, because their frames lie below the caller's stack pointer. A mark
/// may be a tail call: then it seems to be called from the call site of its function.
void drop_abandoned_marks(Location& l, const Registers& caller) {
  OpenMarks* marks = l.marks;
  if (!marks || !stack_contains(l, caller.sp)) return;
  const auto gone = [&](std::uintptr_t frame, std::uintptr_t called_from) {
    return (frame < caller.sp || (frame == caller.sp && called_from != caller.pc)) && stack_contains(l, frame);
  };
  if (marks->ignored > 0 && gone(marks->ignored_frame, marks->ignored_caller))
    marks->ignored = marks->ignored_loops = 0;
  std::uint32_t count = marks->count;
  while (count > 0 && gone(marks->open[count - 1].frame, marks->open[count - 1].caller)) --count;
  drop_marks(l, count);
}

struct CallSite {
  NodeId node;  ///< of the call of the mark
  Activation activation;
};

/// The call site of a mark. Marks that it shows to have been left are dropped first.
CallSite call_site_of(Location& l, const Registers& caller) {
  drop_abandoned_marks(l, caller);
  const auto walk = [&] {
    CallSite site{};
    site.node = path_of(l, {caller, false, nullptr}, &site.activation);
    return site;
  };
  const CallSite site = walk();
  const OpenMarks& marks = *l.marks;
  std::uint32_t count = marks.count;
  const std::uintptr_t frame = site.activation.frame;
  for (std::uint32_t i = count; i > 0 && marks.open[i - 1].frame <= frame && stack_contains(l, frame); --i) {
    const OpenMark& mark = marks.open[i - 1];
    const bool other = mark.frame < frame || mark.caller != site.activation.caller;
    if ((other && stack_contains(l, mark.frame)) || mark.site == caller.pc) count = i - 1;
  }
  if (count == marks.count) return site;
  drop_marks(l, count);
  l.walker.forget(site.activation.index);
  return walk();
}

/// The node of a mark below `path`, the call path of the mark's own call site.
NodeId node_of_mark(Location& l, NodeId path, RegionId name) {
  bool full = false;
  const NodeId node = l.tree.child(path, NodeKind::Marked, static_cast<std::uint64_t>(name), full);
  if (full) l.count_loss(Loss::ArenaFull);
  return node;
}

/// Opens a mark in the calling function. False: there is no room, so the mark and its end are ignored.
bool open(Location& l, RegionId name, bool is_loop, const Registers& caller) {
  OpenMarks* marks = marks_of(l);
  if (!marks) {
    l.count_loss(Loss::IterationUnclustered);
    return false;
  }
  const CallSite site = call_site_of(l, caller);
  if (marks->ignored > 0 || marks->count == OpenMarks::max_open || site.activation.frame == 0) {
    if (marks->ignored++ == 0) {
      marks->ignored_frame = site.activation.frame;  // 0 when it is not known: on no stack
      marks->ignored_caller = site.activation.caller;
    }
    marks->ignored_loops += is_loop;
    report_misuse(l, caller.pc, "more loops and regions are open in each other than can be followed");
    return false;
  }
  const NodeId node = node_of_mark(l, site.node, name);
  if (!l.stopped && l.tree.node(node).kind == NodeKind::Marked) ++l.tree.values(node)[column_of(MetricId::MarkVisits)];
  OpenMark& mark = marks->open[marks->count++];
  mark = {.frame = site.activation.frame,
          .caller = site.activation.caller,
          .site = caller.pc,
          .sp = caller.sp,
          .node = node,
          .index = site.activation.index,
          .region = name,
          .is_loop = is_loop};
  l.walker.forget(mark.index);
  look_at_boundary(l, platform::now());
  mark.begin = platform::now();
  mark.off_before = l.off_cpu.sum;
  mark.stopped_before = stopped_until(l, mark.begin, 0).wall;
  note_mark(l, mark, true, true, mark.begin);
  return true;
}

/// Whether this is the end of an ignored mark, which is ignored, too.
bool ends_ignored(Location& l, bool is_loop) {
  OpenMarks* marks = l.marks;
  if (!marks || marks->ignored == 0) return false;
  if (is_loop && marks->ignored_loops == 0) {
    marks->ignored = 0;  // regions inside this loop that were left without their ends
    return false;
  }
  --marks->ignored;
  if (marks->ignored_loops > marks->ignored || is_loop) --marks->ignored_loops;
  return true;
}

// ---- Iterations ----

/// Whether an iteration mark at `caller` belongs to the loop that is being cut. Loops that it shows to have been left
/// are dropped first. `site`: the member that holds the last mark of this kind.
bool belongs_to_cut_loop(Location& l, const Registers& caller, std::uintptr_t OpenMark::*site, const char* outside) {
  if (count_if_ignored(l)) return false;
  drop_abandoned_marks(l, caller);
  OpenMarks* marks = l.marks;
  if (marks && marks->ignored_loops > 0) return false;
  const std::uint32_t innermost = marks ? innermost_loop(*marks, marks->count) : 0;
  if (innermost == 0) {
    if (!current_loop(l)) report_misuse(l, caller.pc, outside);
    return false;
  }
  // A mark that is directly in the function of its loop is recognised by its site. A mark in a function that marks
  // iterations of several loops is not, and belongs to the innermost loop.
  std::uint32_t inside = 0;
  for (std::uint32_t at = innermost; at > 0; inside = at, at = innermost_loop(*marks, at - 1))
    if (marks->open[at - 1].sp == caller.sp && marks->open[at - 1].*site == caller.pc) {
      if (inside) drop_marks(l, inside - 1);
      break;
    }
  OpenMark& loop = marks->open[innermost_loop(*marks, marks->count) - 1];
  if (loop.sp == caller.sp) loop.*site = caller.pc;
  return l.iterations && l.iterations->inner_loops == 0;
}

void end_iteration_now(Location& l, const Registers& caller, const OwnTimeBegin& entered) {
  const TimedOwnWork timed(l, OwnTime::IterationEnd, entered);
  const Ticks now = entry_time(l, entered);
  if (!belongs_to_cut_loop(l, caller, &OpenMark::iteration_ends, "an iteration ends outside of a loop")) return;
  if (!current_loop(l)) return l.count_loss(Loss::IterationUnclustered);
  if (!l.iterations->in_iteration) return report_misuse(l, caller.pc, "an iteration ends that was not begun");
  if (l.marks->count > l.marks->at_iteration) {
    report_misuse(l, caller.pc, "an iteration ends before a region that was begun inside it");
    while (l.marks->count > l.marks->at_iteration) close(l, now);
  }
  finish_iteration(l, now);
}

}  // namespace

void begin_loop(Location& l, RegionId name, const Registers& caller, const OwnTimeBegin& entered) {
  const TimedOwnWork timed(l, OwnTime::Mark, entered);
  if (current_loop(l) && (!l.marks || l.marks->count == 0)) {  // begun by an MPI call: marks have precedence
    leave_iteration(l);
    l.iterations->current = nullptr;
  }
  if (!open(l, name, true, caller)) return;
  if (current_loop(l)) {
    ++l.iterations->inner_loops;
    return;
  }
  if (innermost_loop(*l.marks, l.marks->count - 1) > 0) return;  // inside a loop that could not be kept
  const platform::OwnFloatingPoint own_environment;
  stop_following(l);
  ClusteredLoop* loop = loop_of(l.iterations, name);
  if (!loop && l.iterations && l.iterations->count == Iterations::max_loops)
    report_misuse(l, caller.pc, "there are more loops than can be kept; iterations of the others are not");
  else if (!loop) l.count_loss(Loss::IterationUnclustered);
  if (l.iterations) l.iterations->current = loop;
}

void end_loop(Location& l, const Registers& caller, const OwnTimeBegin& entered) {
  const TimedOwnWork timed(l, OwnTime::Mark, entered);
  const Ticks now = entry_time(l, entered);
  if (count_if_ignored(l)) return;
  drop_abandoned_marks(l, caller);
  if (ends_ignored(l, true)) return;
  const std::uint32_t at = l.marks ? innermost_loop(*l.marks, l.marks->count) : 0;
  if (at == 0) return report_misuse(l, caller.pc, "a loop ends that was not begun");
  const bool outermost = current_loop(l) && l.iterations->inner_loops == 0;
  if (outermost && l.iterations->in_iteration) {
    report_misuse(l, caller.pc, "a loop ends inside an iteration; the iteration is not counted");
    leave_iteration(l);
  } else if (at < l.marks->count) {
    report_misuse(l, caller.pc, "a loop ends before a region that was begun inside it");
  }
  while (l.marks->count >= at) close(l, now);
}

void begin_iteration(Location& l, const Registers& caller, const OwnTimeBegin& entered) {
  const Ticks entry = entry_time(l, entered);
  if (!belongs_to_cut_loop(l, caller, &OpenMark::iteration_begins, "an iteration begins outside of a loop")) return;
  if (!current_loop(l)) return;
  const platform::OwnFloatingPoint own_environment;
  Iterations& all = *l.iterations;
  if (all.in_iteration) {
    report_misuse(l, caller.pc, "an iteration begins before the end of the one before; that one is not counted");
    drop_marks(l, l.marks->at_iteration);
    leave_iteration(l);
  }
  // There is rarely anything between the end of an iteration and the begin of the next. Then the CPU clock, whose
  // reading may be a system call, is not read again.
  const bool nothing_between =
      l.unit.mpi_calls == 0 && l.unit.ticks_user + l.unit.ticks_mpi == 0 && entry - l.begin - l.unit.own < short_pause;
  const std::int64_t cpu = nothing_between ? l.cpu_begin_ns : l.cpu_clock.at(entry);
  all.in_iteration = true;
  l.marks->at_iteration = l.marks->count;
  look_at_boundary(l, entry);
  if (!l.stopped) count_unit_outside(l);  // done here, so that little work is left after the clock is read
  l.unit.own += end_own_time(l, OwnTime::IterationBegin, entered);
  const Ticks now = platform::now();
  end_unit(l, now, cpu);
  tell_cut(l, now, outside_of_iterations);
  count_unit_outside(l);
}

void end_iteration(Location& l, const Registers& caller, const OwnTimeBegin& entered) {
  end_iteration_now(l, caller, entered);
  if (l.begin >= snapshot_due.load(std::memory_order_relaxed)) take_due_snapshot(l);
}

void begin_region(Location& l, RegionId name, const Registers& caller, const OwnTimeBegin& entered) {
  const TimedOwnWork timed(l, OwnTime::Mark, entered);
  (void)open(l, name, false, caller);
}

void end_region(Location& l, std::string_view name, const Registers& caller, const OwnTimeBegin& entered) {
  const TimedOwnWork timed(l, OwnTime::Mark, entered);
  const Ticks now = entry_time(l, entered);
  if (count_if_ignored(l)) return;
  drop_abandoned_marks(l, caller);
  if (ends_ignored(l, false)) return;
  if (!l.marks || l.marks->count == 0 || top(l).is_loop)
    return report_misuse(l, caller.pc, "a region ends that was not begun");
  const auto names = user_region_names();
  const auto is_named = [&](const OpenMark& mark) {
    const std::size_t position = static_cast<std::size_t>(mark.region) - first_user_region;
    return position < names.size() && name == names[position];
  };
  if (!name.empty() && !is_named(top(l))) {
    std::uint32_t at = l.marks->count;
    while (at > 0 && !l.marks->open[at - 1].is_loop && !is_named(l.marks->open[at - 1])) --at;
    if (at == 0 || l.marks->open[at - 1].is_loop)
      return report_misuse(l, caller.pc, "a region ends that was not begun");
    report_misuse(l, caller.pc, "a region ends before one that was begun inside it");
    while (l.marks->count > at) close(l, now);
  }
  if (in_iteration(l) && l.marks->count <= l.marks->at_iteration) {
    report_misuse(l, caller.pc, "a region ends inside an iteration that began inside the region");
    l.marks->at_iteration = l.marks->count - 1;
  }
  close(l, now);
}

void report_strange_name(Location& l, std::uintptr_t site) {
  report_misuse(l, site, "a name is empty, longer than 255 bytes, or no printable UTF-8");
}

void iterate_at_call(Location& l, RegionId name) {
  if (l.marks && l.marks->count > 0) return;  // the program's own marks have precedence
  const platform::OwnFloatingPoint own_environment;
  const OwnTimeBegin begin = begin_own_time(l);
  const TimedOwnWork timed(l, OwnTime::IterationEnd, begin);
  const Ticks now = begin.at;
  if (!current_loop(l)) {
    stop_following(l);
    ClusteredLoop* loop = loop_of(l.iterations, name);
    if (!loop) return l.count_loss(Loss::IterationUnclustered);
    l.iterations->current = loop;
  }
  cut_iteration(l, now, l.iterations->in_iteration);
  l.iterations->in_iteration = true;
  if (l.marks) l.marks->at_iteration = 0;
}

void end_with_finalize(Location& l) {
  if (!l.marks || !in_iteration(l) || innermost_loop(*l.marks, l.marks->count) == 0) return;
  const OwnTimeBegin begin = begin_own_time(l);
  const TimedOwnWork timed(l, OwnTime::IterationEnd, begin);
  const Ticks now = begin.at;
  while (l.marks->count > l.marks->at_iteration) close(l, now);
  finish_iteration(l, now);
}

void end_marks(Location& l, Ticks now) {
  if (!l.marks) return;
  if (in_iteration(l) && innermost_loop(*l.marks, l.marks->count) > 0) l.count_loss(Loss::MarkMisused);
  while (l.marks->count > 0) close(l, now);
}

void forget_marks(Location& l) {
  if (in_iteration(l)) tell_cut(l, l.end, outside_of_iterations);
  if (l.marks) l.marks->count = l.marks->ignored = l.marks->ignored_loops = 0;
  if (!l.iterations) return;
  l.iterations->current = nullptr;
  l.iterations->in_iteration = false;
  l.iterations->inner_loops = 0;
}

}  // namespace refrain::measurement
