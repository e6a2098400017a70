#include "measurement/follower_iterations.hpp"

#include <algorithm>

#include "measurement/following.hpp"
#include "measurement/iterations.hpp"
#include "measurement/locations.hpp"

namespace refrain::measurement {

using clustering::Label;
using clustering::no_label;
using clustering::TouchedPath;
using platform::Ticks;

namespace {

constexpr std::size_t at(MetricId metric) { return format::logged_place(metric); }

void log_at(Location& counted_at, ClusteredLoop& loop, std::uint64_t number, Label label,
            std::span<const std::int64_t> row, std::span<const TouchedPath> paths) {
  log_absence(counted_at, loop, number);
  if (loop.iterations == number) log_iteration(counted_at, loop, label, row, paths);
}

using PassedOnes = std::span<const PassedIteration>;

/// What PassedIteration::off_ns is a value of.
constexpr MetricId off_metric(bool in_call) { return in_call ? MetricId::OffCpuMpi : MetricId::WaitedForCore; }

/// What some passed iterations have in all.
class PassedSum {
 public:
  PassedSum(PassedOnes ones, bool any_cpu, bool any_off, bool in_call) : off_(off_metric(in_call)) {
    if (ones.empty()) return;
    untouched_ = {ones.size(), ones.front().number, ones.back().number, sum_, minimum_, maximum_, squares_};
    set(MetricId::Wall, ones, &PassedIteration::wall);
    if (any_cpu) set(MetricId::Cpu, ones, &PassedIteration::cpu_ns);
    if (any_off) set(off_, ones, &PassedIteration::off_ns);
    if (in_call) set(MetricId::Time, ones, &PassedIteration::wall);
  }
  PassedSum(const PassedSum&) = delete;
  Ticks wall() const { return sum_[at(MetricId::Wall)]; }
  std::int64_t cpu_ns() const { return sum_[at(MetricId::Cpu)]; }
  std::int64_t off_ns() const { return sum_[at(off_)]; }
  const clustering::Untouched& untouched() const { return untouched_; }

 private:
  void set(MetricId metric, PassedOnes ones, std::int64_t PassedIteration::*member) {
    const std::int64_t first = ones.front().*member;
    std::int64_t low = first, high = first, sum = 0;
    double squares = 0;
    for (const PassedIteration& one : ones) {
      const std::int64_t value = one.*member;
      const auto from_first = static_cast<double>(value - first);
      sum += value;
      squares += from_first * from_first;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    const auto count = static_cast<double>(ones.size());
    const double mean_from_first = static_cast<double>(sum) / count - static_cast<double>(first);
    sum_[at(metric)] = sum;
    minimum_[at(metric)] = low;
    maximum_[at(metric)] = high;
    squares_[at(metric)] = std::max(0.0, squares - count * mean_from_first * mean_from_first);
  }

  const MetricId off_;
  IterationRow sum_ = {}, minimum_ = {}, maximum_ = {};
  double squares_[most_logged] = {};
  clustering::Untouched untouched_{};
};

/// Turns one item of a location's queue into iterations.
class Taker {
 public:
  Taker(Location& location, Location& counted_at, const FollowedUnit& unit)
      : l_(location), f_(*location.following), counted_at_(counted_at), unit_(unit) {}

  /// False: there is no memory; the item is to stay.
  bool take() {
    ClusteredLoop* loop = nullptr;
    if (unit_.of != outside_of_iterations) {
      loop = loop_of(f_.iterations, loop_of_span(unit_.of));
      if (!loop || !list_paths()) return false;
    }
    if (!list_passed()) return false;
    const PassedOnes all = f_.passed_ones.view();
    const std::size_t alone = loop && may_share(*loop) ? begin_of_last_run(all, loop->region) : all.size();
    const PassedOnes shared = all.subspan(alone);
    if (loop && !cluster_unit(*loop, shared)) return false;
    take_runs(all.first(alone));
    if (wall_left_ > 0) give_up_passed();
    if (loop) {
      log(*loop, shared, label_);
      log_at(counted_at_, *loop, iteration_of_span(unit_.of), label_, row_in_use(row_), f_.iterations->touched.view());
      spill_if_much(l_, *loop);
    }
    return true;
  }

 private:
  bool in_call() const { return unit_.passed.call != root_node; }

  bool list_paths() {
    auto& paths = f_.iterations->touched;
    paths.clear();
    bool listed = true;
    f_.queue.for_each_path(unit_, [&](FollowedPath path, const std::int64_t* values) {
      listed = listed && paths.push_back({clustering::PathId{path.node}, shape_of(path.kind, values), values});
    });
    return listed;
  }

  /// Nothing is listed when the spans are not known any more.
  bool list_passed() {
    f_.passed_ones.clear();
    const Passed& passed = unit_.passed;
    wall_left_ = passed.wall;
    cpu_left_ = passed.cpu_ns;
    off_left_ = passed.off_ns;
    if (passed.wall == 0 || !spans_are_kept_since(passed.first)) return true;
    if (!f_.passed_ones.reserve(unit_.span - passed.first)) return false;
    WallShares cpu(passed.cpu_ns, passed.wall), off(passed.off_ns, passed.wall);
    Span span = span_at(passed.first);
    for (std::uint64_t i = passed.first; i < unit_.span; ++i) {
      const Span next = span_at(i + 1);
      if (span.of != outside_of_iterations) {
        const Ticks wall = next.begin - span.begin;
        (void)f_.passed_ones.push_back(
            {iteration_of_span(span.of), wall, cpu.of(wall), off.of(wall), loop_of_span(span.of)});
      }
      span = next;
    }
    return true;
  }

  /// Whether iterations without anything recorded may share the unit's cluster.
  bool may_share(const ClusteredLoop& loop) const {
    if (iteration_settings.equivalence == clustering::Equivalence::All) return false;
    for (const TouchedPath& path : f_.iterations->touched.view())
      if (loop.clusterer.tells_classes(path.shape)) return false;
    return true;
  }

  static std::size_t begin_of_last_run(PassedOnes ones, RegionId loop) {
    std::size_t begin = ones.size();
    while (begin > 0 && ones[begin - 1].loop == loop) --begin;
    return begin;
  }

  PassedSum sum_of(PassedOnes ones) const {
    return PassedSum(ones, unit_.passed.cpu_ns > 0, unit_.passed.off_ns > 0, in_call());
  }

  void count_off(const PassedSum& sum) {
    wall_left_ -= sum.wall();
    cpu_left_ -= sum.cpu_ns();
    off_left_ -= sum.off_ns();
  }

  /// The call path of the MPI call in which the iterations were passed, with all their time.
  TouchedPath call_path(Ticks time, std::int64_t off_ns) {
    call_values_[column_of(MetricId::Time)] = time;
    call_values_[column_of(MetricId::OffCpuMpi)] = off_ns;
    return {clustering::PathId{static_cast<std::uint32_t>(unit_.passed.call)}, shape_of(NodeKind::Region, call_values_),
            call_values_};
  }

  /// Gives the unit to the clusters, and `shared` with it.
  bool cluster_unit(ClusteredLoop& loop, PassedOnes shared) {
    auto& paths = f_.iterations->touched;
    const PassedSum sum = sum_of(shared);
    (void)fill_row(unit_.totals, unit_.extra, paths.view(), row_);
    if (!shared.empty() && in_call() && !add_time_of_call(paths, sum.wall(), sum.off_ns())) return false;
    label_ = cluster_iteration(counted_at_, loop, iteration_of_span(unit_.of), {row_in_use(row_), paths.view()});
    if (label_ == no_label) return false;
    loop.clusterer.add_untouched(sum.untouched());
    count_off(sum);
    return true;
  }

  bool add_time_of_call(platform::GrowableArray<TouchedPath>& paths, Ticks time, std::int64_t off_ns) {
    for (TouchedPath& path : paths)
      if (path.path == clustering::PathId{static_cast<std::uint32_t>(unit_.passed.call)}) {
        auto* const values = const_cast<std::int64_t*>(path.values);  // in the copy of the item
        values[column_of(MetricId::Time)] += time;
        values[column_of(MetricId::OffCpuMpi)] += off_ns;
        return true;
      }
    return paths.push_back(call_path(time, off_ns));
  }

  /// Passed iterations that do not share the unit's cluster, loop after loop.
  void take_runs(PassedOnes ones) {
    while (!ones.empty()) {
      std::size_t end = 1;
      while (end < ones.size() && ones[end].loop == ones[0].loop) ++end;
      take_run(ones.first(end));
      ones = ones.subspan(end);
    }
  }

  void take_run(PassedOnes ones) {
    ClusteredLoop* loop = loop_of(f_.iterations, ones[0].loop);
    if (!loop) return;
    const PassedSum others = sum_of(ones.subspan(1));
    IterationRow first;
    fill(ones[0], first);
    const TouchedPath call = call_path(ones[0].wall + others.wall(), ones[0].off_ns + others.off_ns());
    const std::size_t calls = in_call() ? 1 : 0;
    const Label label = cluster_iteration(counted_at_, *loop, ones[0].number, {row_in_use(first), {&call, calls}});
    if (label == no_label) return;
    loop->clusterer.add_untouched(others.untouched());
    count_off(others);
    wall_left_ -= ones[0].wall;
    cpu_left_ -= ones[0].cpu_ns;
    off_left_ -= ones[0].off_ns;
    log(*loop, ones, label);
    spill_if_much(l_, *loop);
  }

  void fill(const PassedIteration& one, IterationRow& row) const {
    std::fill_n(row, most_logged, 0);
    row[at(MetricId::Wall)] = one.wall;
    row[at(MetricId::Cpu)] = one.cpu_ns;
    row[at(off_metric(in_call()))] = one.off_ns;
    if (in_call()) row[at(MetricId::Time)] = one.wall;
  }

  void log(ClusteredLoop& loop, PassedOnes ones, Label label) {
    IterationRow row;
    const PassedIteration* before = nullptr;
    for (const PassedIteration& one : ones) {
      // Most differ in their wall time alone.
      const bool alike = before && before->cpu_ns == one.cpu_ns && before->off_ns == one.off_ns && !in_call() &&
                         loop.iterations == one.number;
      before = &one;
      if (alike && log_again(loop, one.wall)) continue;
      fill(one, row);
      log_at(counted_at_, loop, one.number, label, row_in_use(row), {});
    }
  }

  /// Passed iterations that cannot be told apart any more, or that there is no memory for.
  void give_up_passed() {
    counted_at_.count_loss(Loss::IterationUnclustered);
    f_.outside.wall += wall_left_;
    f_.outside.cpu_ns += cpu_left_;
    (in_call() ? f_.outside.off_mpi_ns : f_.outside.waited_ns) += off_left_;
    if (in_call()) f_.outside.mpi += wall_left_;
  }

  Location& l_;
  Following& f_;
  Location& counted_at_;
  const FollowedUnit& unit_;
  Ticks wall_left_ = 0;
  std::int64_t cpu_left_ = 0, off_left_ = 0;  ///< of what was passed and is in no cluster yet
  Label label_ = no_label;
  IterationRow row_ = {};
  std::int64_t call_values_[columns_of(NodeKind::Region) + most_extra_metrics] = {};
};

}  // namespace

void take_items(Location& l, Location& counted_at) {
  Following& f = *l.following;
  while (const FollowedUnit* unit = f.queue.oldest()) {
    if (!Taker(l, counted_at, *unit).take()) break;
    f.queue.drop(*unit);
  }
}

void give_back_items(Location& l) {
  Following& f = *l.following;
  while (const FollowedUnit* unit = f.queue.oldest()) {
    settle_passed(l, unit->passed);
    l.settled += unit->totals;
    f.queue.for_each_path(*unit, [&](FollowedPath path, const std::int64_t* values) {
      std::int64_t* settled = l.tree.settled_values(NodeId{path.node});
      for (std::size_t i = 0; i < CallTree::width(path.kind); ++i) settled[i] += values[i];
    });
    for (std::uint32_t i = 0; l.extra && i < extra_metrics.count; ++i) l.extra->settled[i] += unit->extra[i];
    f.queue.drop(*unit);
  }
}

void log_missing_at_end(Location& l) {
  const Location* first = first_location();
  while (first && !is_followed(*first)) first = first->next;
  if (!first || !first->iterations || !l.following->iterations) return;
  for (std::uint32_t i = 0; i < l.following->iterations->count; ++i) {
    ClusteredLoop& loop = *l.following->iterations->loops[i];
    for (std::uint32_t k = 0; k < first->iterations->count; ++k)
      if (first->iterations->loops[k]->region == loop.region)
        log_absence(l, loop, first->iterations->loops[k]->iterations);
  }
}

}  // namespace refrain::measurement
