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

/// The vectors of a run: all that its iterations have is in proportion to their wall time.
class RunVectors {
 public:
  explicit RunVectors(const PassedRun& run) : run_(run) {
    const auto count = static_cast<double>(run.all.count);
    squares_of_wall_ = std::max(0.0, run.from_first_squared - run.from_first * run.from_first / count);
    set(MetricId::Wall, run.all.wall);
    set(MetricId::Cpu, run.all.cpu_ns);
    set(off_metric(run.all.in_call), run.all.off_ns);
    if (run.all.in_call) set(MetricId::Time, run.all.wall);
  }
  RunVectors(const RunVectors&) = delete;
  clustering::Untouched all() const {
    return {run_.all.count, run_.first, run_.first + run_.all.count - 1, sum_, least_, most_, squares_};
  }
  /// A mean iteration, and all others.
  std::span<const std::int64_t> mean() const { return row_in_use(mean_); }
  clustering::Untouched others() {
    for (std::size_t i = 0; i < most_logged; ++i) sum_[i] -= mean_[i];
    clustering::Untouched rest = all();
    --rest.count;
    ++rest.first;
    return rest;
  }

 private:
  void set(MetricId metric, std::int64_t sum) {
    const auto wall = static_cast<double>(std::max<Ticks>(run_.all.wall, 1));
    const double rate = static_cast<double>(sum) / wall;
    const auto share = [&](Ticks of) { return static_cast<std::int64_t>(static_cast<double>(of) * rate); };
    sum_[at(metric)] = sum;
    mean_[at(metric)] = sum / static_cast<std::int64_t>(run_.all.count);
    least_[at(metric)] = share(run_.least);
    most_[at(metric)] = share(run_.most);
    squares_[at(metric)] = squares_of_wall_ * rate * rate;
  }

  const PassedRun& run_;
  double squares_of_wall_;
  IterationRow sum_ = {}, mean_ = {}, least_ = {}, most_ = {};
  double squares_[most_logged] = {};
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
    if (!list_runs()) return false;
    const std::span<const PassedRun> runs = f_.passed_runs.view();
    const bool shares = loop && !runs.empty() && runs.back().loop == loop->region && may_share(*loop);
    const PassedRun* shared = shares ? &runs.back() : nullptr;
    if (loop && !cluster_unit(*loop, shared)) return false;
    for (const PassedRun& run : runs)
      if (&run != shared) take_run(run);
    if (wall_left_ > 0) give_up_passed();
    if (loop) {
      if (shared) log_run(*loop, *shared, label_);
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
  bool list_runs() {
    auto& runs = f_.passed_runs;
    runs.clear();
    const Passed& passed = unit_.passed;
    wall_left_ = passed.wall;
    cpu_left_ = passed.cpu_ns;
    off_left_ = passed.off_ns;
    if (passed.wall == 0 || !spans_are_kept_since(passed.first)) return true;
    Span span = span_at(passed.first);
    for (std::uint64_t i = passed.first; i < unit_.span; ++i) {
      const Span next = span_at(i + 1);
      if (span.of != outside_of_iterations && !add_to_runs(span.of, next.begin - span.begin)) return false;
      span = next;
    }
    WallShares cpu(passed.cpu_ns, passed.wall), off(passed.off_ns, passed.wall);
    for (PassedRun& run : runs) {
      run.all.cpu_ns = cpu.of(run.all.wall);
      run.all.off_ns = off.of(run.all.wall);
    }
    return true;
  }

  bool add_to_runs(SpanOf of, Ticks wall) {
    auto& runs = f_.passed_runs;
    const RegionId loop = loop_of_span(of);
    const std::uint64_t number = iteration_of_span(of);
    const bool goes_on = !runs.empty() && runs[runs.size() - 1].loop == loop &&
                         runs[runs.size() - 1].first + runs[runs.size() - 1].all.count == number;
    if (!goes_on && !runs.push_back({loop, number, {0, 0, 0, 0, in_call()}, wall, wall, wall, 0, 0})) return false;
    PassedRun& run = runs[runs.size() - 1];
    const auto from_first = static_cast<double>(wall - run.of_first);
    ++run.all.count;
    run.all.wall += wall;
    run.least = std::min(run.least, wall);
    run.most = std::max(run.most, wall);
    run.from_first += from_first;
    run.from_first_squared += from_first * from_first;
    return true;
  }

  /// Whether iterations without anything recorded may share the unit's cluster.
  bool may_share(const ClusteredLoop& loop) const {
    if (iteration_settings.equivalence == clustering::Equivalence::All) return false;
    for (const TouchedPath& path : f_.iterations->touched.view())
      if (loop.clusterer.tells_classes(path.shape)) return false;
    return true;
  }

  void count_off(const PassedRun& run) {
    wall_left_ -= run.all.wall;
    cpu_left_ -= run.all.cpu_ns;
    off_left_ -= run.all.off_ns;
  }

  /// The call path of the MPI call in which the iterations were passed, with all their time.
  TouchedPath call_path(const PassedRun& run) {
    call_values_[column_of(MetricId::Time)] = run.all.wall;
    call_values_[column_of(MetricId::CallOffCpu)] = run.all.off_ns;
    return {clustering::PathId{static_cast<std::uint32_t>(unit_.passed.call)}, shape_of(NodeKind::Region, call_values_),
            call_values_};
  }

  /// Gives the unit to the clusters, and `shared` with it, if there is one.
  bool cluster_unit(ClusteredLoop& loop, const PassedRun* shared) {
    auto& paths = f_.iterations->touched;
    (void)fill_row(unit_.totals, unit_.extra, paths.view(), row_);
    if (shared && in_call() && !add_time_of_call(paths, *shared)) return false;
    label_ = cluster_iteration(counted_at_, loop, iteration_of_span(unit_.of), {row_in_use(row_), paths.view()});
    if (label_ == no_label) return false;
    if (!shared) return true;
    loop.clusterer.add_untouched(label_, RunVectors(*shared).all());
    count_off(*shared);
    return true;
  }

  bool add_time_of_call(platform::GrowableArray<TouchedPath>& paths, const PassedRun& run) {
    for (TouchedPath& path : paths)
      if (path.path == clustering::PathId{static_cast<std::uint32_t>(unit_.passed.call)}) {
        auto* const values = const_cast<std::int64_t*>(path.values);  // in the copy of the item
        values[column_of(MetricId::Time)] += run.all.wall;
        values[column_of(MetricId::CallOffCpu)] += run.all.off_ns;
        return true;
      }
    return paths.push_back(call_path(run));
  }

  /// Passed iterations that do not share the unit's cluster.
  void take_run(const PassedRun& run) {
    ClusteredLoop* loop = loop_of(f_.iterations, run.loop);
    if (!loop) return;
    RunVectors vectors(run);
    const TouchedPath call = call_path(run);
    const std::size_t calls = in_call() ? 1 : 0;
    const Label label = cluster_iteration(counted_at_, *loop, run.first, {vectors.mean(), {&call, calls}});
    if (label == no_label) return;
    if (run.all.count > 1) loop->clusterer.add_untouched(label, vectors.others());
    count_off(run);
    log_run(*loop, run, label);
    spill_if_much(l_, *loop);
  }

  void log_run(ClusteredLoop& loop, const PassedRun& run, Label label) {
    log_absence(counted_at_, loop, run.first);
    if (loop.iterations == run.first) log_passed(counted_at_, loop, label, run.all);
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
