#include "measurement/followers.hpp"

#include <utility>

#include "format/time_rules.hpp"
#include "measurement/entrance.hpp"
#include "measurement/follower.hpp"
#include "measurement/iterations.hpp"
#include "measurement/locations.hpp"
#include "platform/backoff.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {

using clustering::Label;
using clustering::no_label;
using platform::Ticks;

namespace {

/// Turns one item of a follower's queue into iterations. By the thread that has the FollowerLock or holds the location.
class Taker {
 public:
  Taker(Location& location, Location& counted_at, const QueuedUnit& unit)
      : l_(location), f_(*location.follower), counted_at_(counted_at), unit_(unit), totals_(unit.totals) {}

  /// False: there is no memory, and the item stays in the queue.
  bool take() {
    ClusteredLoop* loop = nullptr;
    if (unit_.iteration != outside_of_iterations) {
      loop = loop_of(l_.iterations, loop_of(unit_.iteration));
      if (!loop || !list_paths() || !cluster_unit(*loop)) return false;
    }
    take_passed();
    if (!loop) return true;
    count_shares(*loop);
    log_absence(counted_at_, *loop, number());
    if (loop->iterations == number())
      log_iteration(counted_at_, *loop, label_, row_in_use(row_), f_.iterations.touched.view());
    spill_if_much(l_, *loop);
    return true;
  }

 private:
  std::uint64_t number() const { return iteration_number(unit_.iteration); }
  bool in_call() const { return unit_.passed.call != root_node; }

  bool list_paths() {
    auto& paths = f_.iterations.touched;
    paths.clear();
    bool listed = true;
    f_.queue.for_each_path(unit_, [&](QueuedPath path, std::int64_t* values) {
      listed = listed && paths.push_back({clustering::PathId{path.node}, shape_of(path.kind, values), values});
    });
    return listed;
  }

  bool cluster_unit(ClusteredLoop& loop) {
    f_.shares.clear();
    if (has_passed(loop.region)) share_weights(loop);
    const auto paths = f_.iterations.touched.view();
    const auto row = fill_row(totals_, unit_.extra, paths, row_);
    label_ = cluster_iteration(counted_at_, loop, number(), {row, paths});
    return label_ != no_label;
  }

  /// Whether iterations of the loop were passed before the unit, in user code.
  bool has_passed(RegionId loop) const {
    if (in_call() || unit_.passed.wall == 0) return false;
    for (std::uint64_t i = unit_.epoch; i-- > unit_.passed.first;)
      if (const IterationId iteration = span_at(i).iteration;
          iteration != outside_of_iterations && loop_of(iteration) == loop)
        return spans_are_kept_since(unit_.passed.first);
    return false;
  }

  /// Removes the part of the weights of the unit's samples that stands for the passed iterations before it.
  void share_weights(ClusteredLoop& loop) {
    if (iteration_settings.equivalence == clustering::Equivalence::All) return;
    const Ticks wall = unit_.passed.wall + unit_.totals.wall;
    if (unit_.totals.weight_user_ns <= 0 || wall <= 0) return;
    const double part = static_cast<double>(unit_.passed.wall) / static_cast<double>(wall);
    f_.queue.for_each_path(unit_, [&](QueuedPath path, std::int64_t* values) {
      if (!format::is_sampled(path.kind)) return;
      std::int64_t& weight = values[column_of(MetricId::Weight)];  // in the copy of the item
      const auto share = static_cast<std::int64_t>(static_cast<double>(weight) * part);
      const bool has_room = share > 0 && loop.passed.add_at(path.node, 0) && f_.shares.push_back({path.node, share});
      if (!has_room) return;
      weight -= share;
      totals_.weight_user_ns -= share;
    });
    totals_.weight_user_squared *= (1 - part) * (1 - part);
  }

  /// Gives the shares to the passed iterations of the loop. If none of them could be kept, they count outside.
  void count_shares(ClusteredLoop& loop) {
    const bool any_passed = loop.passed.count > 0;
    UnitTotals& to = any_passed ? loop.passed.totals : f_.outside;
    to.weight_user_ns += unit_.totals.weight_user_ns - totals_.weight_user_ns;
    to.weight_user_squared += unit_.totals.weight_user_squared - totals_.weight_user_squared;
    if (!any_passed) return;
    for (const WeightOfPassed& share : f_.shares) (void)loop.passed.add_at(share.node, share.weight);  // it has room
  }

  void take_passed() {
    WallShares cpu(unit_.passed.cpu_ns, unit_.passed.wall), off(unit_.passed.off_ns, unit_.passed.wall);
    if (unit_.passed.wall > 0) {
      Span span = span_at(unit_.passed.first);
      for (std::uint64_t i = unit_.passed.first; i < unit_.epoch; ++i) {
        const Span next = span_at(i + 1);
        if (!spans_are_kept_since(i)) break;  // the first thread may go on meanwhile, and overwrite them
        const Ticks wall = next.begin - span.begin;
        if (span.iteration != outside_of_iterations) pass(span.iteration, wall, cpu.of(wall), off.of(wall));
        span = next;
      }
    }
    if (cpu.wall() > 0) give_up(cpu.wall(), cpu.rest(), off.rest());
  }

  void pass(IterationId iteration, Ticks wall, std::int64_t cpu_ns, std::int64_t off_ns) {
    ClusteredLoop* loop = loop_of(l_.iterations, loop_of(iteration));
    if (!loop || !log_passed(counted_at_, *loop, iteration_number(iteration), unit_.passed.call, wall, cpu_ns, off_ns))
      return give_up(wall, cpu_ns, off_ns);
    spill_if_much(l_, *loop);
  }

  /// Counts passed iterations outside that are no longer known one by one, or for which there is no memory.
  void give_up(Ticks wall, std::int64_t cpu_ns, std::int64_t off_ns) {
    counted_at_.count_loss(Loss::IterationUnclustered);
    f_.outside.wall += wall;
    f_.outside.cpu_ns += cpu_ns;
    (in_call() ? f_.outside.off_mpi_ns : f_.outside.waited_ns) += off_ns;
    if (in_call()) f_.outside.mpi += wall;
  }

  Location& l_;
  Follower& f_;
  Location& counted_at_;
  const QueuedUnit& unit_;
  UnitTotals totals_;  ///< of the unit, without the weights that stand for passed iterations
  Label label_ = no_label;
  IterationRow row_ = {};
};

/// Turns the contents of the queue into iterations. Losses are counted at `counted_at`.
void drain(Location& l, Location& counted_at) {
  Follower& f = *l.follower;
  while (const QueuedUnit* unit = f.queue.oldest()) {
    if (!Taker(l, counted_at, *unit).take()) break;
    f.queue.drop(*unit);
  }
}

/// Counts the contents of the queue as time outside of iterations. By the owner or the holder of the location.
void give_back_items(Location& l) {
  Follower& f = *l.follower;
  while (const QueuedUnit* unit = f.queue.oldest()) {
    count_passed_outside(l, unit->passed);
    l.outside += unit->totals;
    f.queue.for_each_path(*unit, [&](QueuedPath path, const std::int64_t* values) {
      std::int64_t* outside = l.tree.outside_values(NodeId{path.node});
      for (std::size_t i = 0; i < CallTree::width(path.kind); ++i) outside[i] += values[i];
    });
    for (std::uint32_t i = 0; l.extra && i < extra_metrics.count; ++i) l.extra->outside[i] += unit->extra[i];
    f.queue.drop(*unit);
  }
  l.outside += std::exchange(f.outside, {});
}

/// Logs the last iterations of the first thread's loops as absent where the location has no rows for them, if the first
/// thread is held.
void log_missing_at_end(Location& l) {
  const Location* first = first_location();
  while (first && !is_first_thread(*first)) first = first->next;
  if (!first || !is_held(*first) || !first->iterations) return;
  for (ClusteredLoop* loop : l.iterations->view())
    for (const ClusteredLoop* of_first : first->iterations->view())
      if (of_first->region == loop->region) log_absence(l, *loop, of_first->iterations);
}

}  // namespace

void serve_followers(Location& first) {
  const std::uint64_t epoch = published_epoch.load(std::memory_order_relaxed);
  constexpr std::uint64_t long_ago = kept_spans / 4;
  constexpr std::uint64_t soon = kept_spans / 64;
  followers_due.store(epoch + long_ago, std::memory_order_relaxed);
  const platform::NoSignals quiet;  // a handler that jumps out would leave a thread paused or a queue locked for ever
  const auto take_all = [&] {
    for (Location* l = first_location(); l; l = l->next) {
      if (!is_follower(*l) || l->follower->busy.test_and_set(std::memory_order_acquire)) continue;
      if (is_follower(*l)) drain(*l, first);
      l->follower->busy.clear(std::memory_order_release);
    }
  };
  take_all();
  bool serves_any = false;
  for (Location* l = first_location(); l; l = l->next) {
    if (!is_follower(*l)) continue;
    const bool is_behind = epoch - l->follower->epoch.load(std::memory_order_relaxed) >= long_ago;
    if (!is_behind) continue;
    Gate found = Gate::Open;
    serves_any |= l->gate.compare_exchange_strong(found, Gate::Served);
    // Another thread writes a snapshot, or events: it holds threads now and then, for a moment each.
    if (found == Gate::Paused) followers_due.store(epoch + soon, std::memory_order_relaxed);
  }
  if (!serves_any) return leave_out_own_work(first);
  // Owners see the gate at their next entry, and the barrier makes their earlier entries visible here.
  const bool is_visible = platform::barrier_on_all_threads();
  for (Location* l = first_location(); l; l = l->next) {
    if (l->gate.load(std::memory_order_relaxed) != Gate::Served) continue;
    // A thread that stays in Refrain's bookkeeping for longer will soon notice the boundary itself.
    constexpr std::int64_t a_moment_ns = 100'000;
    const Inside inside = wait_outside_bookkeeping(*l, a_moment_ns);
    const bool is_quiet =
        is_visible && !is_bookkeeping(inside) && l->gate.load(std::memory_order_relaxed) == Gate::Served;
    if (is_quiet && is_follower(*l)) {
      keep_up(*l, inside);
      flush_passed(*l);
    }
    Gate served = Gate::Served;
    l->gate.compare_exchange_strong(served, Gate::Open, std::memory_order_release);  // unless it was shut
  }
  wake_at_gates();
  take_all();
  leave_out_own_work(first);
}

FollowerLock::FollowerLock(Location& l, std::int64_t timeout_ns) : location_(l) {
  platform::Backoff backoff(timeout_ns);
  while (is_locked_ && l.follower && l.follower->busy.test_and_set(std::memory_order_acquire))
    is_locked_ = backoff.wait();
}
FollowerLock::~FollowerLock() {
  if (location_.follower && is_locked_) location_.follower->busy.clear(std::memory_order_release);
}

void drain_queue(Location& l, Location& counted_at) {
  if (is_follower(l)) drain(l, counted_at);
}

void bring_up_to_date(Location& l) {
  if (!is_follower(l)) return;
  keep_up(l, l.inside.load(std::memory_order_relaxed));
  flush_passed(l);
  drain(l, l);
  give_back_items(l);
  log_missing_at_end(l);
}

void bring_followers_up_to_date() {
  for (Location* l = first_location(); l; l = l->next)
    if (is_held(*l)) bring_up_to_date(*l);
}

void stop_following(Location& l) {
  if (!is_follower(l)) return;
  const platform::NoSignals quiet;  // a handler that jumps out would leave the queue locked for ever
  constexpr std::int64_t very_long_ns = 1'000'000'000;
  const FollowerLock lock(l, very_long_ns);
  flush_passed(l);
  give_back_items(l);
  l.follower->stopped.store(true, std::memory_order_relaxed);
}

}  // namespace refrain::measurement
