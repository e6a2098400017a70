#include "measurement/follower_iterations.hpp"

#include "format/time_rules.hpp"
#include "measurement/following.hpp"
#include "measurement/iterations.hpp"
#include "measurement/locations.hpp"

namespace refrain::measurement {

using clustering::Label;
using clustering::no_label;
using clustering::TouchedPath;
using platform::Ticks;

namespace {

/// Turns one item of a location's queue into iterations.
class Taker {
 public:
  Taker(Location& location, Location& counted_at, const FollowedUnit& unit)
      : l_(location), f_(*location.following), counted_at_(counted_at), unit_(unit), totals_(unit.totals) {}

  /// False: there is no memory; the item is to stay.
  bool take() {
    ClusteredLoop* loop = nullptr;
    if (unit_.of != outside_of_iterations) {
      loop = loop_of(f_.iterations, loop_of_span(unit_.of));
      if (!loop || !list_paths() || !cluster_unit(*loop)) return false;
    }
    take_passed();
    if (!loop) return true;
    log_absence(counted_at_, *loop, number());
    if (loop->iterations == number())
      log_iteration(counted_at_, *loop, label_, row_in_use(row_), f_.iterations->touched.view());
    spill_if_much(l_, *loop);
    return true;
  }

 private:
  std::uint64_t number() const { return iteration_of_span(unit_.of); }
  bool in_call() const { return unit_.passed.call != root_node; }
  bool knows_passed() const { return unit_.passed.wall > 0 && spans_are_kept_since(unit_.passed.first); }

  bool list_paths() {
    auto& paths = f_.iterations->touched;
    paths.clear();
    bool listed = true;
    f_.queue.for_each_path(unit_, [&](FollowedPath path, std::int64_t* values) {
      listed = listed && paths.push_back({clustering::PathId{path.node}, shape_of(path.kind, values), values});
    });
    return listed;
  }

  bool cluster_unit(ClusteredLoop& loop) {
    f_.shares.clear();
    if (has_passed(loop.region)) share_weights();
    (void)fill_row(totals_, unit_.extra, f_.iterations->touched.view(), row_);
    label_ = cluster_iteration(counted_at_, loop, number(), {row_in_use(row_), f_.iterations->touched.view()});
    if (label_ == no_label) return false;
    for (const WeightOfPassed& share : f_.shares) (void)loop.passed.add_at(share.node, share.weight);
    loop.passed.totals.weight_user_ns += unit_.totals.weight_user_ns - totals_.weight_user_ns;
    loop.passed.totals.weight_user_squared += unit_.totals.weight_user_squared - totals_.weight_user_squared;
    return true;
  }

  /// Whether iterations of the loop were passed before the unit, in user code.
  bool has_passed(RegionId loop) const {
    if (in_call() || !knows_passed()) return false;
    for (std::uint64_t i = unit_.span; i-- > unit_.passed.first;)
      if (const SpanOf of = span_at(i).of; of != outside_of_iterations && loop_of_span(of) == loop) return true;
    return false;
  }

  /// Takes the part of the weights of the unit's samples out that stands for the time of the iterations before it.
  void share_weights() {
    if (iteration_settings.equivalence == clustering::Equivalence::All) return;
    const Ticks wall = unit_.passed.wall + unit_.totals.wall;
    if (unit_.totals.weight_user_ns <= 0 || wall <= 0) return;
    const double part = static_cast<double>(unit_.passed.wall) / static_cast<double>(wall);
    f_.queue.for_each_path(unit_, [&](FollowedPath path, std::int64_t* values) {
      if (!format::is_sampled(path.kind)) return;
      std::int64_t& weight = values[column_of(MetricId::Weight)];  // in the copy of the item
      const auto share = static_cast<std::int64_t>(static_cast<double>(weight) * part);
      if (share <= 0 || !f_.shares.push_back({path.node, share})) return;
      weight -= share;
      totals_.weight_user_ns -= share;
    });
    totals_.weight_user_squared *= (1 - part) * (1 - part);
  }

  void take_passed() {
    wall_left_ = unit_.passed.wall;
    WallShares cpu(unit_.passed.cpu_ns, unit_.passed.wall), off(unit_.passed.off_ns, unit_.passed.wall);
    if (knows_passed()) {
      Span span = span_at(unit_.passed.first);
      for (std::uint64_t i = unit_.passed.first; i < unit_.span; ++i) {
        const Span next = span_at(i + 1);
        if (span.of != outside_of_iterations) pass(span.of, next.begin - span.begin, cpu, off);
        span = next;
      }
    }
    if (wall_left_ > 0) give_up_passed(cpu.rest(), off.rest());
  }

  void pass(SpanOf of, Ticks wall, WallShares& cpu, WallShares& off) {
    ClusteredLoop* loop = loop_of(f_.iterations, loop_of_span(of));
    if (!loop) return;
    const std::int64_t cpu_ns = cpu.of(wall), off_ns = off.of(wall);
    if (!log_passed(counted_at_, *loop, iteration_of_span(of), unit_.passed.call, wall, cpu_ns, off_ns)) {
      f_.outside.cpu_ns += cpu_ns;
      (in_call() ? f_.outside.off_mpi_ns : f_.outside.waited_ns) += off_ns;
      return;
    }
    wall_left_ -= wall;
    spill_if_much(l_, *loop);
  }

  /// Passed iterations that cannot be told apart any more, or that there is no memory for.
  void give_up_passed(std::int64_t cpu_ns, std::int64_t off_ns) {
    counted_at_.count_loss(Loss::IterationUnclustered);
    f_.outside.wall += wall_left_;
    f_.outside.cpu_ns += cpu_ns;
    (in_call() ? f_.outside.off_mpi_ns : f_.outside.waited_ns) += off_ns;
    if (in_call()) f_.outside.mpi += wall_left_;
  }

  Location& l_;
  Following& f_;
  Location& counted_at_;
  const FollowedUnit& unit_;
  UnitTotals totals_;    ///< of the unit, without what stands for passed iterations
  Ticks wall_left_ = 0;  ///< of what was passed and is in no iteration yet
  Label label_ = no_label;
  IterationRow row_ = {};
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
  if (!first || !is_held(*first) || !first->iterations || !l.following->iterations) return;
  for (std::uint32_t i = 0; i < l.following->iterations->count; ++i) {
    ClusteredLoop& loop = *l.following->iterations->loops[i];
    for (std::uint32_t k = 0; k < first->iterations->count; ++k)
      if (first->iterations->loops[k]->region == loop.region)
        log_absence(l, loop, first->iterations->loops[k]->iterations);
  }
}

}  // namespace refrain::measurement
