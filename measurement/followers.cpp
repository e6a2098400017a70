#include "measurement/followers.hpp"

#include <algorithm>
#include <cstring>
#include <sched.h>

#include "measurement/following.hpp"
#include "measurement/iterations.hpp"
#include "measurement/locations.hpp"
#include "platform/threads.hpp"

namespace refrain::measurement {

using clustering::Label;
using clustering::no_label;
using clustering::TouchedPath;
using platform::Ticks;

// ---- The queue ----

const FollowedUnit* oldest_item(Following& f) {
  const std::uint64_t read = f.read.load(std::memory_order_relaxed);
  if (read == f.written.load(std::memory_order_acquire)) return nullptr;
  const std::uint64_t words = f.queue[read % Following::queue_words];
  if (!f.item.resize(words)) return nullptr;
  for (std::uint64_t i = 0; i < words; ++i) f.item[i] = f.queue[(read + i) % Following::queue_words];
  return reinterpret_cast<const FollowedUnit*>(f.item.data());
}

void drop_item(Following& f, const FollowedUnit& item) {
  f.read.store(f.read.load(std::memory_order_relaxed) + item.words, std::memory_order_release);
}

namespace {

constexpr auto at(Overall metric) { return static_cast<std::size_t>(metric); }
constexpr std::int64_t nothing[overall_count] = {};

/// Logs what is missing of the loop before iteration `number`: the location had no thread then.
void log_missing(Location& counted_at, ClusteredLoop& loop, std::uint64_t number) {
  while (loop.iterations < number) log_iteration(counted_at, loop, no_label, nothing);
}

void log_at(Location& counted_at, ClusteredLoop& loop, std::uint64_t number, Label label,
            const std::int64_t (&row)[overall_count]) {
  log_missing(counted_at, loop, number);
  if (loop.iterations == number) log_iteration(counted_at, loop, label, row);
}

/// Consecutive spans [begin, end) in which nothing was recorded; of those the ones that are iterations of one loop.
class PassedIterations {
 public:
  PassedIterations(std::uint64_t begin, std::uint64_t end, bool in_call, std::int64_t cpu_ns, Ticks wall)
      : begin_(begin), end_(end), in_call_(in_call), cpu_ns_(cpu_ns), wall_(wall) {
    for_each([&](std::uint64_t iteration, const std::int64_t(&row)[overall_count]) {
      if (count_++ == 0) {
        first_ = iteration;
        std::copy_n(row, overall_count, first_row_);
      }
      last_ = iteration;
      for (const Overall metric : set_) {
        const std::int64_t value = row[at(metric)];
        sum_[at(metric)] += value;
        minimum_[at(metric)] = count_ == 1 ? value : std::min(minimum_[at(metric)], value);
        maximum_[at(metric)] = std::max(maximum_[at(metric)], value);
      }
    });
    for_each([&](std::uint64_t, const std::int64_t(&row)[overall_count]) {
      for (const Overall metric : set_) {
        const double mean = static_cast<double>(sum_[at(metric)]) / static_cast<double>(count_);
        const double from_mean = static_cast<double>(row[at(metric)]) - mean;
        squares_[at(metric)] += from_mean * from_mean;
      }
    });
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t first() const { return first_; }
  std::span<const std::int64_t> first_row() const { return first_row_; }
  PassedIterations but_for_first() const {
    std::uint64_t begin = begin_;
    while (begin < end_ && span_at(begin).of == outside_of_iterations) ++begin;
    return {begin + 1, end_, in_call_, cpu_ns_ - first_row_[at(Overall::Cpu)], wall_ - first_row_[at(Overall::Wall)]};
  }
  Ticks wall() const { return sum_[at(Overall::Wall)]; }
  std::int64_t cpu_ns() const { return sum_[at(Overall::Cpu)]; }
  clustering::Untouched profile() const { return {count_, first_, last_, sum_, minimum_, maximum_, squares_}; }

  /// f(iteration, row)
  template <class F>
  void for_each(F&& f) const {
    std::int64_t row[overall_count] = {};
    Ticks wall_left = wall_;
    std::int64_t cpu_left = cpu_ns_;
    for (std::uint64_t i = begin_; i < end_; ++i) {
      const Span span = span_at(i);
      if (span.of == outside_of_iterations) continue;
      const Ticks wall = span_at(i + 1).begin - span.begin;
      const double part = wall_left > 0 ? static_cast<double>(wall) / static_cast<double>(wall_left) : 0;
      const std::int64_t cpu =
          wall >= wall_left ? cpu_left : static_cast<std::int64_t>(static_cast<double>(cpu_left) * part);
      row[at(Overall::Wall)] = wall;
      row[at(Overall::Cpu)] = cpu;
      row[at(Overall::Mpi)] = in_call_ ? wall : 0;
      wall_left -= wall;
      cpu_left -= cpu;
      f(iteration_of_span(span.of), row);
    }
  }

 private:
  static constexpr Overall set_[] = {Overall::Wall, Overall::Cpu, Overall::Mpi};
  std::uint64_t begin_, end_;
  bool in_call_;
  std::int64_t cpu_ns_;
  Ticks wall_;
  std::uint64_t count_ = 0, first_ = 0, last_ = 0;
  std::int64_t first_row_[overall_count] = {};
  std::int64_t sum_[overall_count] = {}, minimum_[overall_count] = {}, maximum_[overall_count] = {};
  double squares_[overall_count] = {};
};

/// Turns one item of a location's queue into iterations.
class Taker {
 public:
  Taker(Location& location, Location& counted_at, const FollowedUnit& unit)
      : l_(location), f_(*location.following), counted_at_(counted_at), unit_(unit) {}

  /// False: there is no memory for the unit; the item is to stay.
  bool take() {
    ClusteredLoop* loop = nullptr;
    if (unit_.of != outside_of_iterations) {
      loop = loop_of(f_.iterations, loop_of_span(unit_.of));
      if (!loop || !list_paths()) return false;
    }
    const Passed& passed = unit_.passed;
    cpu_left_ = passed.cpu_ns;
    wall_left_ = passed.wall;
    const bool known = passed.wall > 0 && spans_are_kept_since(passed.first);
    const std::uint64_t joint = known && loop && may_share(*loop) ? begin_of_last_run(unit_.span) : unit_.span;
    if (loop && !cluster_unit(*loop, joint)) return false;
    if (known) take_runs(passed.first, joint);
    if (wall_left_ > 0) give_up_passed();
    if (loop) log_unit(*loop);
    return true;
  }

 private:
  bool list_paths() {
    auto& paths = f_.iterations->touched;
    paths.clear();
    bool listed = true;
    for_each_path(f_, unit_, [&](FollowedPath path, const std::int64_t* values) {
      listed = listed && paths.push_back({clustering::PathId{path.node}, shape_of(path.kind, values), values});
    });
    return listed;
  }

  /// Whether iterations without anything recorded may share the unit's cluster.
  bool may_share(const ClusteredLoop& loop) const {
    if (iteration_settings.equivalence == clustering::Equivalence::All) return false;
    for (const TouchedPath& path : f_.iterations->touched.view())
      if (loop.clusterer.tells_classes(path.shape)) return false;
    return true;
  }

  /// Where the spans before `end` begin that are of the unit's loop, or outside of iterations.
  std::uint64_t begin_of_last_run(std::uint64_t end) const {
    while (end > unit_.passed.first) {
      const SpanOf of = span_at(end - 1).of;
      if (of != outside_of_iterations && loop_of_span(of) != loop_of_span(unit_.of)) break;
      --end;
    }
    return end;
  }

  PassedIterations passed_in(std::uint64_t begin, std::uint64_t end) {
    Ticks wall = 0;
    for (std::uint64_t i = begin; i < end; ++i)
      if (const Span span = span_at(i); span.of != outside_of_iterations) wall += span_at(i + 1).begin - span.begin;
    const double part = wall_left_ > 0 ? static_cast<double>(wall) / static_cast<double>(wall_left_) : 0;
    const std::int64_t cpu =
        wall >= wall_left_ ? cpu_left_ : static_cast<std::int64_t>(static_cast<double>(cpu_left_) * part);
    return PassedIterations(begin, end, unit_.passed.call != root_node, cpu, wall);
  }

  void count_off(const PassedIterations& passed) {
    wall_left_ -= passed.wall();
    cpu_left_ -= passed.cpu_ns();
  }

  /// The call path of the MPI call in which the spans were passed, with all the time of them.
  TouchedPath call_path(Ticks time) {
    call_values_[column_of(MetricId::Time)] = time;
    return {clustering::PathId{static_cast<std::uint32_t>(unit_.passed.call)}, shape_of(NodeKind::Region, call_values_),
            call_values_};
  }

  /// The unit's cluster, with those of [joint, unit) in it.
  bool cluster_unit(ClusteredLoop& loop, std::uint64_t joint) {
    auto& paths = f_.iterations->touched;
    const PassedIterations passed = passed_in(joint, unit_.span);
    fill_overall(unit_.totals, paths.view(), row_);
    if (passed.count() > 0 && unit_.passed.call != root_node && !add_time_of_call(paths, passed.wall())) return false;
    label_ = cluster_iteration(counted_at_, loop, iteration_of_span(unit_.of), {row_, paths.view()});
    if (label_ == no_label) return false;
    if (passed.count() == 0) return true;
    loop.clusterer.add_untouched(label_, passed.profile());
    joint_ = joint;
    joint_cpu_ = passed.cpu_ns();
    joint_wall_ = passed.wall();
    count_off(passed);
    return true;
  }

  bool add_time_of_call(platform::GrowableArray<TouchedPath>& paths, Ticks time) {
    for (TouchedPath& path : paths)
      if (path.path == clustering::PathId{static_cast<std::uint32_t>(unit_.passed.call)}) {
        const_cast<std::int64_t*>(path.values)[column_of(MetricId::Time)] += time;  // in the copy of the item
        return true;
      }
    return paths.push_back(call_path(time));
  }

  /// The passed iterations that do not share the unit's cluster, loop after loop.
  void take_runs(std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
      RegionId region{};
      std::uint64_t next = begin;
      for (; next < end; ++next) {
        const SpanOf of = span_at(next).of;
        if (of == outside_of_iterations) continue;
        if (region != RegionId{} && region != loop_of_span(of)) break;
        region = loop_of_span(of);
      }
      if (region != RegionId{}) take_run(region, passed_in(begin, next));
      begin = next;
    }
  }

  void take_run(RegionId region, const PassedIterations& passed) {
    ClusteredLoop* loop = loop_of(f_.iterations, region);
    if (!loop) return;
    TouchedPath call[1];
    std::size_t calls = 0;
    if (unit_.passed.call != root_node) call[calls++] = call_path(passed.wall());
    const Label label = cluster_iteration(counted_at_, *loop, passed.first(), {passed.first_row(), {call, calls}});
    if (label == no_label) return;
    loop->clusterer.add_untouched(label, passed.but_for_first().profile());
    passed.for_each([&](std::uint64_t iteration, const std::int64_t(&row)[overall_count]) {
      log_at(counted_at_, *loop, iteration, label, row);
    });
    count_off(passed);
    spill_if_much(l_, *loop);
  }

  void log_unit(ClusteredLoop& loop) {
    if (joint_wall_ > 0)
      PassedIterations(joint_, unit_.span, unit_.passed.call != root_node, joint_cpu_, joint_wall_)
          .for_each([&](std::uint64_t iteration, const std::int64_t(&row)[overall_count]) {
            log_at(counted_at_, loop, iteration, label_, row);
          });
    log_at(counted_at_, loop, iteration_of_span(unit_.of), label_, row_);
    spill_if_much(l_, loop);
  }

  /// Passed iterations that cannot be told apart any more, or that there is no memory for.
  void give_up_passed() {
    counted_at_.count_loss(Loss::IterationUnclustered);
    f_.outside.wall += wall_left_;
    f_.outside.cpu_ns += cpu_left_;
    if (unit_.passed.call != root_node) f_.outside.mpi += wall_left_;
  }

  Location& l_;
  Following& f_;
  Location& counted_at_;
  const FollowedUnit& unit_;
  Ticks wall_left_ = 0;
  std::int64_t cpu_left_ = 0;
  Label label_ = no_label;
  std::int64_t row_[overall_count] = {};
  std::uint64_t joint_ = 0;
  Ticks joint_wall_ = 0;
  std::int64_t joint_cpu_ = 0;
  std::int64_t call_values_[columns_of(NodeKind::Region)] = {};
};

/// Makes iterations of what is in the queue. By who has `taking`.
void take_items(Location& l, Location& counted_at) {
  Following& f = *l.following;
  while (const FollowedUnit* unit = oldest_item(f)) {
    if (!Taker(l, counted_at, *unit).take()) break;
    drop_item(f, *unit);
  }
}

/// Counts what is in the queue as time outside of iterations. By the owner or who holds it, with `taking`.
void give_back_items(Location& l) {
  Following& f = *l.following;
  while (const FollowedUnit* unit = oldest_item(f)) {
    l.settled.wall += unit->passed.wall;
    l.settled.cpu_ns += unit->passed.cpu_ns;
    if (unit->passed.call != root_node) {
      l.settled.mpi += unit->passed.wall;
      l.tree.settled_values(unit->passed.call)[column_of(MetricId::Time)] += unit->passed.wall;
    }
    l.settled += unit->totals;
    for_each_path(f, *unit, [&](FollowedPath path, const std::int64_t* values) {
      std::int64_t* settled = l.tree.settled_values(NodeId{path.node});
      for (std::size_t i = 0; i < columns_of(path.kind); ++i) settled[i] += values[i];
    });
    drop_item(f, *unit);
  }
}

bool follows(const Location& l) { return l.following && !l.following->stopped.load(std::memory_order_relaxed); }

/// Some tries: who is in Refrain's bookkeeping now will notice the boundary before long.
bool is_outside_measurement(const Location& l) {
  for (int i = 0; i < 100; ++i) {
    if (l.inside.load(std::memory_order_acquire) != Inside::Measurement) return true;
    sched_yield();
  }
  return false;
}

/// Iterations of the first thread's loops that the location has no rows for yet.
void log_missing_at_end(Location& l) {
  const Location* first = first_location();
  while (first && !is_followed(*first)) first = first->next;
  if (!first || !first->iterations || !l.following->iterations) return;
  for (std::uint32_t i = 0; i < l.following->iterations->count; ++i) {
    ClusteredLoop& loop = *l.following->iterations->loops[i];
    for (std::uint32_t k = 0; k < first->iterations->count; ++k)
      if (first->iterations->loops[k]->region == loop.region)
        log_missing(l, loop, first->iterations->loops[k]->iterations);
  }
}

}  // namespace

void look_after_followers(Location& first) {
  const std::uint64_t epoch = published_epoch.load(std::memory_order_relaxed);
  constexpr std::uint64_t long_ago = kept_spans / 4;
  followers_due.store(epoch + long_ago, std::memory_order_relaxed);
  const auto for_each_taken = [&](auto&& f) {
    for (Location* l = first_location(); l; l = l->next) {
      if (!follows(*l) || l->following->taking.test_and_set(std::memory_order_acquire)) continue;
      if (follows(*l)) f(*l);
      l->following->taking.clear(std::memory_order_release);
    }
  };
  bool any_held = false;
  for_each_taken([&](Location& l) {
    take_items(l, first);
    if (epoch - l.following->epoch.load(std::memory_order_relaxed) < long_ago) return;
    Gate open = Gate::Open;
    l.following->held = l.gate.compare_exchange_strong(open, Gate::Held);
    any_held = any_held || l.following->held;
  });
  if (!any_held) return;
  platform::barrier_on_all_threads();
  for (Location* l = first_location(); l; l = l->next) {
    if (!l->following || !l->following->held) continue;
    l->following->held = false;
    if (is_outside_measurement(*l) && follows(*l)) {
      keep_up(*l, l->inside.load(std::memory_order_relaxed));
      flush_passed(*l);
    }
    Gate held = Gate::Held;
    l->gate.compare_exchange_strong(held, Gate::Open, std::memory_order_release);
  }
  for_each_taken([&](Location& l) { take_items(l, first); });
}

void bring_followers_up_to_date() {
  for (Location* l = first_location(); l; l = l->next) {
    const bool still = l == current_location || l->gate.load(std::memory_order_relaxed) != Gate::Open;
    if (!still || !l->following) continue;
    if (follows(*l)) {
      keep_up(*l, l->inside.load(std::memory_order_relaxed));
      flush_passed(*l);
      take_items(*l, *l);
      give_back_items(*l);
      l->settled += l->following->outside;
      l->following->outside = {};
      log_missing_at_end(*l);
    }
  }
}

void stop_following(Location& l) {
  if (!follows(l)) return;
  Following& f = *l.following;
  while (f.taking.test_and_set(std::memory_order_acquire)) sched_yield();
  flush_passed(l);
  give_back_items(l);
  l.settled += f.outside;
  f.outside = {};
  l.iterations = f.iterations;
  f.stopped.store(true, std::memory_order_relaxed);
  f.taking.clear(std::memory_order_release);
}

}  // namespace refrain::measurement
