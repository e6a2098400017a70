#include "measurement/iterations.hpp"

#include "measurement/following.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/metrics.hpp"

namespace refrain::measurement {

using clustering::Column;
using clustering::IterationLog;
using clustering::Shape;

IterationSettings iteration_settings;

namespace {

constexpr auto region_columns = path_columns<NodeKind::Region>();
constexpr auto function_columns = path_columns<NodeKind::Function>();
constexpr auto marked_columns = path_columns<NodeKind::Marked>();

enum ShapeOf : std::uint8_t { visited_call, unvisited_call, function, marked };

/// The columns of a kind of node with those of the extra metrics.
struct WithExtras {
  Column column[clustering::max_columns];
  std::size_t count;

  template <std::size_t n>
  WithExtras(const std::array<Column, n>& own, Column (*extra)(std::size_t)) : count(n + extra_metrics.count) {
    static_assert(n + most_extra_metrics <= clustering::max_columns);
    for (std::size_t i = 0; i < count; ++i) column[i] = i < n ? own[i] : extra(i - n);
  }
  std::span<const Column> view() const { return {column, count}; }
};
Column follows_extra(std::size_t metric) { return {static_cast<std::uint8_t>(logged_count + metric)}; }
Column is_zero(std::size_t) { return {clustering::no_metric, false}; }

/// Of single iterations only what was sampled is kept: what is counted exactly is reconstructed well.
constexpr Shape sample_shapes[] = {
    {true, clustering::no_column, {}},
    {true, clustering::no_column, {}},
    {false, column_of(MetricId::Samples), function_columns},
    {true, clustering::no_column, {}},
};

bool create(ClusteredLoop& loop) {
  clustering::Precision columns[most_logged];
  for (std::size_t i = 0; i < logged_in_use(); ++i)  // those that were asked for exactly
    columns[i] = i < logged_count ? format::row_of(format::logged_metrics[i]).log : clustering::Precision::Exact;
  const WithExtras calls(region_columns, follows_extra), others(region_columns, is_zero);
  const WithExtras functions(function_columns, follows_extra);
  const Shape shapes[] = {
      {true, column_of(MetricId::Visits), calls.view()},
      {false, clustering::no_column, others.view()},  // bytes of a receive that was posted in an earlier iteration
      {false, column_of(MetricId::Samples), functions.view()},
      {true, column_of(MetricId::MarkVisits), marked_columns},
  };
  static_assert(std::size(sample_shapes) == std::size(shapes));
  clustering::Settings settings;
  settings.equivalence = iteration_settings.equivalence;
  settings.max_clusters = iteration_settings.clusters;
  settings.memory_limit = iteration_settings.memory;
  settings.metrics = logged_in_use();
  settings.shapes = shapes;
  if (!loop.clusterer.create(settings) || !loop.log.create({columns, logged_in_use()})) return false;
  const std::size_t bytes = iteration_settings.sample_memory;
  if (bytes > 0) (void)loop.samples.create(sample_shapes, bytes);  // one can do without
  return true;
}

}  // namespace

std::span<const Column> mpi_call_columns() { return region_columns; }

std::uint8_t shape_of(NodeKind kind, const std::int64_t* values) {
  switch (kind) {
    case NodeKind::Region: return values[column_of(MetricId::Visits)] ? visited_call : unvisited_call;
    case NodeKind::Marked: return marked;
    default: return function;
  }
}

namespace {

/// Fewer iterations without a thread than this are logged one by one: a block of their own would take more room.
constexpr std::uint64_t least_absence = 32;

void close_log_block(Location& counted_at, ClusteredLoop& loop) {
  const auto block = loop.log.closed();
  if (!loop.closed.append(block.data(), block.size())) counted_at.count_loss(Loss::IterationUnclustered);
  loop.log.start_block();
}

}  // namespace

void log_absence(Location& counted_at, ClusteredLoop& loop, std::uint64_t number) {
  if (number <= loop.iterations) return;
  const std::uint64_t count = number - loop.iterations;
  if (count < least_absence) {
    constexpr IterationRow nothing = {};
    while (loop.iterations < number) log_iteration(counted_at, loop, clustering::no_label, row_in_use(nothing), {});
    return;
  }
  close_log_block(counted_at, loop);
  const auto block = loop.log.absence(loop.iterations, count);
  if (!loop.closed.append(block.data(), block.size())) counted_at.count_loss(Loss::IterationUnclustered);
  loop.samples.append_empty(count);
  loop.iterations = number;
}

void log_iteration(Location& counted_at, ClusteredLoop& loop, clustering::Label label,
                   std::span<const std::int64_t> row, std::span<const clustering::TouchedPath> paths) {
  if (loop.log.append(loop.iterations, label, row) != IterationLog::Appended::Yes) {
    close_log_block(counted_at, loop);
    (void)loop.log.append(loop.iterations, label, row);
  }
  loop.samples.append(paths);
  ++loop.iterations;
}

bool log_again(ClusteredLoop& loop, platform::Ticks wall) {
  constexpr std::size_t column = format::logged_place(MetricId::Wall);
  static_assert(format::row_of(MetricId::Wall).log == clustering::Precision::Exact);
  if (loop.log.append_again(loop.iterations, column, wall) != IterationLog::Appended::Yes) return false;
  loop.samples.append({});
  ++loop.iterations;
  return true;
}

ClusteredLoop* loop_of(Iterations*& all, RegionId region) {
  if (!all) all = platform::make_on_pages<Iterations>();
  if (!all) return nullptr;
  for (std::uint32_t i = 0; i < all->count; ++i)
    if (all->loops[i]->region == region) return all->loops[i];
  if (all->count == Iterations::most_loops) return nullptr;
  auto* loop = platform::make_on_pages<ClusteredLoop>();
  if (!loop) return nullptr;
  loop->region = region;
  if (!create(*loop)) {
    platform::unmake_on_pages(loop);
    return nullptr;
  }
  all->loops[all->count++] = loop;
  return loop;
}

const Iterations* iterations_of(const Location& l) {
  return l.iterations || !l.following ? l.iterations : l.following->iterations;
}
Iterations* iterations_of(Location& l) {
  return const_cast<Iterations*>(iterations_of(static_cast<const Location&>(l)));
}

namespace {

/// What is added up over the call paths to MPI: columns side by side.
constexpr std::size_t first_summed = column_of(MetricId::MessagesSent),
                      summed = columns_of(NodeKind::Region) - first_summed;
static_assert([] {
  for (std::size_t c = 0; c < columns_of(NodeKind::Region); ++c)
    if ((format::row_of(format::column_metrics<NodeKind::Region>[c]).source.from == format::MetricSource::Paths) !=
        (c >= first_summed))
      return false;
  return true;
}());

constexpr auto summed_places = [] {
  std::array<std::size_t, summed> places{};
  for (std::size_t i = 0; i < summed; ++i)
    places[i] = format::logged_place(format::column_metrics<NodeKind::Region>[first_summed + i]);
  return places;
}();

constexpr std::size_t squares_place = format::logged_place(MetricId::WeightSquared);
constexpr double square_as_logged = 1e6;  ///< ns^2 to a unit of MetricId::WeightSquared, us^2

}  // namespace

std::span<const std::int64_t> fill_row(const UnitTotals& unit, const std::int64_t* extras,
                                       std::span<const clustering::TouchedPath> paths, IterationRow& row) {
  for (const auto& column : format::total_columns) row[column.logged] = unit.*column.total;
  row[squares_place] = static_cast<std::int64_t>(unit.weight_user_squared / square_as_logged);
  std::int64_t sums[summed] = {};
  for (const auto& [id, shape, values] : paths)
    if (shape == visited_call || shape == unvisited_call)
      for (std::size_t i = 0; i < summed; ++i) sums[i] += values[first_summed + i];
  for (std::size_t i = 0; i < summed; ++i) row[summed_places[i]] = sums[i];
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) row[logged_count + i] = extras ? extras[i] : 0;
  return row_in_use(row);
}

UnitTotals totals_of(std::span<const std::int64_t> row) {
  UnitTotals unit;
  for (const auto& column : format::total_columns) unit.*column.total = row[column.logged];
  unit.weight_user_squared = static_cast<double>(row[squares_place]) * square_as_logged;
  return unit;
}

clustering::Label cluster_iteration(Location& counted_at, ClusteredLoop& loop, std::uint64_t iteration,
                                    const clustering::IterationProfile& profile) {
  const clustering::Added added = loop.clusterer.add(iteration, profile);
  if (added.error != clustering::Error::None) return clustering::no_label;
  const auto merges = loop.clusterer.merges();
  if (!loop.merges.append(merges.data(), merges.size())) counted_at.count_loss(Loss::IterationUnclustered);
  loop.clusterer.drained();
  return added.label;
}

void spill_if_much(Location& location, const ClusteredLoop& loop) {
  if (loop.closed.size() + loop.merges.size() * sizeof(clustering::Merge) > iteration_settings.log_memory)
    lifecycle.spill_wanted(location);
}

namespace {

/// An iteration without a cluster. Its number stays its own: others may have been told of it.
void log_without_cluster(Location& l, ClusteredLoop& loop) {
  settle_unit(l);
  const IterationRow nothing = {};
  log_iteration(l, loop, clustering::no_label, row_in_use(nothing), {});
  leave_out_own_work(l);
}

}  // namespace

void take_iteration(Location& l) {
  Iterations& all = *l.iterations;
  ClusteredLoop& loop = *all.current;
  if (l.stopped && l.unit.wall == 0) return log_without_cluster(l, loop);  // none of it was measured
  IterationRow values;
  std::span<const std::int64_t> row;
  all.touched.clear();
  bool listed = all.touched.reserve(l.tree.touched().size());
  for (const std::uint32_t id : l.tree.touched()) {
    if (!listed) break;
    const Node& node = l.tree.node(NodeId{id});
    const std::int64_t* of_node = l.tree.values_of(node);
    listed = all.touched.push_back({clustering::PathId{id}, shape_of(node.kind, of_node), of_node});
  }
  clustering::Label label = clustering::no_label;
  if (listed) {
    row = fill_row(l.unit, l.extra ? l.extra->unit : nullptr, all.touched.view(), values);
    label = cluster_iteration(l, loop, loop.iterations, {row, all.touched.view()});
  }
  if (label == clustering::no_label) {
    l.count_loss(Loss::IterationUnclustered);
    return log_without_cluster(l, loop);
  }
  log_iteration(l, loop, label, row, all.touched.view());
  start_unit_anew(l);
  spill_if_much(l, loop);  // which charges the new unit
  leave_out_own_work(l);
}

}  // namespace refrain::measurement
