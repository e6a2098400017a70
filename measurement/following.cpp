#include "measurement/following.hpp"

#include <cstring>
#include <utility>

#include "measurement/consumers.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {

using platform::Ticks;

// ---- Boundaries ----

std::atomic<std::uint64_t> published_epoch{0};
std::atomic<std::uint64_t> followers_due{kept_spans / 4};

namespace {

struct KeptSpan {
  std::atomic<Ticks> begin, outside;
  std::atomic<SpanOf> of;
};
constinit KeptSpan spans[kept_spans]{};

KeptSpan& kept(std::uint64_t index) { return spans[index % kept_spans]; }

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

Span span_at(std::uint64_t index) {
  const KeptSpan& span = kept(index);
  return {span.begin.load(relaxed), span.outside.load(relaxed), span.of.load(relaxed)};
}

bool spans_are_kept_since(std::uint64_t index) {
  std::atomic_thread_fence(std::memory_order_acquire);
  // The place of one more may be written now.
  return published_epoch.load(relaxed) - index < kept_spans - 1;
}

void end_span(Ticks now, SpanOf of) {
  const std::uint64_t epoch = published_epoch.load(relaxed);
  KeptSpan& ended = kept(epoch);
  KeptSpan& next = kept(epoch + 1);
  std::atomic_thread_fence(std::memory_order_release);  // who sees the next place change sees this epoch, too
  ended.of.store(of, relaxed);
  const Ticks outside = of == outside_of_iterations ? now - ended.begin.load(relaxed) : 0;
  next.begin.store(now, relaxed);
  next.outside.store(ended.outside.load(relaxed) + outside, relaxed);
  published_epoch.store(epoch + 1, std::memory_order_release);
}

// ---- The queue ----

namespace {

/// Writes the unit in progress, if it is one of an iteration, and what was passed before it. False: no room.
bool enqueue(Location& l, Following& f, SpanOf of) {
  const bool with_unit = of != outside_of_iterations;
  FollowedUnit unit{sizeof(FollowedUnit) / 8, of, f.epoch.load(relaxed), f.passed, {}, {}};
  const auto is_empty = [&](const Node& n, const std::int64_t* values) {
    for (std::size_t i = 0; i < CallTree::width(n.kind); ++i)
      if (values[i] != 0) return false;
    return true;
  };
  if (with_unit) {
    unit.totals = l.unit;
    for (std::uint32_t i = 0; l.extra && i < extra_metrics.count; ++i) unit.extra[i] = l.extra->unit[i];
    for (const std::uint32_t id : l.tree.touched()) {
      const Node& n = l.tree.node(NodeId{id});
      if (!is_empty(n, l.tree.values_of(n))) unit.words += 1 + CallTree::width(n.kind);
    }
  }
  std::uint64_t at = f.written.load(relaxed);
  const std::uint64_t used = at - f.read.load(std::memory_order_acquire);
  if (used + unit.words > Following::queue_words / 2) followers_due.store(0, relaxed);
  if (used + unit.words > Following::queue_words) return false;
  const auto put = [&](const void* words, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, ++at)
      std::memcpy(&f.queue[at % Following::queue_words], static_cast<const char*>(words) + 8 * i, 8);
  };
  put(&unit, sizeof unit / 8);
  if (with_unit)
    for (const std::uint32_t id : l.tree.touched()) {
      const Node& n = l.tree.node(NodeId{id});
      const std::int64_t* values = l.tree.values_of(n);
      if (is_empty(n, values)) continue;
      const FollowedPath path{id, n.kind};
      put(&path, 1);
      put(values, CallTree::width(n.kind));
    }
  f.written.store(at, std::memory_order_release);
  return true;
}

/// Time in an MPI call outside of iterations.
void settle_call(Location& l, NodeId call, Ticks time) {
  l.settled.mpi += time;
  l.tree.settled_values(call)[column_of(MetricId::Time)] += time;
}

/// What was passed is time outside of iterations after all.
void settle_passed(Location& l, const Passed& passed) {
  l.settled.wall += passed.wall;
  l.settled.cpu_ns += passed.cpu_ns;
  if (passed.call != root_node) settle_call(l, passed.call, passed.wall);
}

/// CPU time in proportion to wall time.
class Sharing {
 public:
  Sharing(std::int64_t cpu_ns, Ticks wall) : left_(cpu_ns > 0 ? cpu_ns : 0), wall_(wall) {}
  std::int64_t of(Ticks part) {
    if (part <= 0 || wall_ <= 0) return 0;
    const auto exact = static_cast<double>(left_) * (static_cast<double>(part) / static_cast<double>(wall_));
    const std::int64_t share = part >= wall_ ? left_ : static_cast<std::int64_t>(exact);
    left_ -= share;
    wall_ -= part;
    return share;
  }
  std::int64_t rest() const { return left_; }

 private:
  std::int64_t left_;
  Ticks wall_;
};

bool is_empty(const Location& l) {
  for (const auto total : unit_total_table)
    if (l.unit.*total != 0) return false;
  for (std::uint32_t i = 0; l.extra && i < extra_metrics.count; ++i)
    if (l.extra->unit[i] != 0) return false;
  return l.tree.touched().empty();
}

/// The unit in progress belongs to a span before `epoch`, and ends with its span; a new one begins with `epoch`.
/// `alive`: the location's thread was there.
void catch_up(Location& l, Following& f, std::uint64_t epoch, Inside was, bool alive) {
  const std::uint64_t from = f.epoch.load(relaxed);
  const Span span = span_at(from), now_in = span_at(epoch);
  Span next = span_at(from + 1);
  SpanOf of = span.of;
  const bool kept = spans_are_kept_since(from);
  if (!kept) {  // nobody has looked after this location for long: all of it is outside
    of = outside_of_iterations;
    next = now_in;
  }
  const bool in_call = alive && was == Inside::Call;
  const Ticks passed = alive ? now_in.begin - next.begin : 0;
  const Ticks passed_outside = alive ? now_in.outside - next.outside : 0;
  std::int64_t cpu_now = 0;
  Ticks elapsed = 0;
  if (alive) {
    cpu_now = platform::thread_cpu_ns_of(l.os_thread_id);
    if (cpu_now < l.cpu_begin_ns) cpu_now = l.cpu_begin_ns;
    elapsed = platform::now() - l.begin;
  }
  Sharing cpu(cpu_now - l.cpu_begin_ns, elapsed);

  if (alive) {
    l.unit.wall += next.begin - l.begin;
    l.unit.cpu_ns += cpu.of(next.begin - l.begin);
  }
  if (in_call) cut_open_calls(l, next.begin, now_in.begin);
  l.call.values = nullptr;
  if (l.extra) end_unit_readings(*l.extra);

  const bool with_unit = of != outside_of_iterations;
  const bool anything = f.passed.wall > 0 || (with_unit && (alive || !is_empty(l)));
  if (anything && !enqueue(l, f, of)) {
    l.count_loss(Loss::IterationUnclustered);
    settle_passed(l, f.passed);
    settle_unit(l);
  } else if (with_unit) {
    start_unit_anew(l);
  } else {
    if (!kept && (alive || !is_empty(l))) l.count_loss(Loss::IterationUnclustered);
    settle_unit(l);
  }
  f.passed = {};

  l.settled.wall += passed_outside;
  l.settled.cpu_ns += cpu.of(passed_outside);
  const NodeId call = in_call && l.call.node != unrecorded_call ? l.call.node : root_node;
  if (call != root_node && passed_outside > 0) settle_call(l, call, passed_outside);
  if (passed > passed_outside) {
    const Ticks wall = passed - passed_outside;
    f.passed = {from + 1, wall, cpu.of(wall), call};
  }
  if (alive) {
    l.unit.cpu_ns = cpu.rest();
    l.cpu_begin_ns = cpu_now;
    l.begin = now_in.begin;
  }
  f.epoch.store(epoch, relaxed);
  if (!is_wanted(l, Wish::Cuts)) return;
  if (!kept) return hand_over(l, CutRecord{outside_of_iterations, now_in.begin});
  for (std::uint64_t i = from; i != epoch; ++i) hand_over(l, CutRecord{span_at(i).of, span_at(i + 1).begin});
}

void notice_boundaries(Location& l, Inside was) {
  Following& f = *l.following;
  const std::uint64_t epoch = published_epoch.load(std::memory_order_acquire);
  if (f.stopped.load(relaxed)) return;
  for (std::uint64_t from; (from = f.epoch.load(relaxed)) != epoch;) {
    const Ticks boundary = span_at(from + 1).begin;
    const bool kept = spans_are_kept_since(from);
    if (f.alive && (l.begin < boundary || !kept)) return catch_up(l, f, epoch, was, true);
    // No thread was there when the span ended. But one may have begun or ended after a boundary that was published
    // still later.
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

void keep_up(Location& l, Inside was) {
  if (!l.stopped) [[likely]]
    return notice_boundaries(l, was);
  // As if its thread had ended at the stop.
  const UnitTotals dropped = std::exchange(l.unit, l.while_stopped.unit);
  notice_boundaries(l, was);
  l.while_stopped.unit = std::exchange(l.unit, dropped);
}

void begin_following(Location& l, Following& f) {
  f.epoch.store(published_epoch.load(std::memory_order_acquire), relaxed);
  l.following = &f;
}

void flush_passed(Location& l) {
  Following& f = *l.following;
  if (f.passed.wall == 0) return;
  if (!enqueue(l, f, outside_of_iterations)) {
    l.count_loss(Loss::IterationUnclustered);
    settle_passed(l, f.passed);
  }
  f.passed = {};
}

}  // namespace refrain::measurement
