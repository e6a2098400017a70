#include "measurement/marks.hpp"

#include <new>

#include "measurement/iterations.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/clock.hpp"
#include "platform/pages.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {
namespace {

/// Microseconds on every counter.
constexpr platform::Ticks short_pause = 10'000;
constexpr std::size_t marks_bytes = (sizeof(OpenMarks) + 4095) & ~std::size_t{4095};

void misuse(Location& l, const char* what) {
  l.count_loss(Loss::MarkMisused);
  if (lifecycle.mark_misused) lifecycle.mark_misused(what);
}

OpenMarks* marks_of(Location& l) {
  if (!l.marks)
    if (void* memory = platform::map_pages(marks_bytes)) l.marks = new (memory) OpenMarks{};
  return l.marks;
}

/// The loop that is cut into iterations, null outside of it.
ClusteredLoop* current_loop(Location& l) { return l.iterations ? l.iterations->current : nullptr; }

/// Takes back the mark on top without counting it.
void drop_top(Location& l) {
  const bool was_loop = l.marks->open[--l.marks->count].is_loop;
  l.walker.forget();
  if (!was_loop || !current_loop(l)) return;
  if (l.iterations->inner_loops > 0) --l.iterations->inner_loops;
  else l.iterations->current = nullptr;
}

/// An iteration that was left otherwise than by its end: what it has done is time outside of iterations.
void leave_iteration(Location& l) {
  end_unit(l, platform::now(), platform::thread_cpu_ns());
  settle_unit(l);
  l.iterations->in_iteration = false;
}

struct Place {
  NodeId node;  ///< of the call site that the mark is
  Activation activation;
};

/// Where the caller is, after dropping marks of activations that are gone: left by an exception, a jump or a return.
Place place_of(Location& l, const platform::Registers& caller) {
  Place place{};
  place.node = path_of(l, {caller, false, nullptr}, &place.activation);
  const platform::StackBounds stack = l.walker.stack();
  const auto own = [&](std::uintptr_t address) { return address - stack.low < stack.high - stack.low; };
  const auto gone = [&](const OpenMark& mark) {
    return own(mark.frame) && own(place.activation.frame) && mark.frame < place.activation.frame;
  };
  bool dropped = false;
  for (OpenMarks& marks = *l.marks; marks.count > 0 && gone(marks.open[marks.count - 1]); dropped = true) drop_top(l);
  if (!dropped) return place;
  misuse(l, "a loop or region was left without its end");
  if (l.iterations && l.iterations->in_iteration && !l.iterations->current) leave_iteration(l);
  place.node = path_of(l, {caller, false, nullptr}, &place.activation);
  return place;
}

/// The node of a mark below the call path `path`: the call site itself is not part of it, the function is.
NodeId node_of_mark(Location& l, NodeId path, RegionId name) {
  bool full = false;
  const NodeId node = l.tree.child(path, NodeKind::Marked, static_cast<std::uint64_t>(name), full);
  if (full) l.count_loss(Loss::ArenaFull);
  return node;
}

/// Opens a mark in the calling function. False: no room; it is ignored, and its end with it.
bool open(Location& l, RegionId name, bool is_loop, const platform::Registers& caller) {
  OpenMarks* marks = marks_of(l);
  if (!marks) return false;
  const Place place = place_of(l, caller);
  if (marks->unfollowed > 0 || marks->count == OpenMarks::most || place.activation.frame == 0) {
    ++marks->unfollowed;
    l.count_loss(Loss::MarkMisused);
    return false;
  }
  const NodeId node = node_of_mark(l, place.node, name);
  if (l.tree.node(node).kind == NodeKind::Marked) ++l.tree.values(node)[column_of(MetricId::MarkVisits)];
  marks->open[marks->count++] = {place.activation.frame, name, is_loop, node, 0};
  l.walker.forget(place.activation.index);
  marks->open[marks->count - 1].begin = platform::now();
  return true;
}

/// A mark of an iteration without a loop that is cut. One that could not be followed was counted when it began.
void not_in_a_loop(Location& l, const char* what) {
  if (l.marks)
    for (std::uint32_t i = 0; i < l.marks->count; ++i)
      if (l.marks->open[i].is_loop) return;
  if (!l.marks || l.marks->unfollowed == 0) misuse(l, what);
}

/// Closes the innermost mark and counts its time.
void close(Location& l, platform::Ticks now) {
  const OpenMark& mark = l.marks->open[l.marks->count - 1];
  if (l.tree.node(mark.node).kind == NodeKind::Marked)
    l.tree.values(mark.node)[column_of(MetricId::MarkTime)] += now - mark.begin;
  drop_top(l);
}

}  // namespace

void begin_loop(Location& l, RegionId name, const platform::Registers& caller) {
  if (current_loop(l) && (!l.marks || l.marks->count == 0)) {  // begun by a call: marks come first
    leave_iteration(l);
    l.iterations->current = nullptr;
  }
  if (!open(l, name, true, caller)) return;
  if (current_loop(l)) {
    ++l.iterations->inner_loops;
    return;
  }
  ClusteredLoop* loop = loop_of(l, name);
  if (!loop) l.count_loss(Loss::IterationUnclustered);
  if (l.iterations) l.iterations->current = loop;
}

void end_loop(Location& l) {
  const platform::Ticks now = platform::now();
  if (l.marks && l.marks->unfollowed > 0) {
    --l.marks->unfollowed;
    return;
  }
  if (!l.marks) return misuse(l, "a loop ends that was not begun");
  std::uint32_t at = l.marks->count;
  while (at > 0 && !l.marks->open[at - 1].is_loop) --at;
  if (at == 0) return misuse(l, "a loop ends that was not begun");
  if (at < l.marks->count) misuse(l, "a loop ends before a region that was begun inside it");
  while (l.marks->count > at) close(l, now);
  const bool outermost = current_loop(l) && l.iterations->inner_loops == 0;
  if (outermost && l.iterations->in_iteration) {
    misuse(l, "a loop ends inside an iteration; the iteration is not counted");
    leave_iteration(l);
  }
  close(l, now);
}

void begin_iteration(Location& l) {
  const platform::Ticks entry = platform::now();
  if (!current_loop(l)) return not_in_a_loop(l, "an iteration begins outside of a loop");
  Iterations& all = *l.iterations;
  if (all.inner_loops > 0) return;
  if (all.in_iteration) {
    misuse(l, "an iteration begins before the end of the one before; that one is not counted");
    leave_iteration(l);
  }
  // Between the end of an iteration and the beginning of the next there is rarely anything. Then the CPU clock, whose
  // reading is a system call, is not read again.
  const bool nothing_between =
      l.unit.mpi_calls == 0 && l.unit.ticks_user + l.unit.ticks_mpi == 0 && entry - l.begin - l.unit.own < short_pause;
  const std::int64_t cpu = nothing_between ? l.cpu_begin_ns : platform::thread_cpu_ns();
  const platform::Ticks now = platform::now();
  l.unit.own += now - entry;
  end_unit(l, now, cpu);
  settle_unit(l);
  all.in_iteration = true;
}

void end_iteration(Location& l) {
  const platform::Ticks now = platform::now();
  if (!current_loop(l)) return not_in_a_loop(l, "an iteration ends outside of a loop");
  Iterations& all = *l.iterations;
  if (all.inner_loops > 0) return;
  if (!all.in_iteration) return misuse(l, "an iteration ends that was not begun");
  end_unit(l, now, platform::thread_cpu_ns());
  take_iteration(l);
  all.in_iteration = false;
  l.unit.own += platform::now() - now;
  if (now >= snapshot_due.load(std::memory_order_relaxed)) take_due_snapshot(l);
}

void begin_region(Location& l, RegionId name, const platform::Registers& caller) { (void)open(l, name, false, caller); }

void end_region(Location& l, const RegionId* name) {
  const platform::Ticks now = platform::now();
  if (l.marks && l.marks->unfollowed > 0) {
    --l.marks->unfollowed;
    return;
  }
  if (!l.marks || l.marks->count == 0 || l.marks->open[l.marks->count - 1].is_loop)
    return misuse(l, "a region ends that was not begun");
  if (name && l.marks->open[l.marks->count - 1].region != *name) {
    std::uint32_t at = l.marks->count;
    while (at > 0 && !l.marks->open[at - 1].is_loop && l.marks->open[at - 1].region != *name) --at;
    misuse(l, "a region ends before one that was begun inside it");
    if (at == 0 || l.marks->open[at - 1].is_loop) return;
    while (l.marks->count > at) close(l, now);
  }
  close(l, now);
}

void iterate_at_call(Location& l, RegionId name) {
  const platform::Ticks now = platform::now();
  if (l.marks && l.marks->count > 0) return;  // the program's own marks come first
  if (!current_loop(l)) {
    ClusteredLoop* loop = loop_of(l, name);
    if (!loop) return l.count_loss(Loss::IterationUnclustered);
    l.iterations->current = loop;
  }
  end_unit(l, now, platform::thread_cpu_ns());
  if (l.iterations->in_iteration) take_iteration(l);
  else settle_unit(l);
  l.iterations->in_iteration = true;
  l.unit.own += platform::now() - now;
}

void forget_marks(Location& l) {
  if (l.marks) l.marks->count = l.marks->unfollowed = 0;
  if (!l.iterations) return;
  l.iterations->current = nullptr;
  l.iterations->in_iteration = false;
  l.iterations->inner_loops = 0;
}

}  // namespace refrain::measurement
