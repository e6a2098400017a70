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

constexpr Column follows(Overall metric, bool in_distance = true) {
  return {static_cast<std::uint8_t>(metric), in_distance};
}
/// Bytes follow the number of messages on some call paths, their size on others.
constexpr Column follows_both(Overall metric, Overall second, bool in_distance = true) {
  return {static_cast<std::uint8_t>(metric), in_distance, static_cast<std::uint8_t>(second)};
}

// In the order of metrics.def. Messages repeat calls, and samples their weights: they do not take part in comparing.
constexpr Column region_columns[] = {follows(Overall::MpiCalls),
                                     follows(Overall::Mpi),
                                     follows(Overall::MessagesSent, false),
                                     follows_both(Overall::BytesSent, Overall::MessagesSent),
                                     follows(Overall::MessagesReceived, false),
                                     follows_both(Overall::BytesReceived, Overall::MessagesReceived),
                                     follows(Overall::MessagesCompleted, false),
                                     follows_both(Overall::BytesCompleted, Overall::MessagesCompleted, false),
                                     follows(Overall::BytesRead),
                                     follows(Overall::BytesWritten)};
constexpr Column function_columns[] = {follows(Overall::TicksUser, false), follows(Overall::WeightUser)};
constexpr Column marked_columns[] = {{clustering::no_metric, false}, follows(Overall::Wall, false)};
static_assert(std::size(region_columns) == columns_of(NodeKind::Region));
static_assert(std::size(function_columns) == columns_of(NodeKind::Function));
static_assert(std::size(marked_columns) == columns_of(NodeKind::Marked));

enum ShapeOf : std::uint8_t { visited_call, unvisited_call, function, marked };

/// The columns of a kind of node with those of the extra metrics.
struct WithExtras {
  Column column[clustering::max_columns];
  std::size_t count;

  template <std::size_t n>
  WithExtras(const Column (&own)[n], Column (*extra)(std::size_t)) : count(n + extra_metrics.count) {
    static_assert(n + most_extra_metrics <= clustering::max_columns);
    for (std::size_t i = 0; i < count; ++i) column[i] = i < n ? own[i] : extra(i - n);
  }
  std::span<const Column> view() const { return {column, count}; }
};
Column follows_extra(std::size_t metric) { return {static_cast<std::uint8_t>(overall_count + metric)}; }
Column is_zero(std::size_t) { return {clustering::no_metric, false}; }

/// Of single iterations only what was sampled is kept: what is counted exactly is reconstructed well.
constexpr Shape sample_shapes[] = {
    {true, clustering::no_column, {}},
    {true, clustering::no_column, {}},
    {false, column_of(MetricId::Samples), function_columns},
    {true, clustering::no_column, {}},
};

bool create(ClusteredLoop& loop) {
  clustering::OverallColumn columns[most_overall];
  for (std::size_t i = 0; i < overall_in_use(); ++i)
    columns[i] = i < overall_count ? clustering::OverallColumn{overall_table[i].in_distance, overall_table[i].precision}
                                   : clustering::OverallColumn{true, clustering::Precision::Exact};
  const WithExtras calls(region_columns, follows_extra), others(region_columns, is_zero);
  const WithExtras functions(function_columns, follows_extra);
  const Shape shapes[] = {
      {true, column_of(MetricId::Visits), calls.view()},
      {false, clustering::no_column, others.view()},  // bytes of a receive that was posted in an earlier iteration
      {false, column_of(MetricId::Samples), functions.view()},
      {true, column_of(MetricId::MarkVisits), marked_columns},
  };
  static_assert(std::size(sample_shapes) == std::size(shapes));
  const std::span<const clustering::OverallColumn> overall{columns, overall_in_use()};
  clustering::Settings settings;
  settings.algorithm = iteration_settings.algorithm;
  settings.equivalence = iteration_settings.equivalence;
  settings.max_clusters = iteration_settings.clusters;
  settings.memory_limit = iteration_settings.memory;
  settings.overall = overall;
  settings.shapes = shapes;
  if (!loop.clusterer.create(settings) || !loop.log.create(overall)) return false;
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

void log_iteration(Location& counted_at, ClusteredLoop& loop, clustering::Label label,
                   std::span<const std::int64_t> row, std::span<const clustering::TouchedPath> paths) {
  if (loop.log.append(loop.iterations, label, row) != IterationLog::Appended::Yes) {
    const auto block = loop.log.closed();
    if (!loop.closed.append(block.data(), block.size())) counted_at.count_loss(Loss::IterationUnclustered);
    loop.log.start_block();
    (void)loop.log.append(loop.iterations, label, row);
  }
  loop.samples.append(paths);
  ++loop.iterations;
}

bool log_again(ClusteredLoop& loop, platform::Ticks wall) {
  constexpr auto column = static_cast<std::size_t>(Overall::Wall);
  static_assert(overall_table[column].precision == clustering::Precision::Exact);
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

struct OverallTotal {
  Overall metric;
  std::int64_t UnitTotals::*total;
};
constexpr OverallTotal overall_totals[] = {{Overall::Wall, &UnitTotals::wall},
                                           {Overall::Mpi, &UnitTotals::mpi},
                                           {Overall::Own, &UnitTotals::own},
                                           {Overall::Cpu, &UnitTotals::cpu_ns},
                                           {Overall::MpiCalls, &UnitTotals::mpi_calls},
                                           {Overall::TicksUser, &UnitTotals::ticks_user},
                                           {Overall::TicksMpi, &UnitTotals::ticks_mpi},
                                           {Overall::TicksLost, &UnitTotals::ticks_lost},
                                           {Overall::WeightUser, &UnitTotals::weight_user_ns},
                                           {Overall::WeightMpi, &UnitTotals::weight_mpi_ns}};
static_assert(std::size(overall_totals) == std::size(unit_total_table));

/// What is added up over the call paths to MPI, in the order of their columns.
constexpr Overall traffic_totals[] = {Overall::MessagesSent,  Overall::BytesSent,         Overall::MessagesReceived,
                                      Overall::BytesReceived, Overall::MessagesCompleted, Overall::BytesCompleted,
                                      Overall::BytesRead,     Overall::BytesWritten};
constexpr std::size_t first_traffic = column_of(MetricId::MessagesSent);
static_assert(first_traffic + std::size(traffic_totals) == columns_of(NodeKind::Region));

constexpr double square_of_overall = 1e6;  ///< ns^2 to a unit of Overall::WeightUserSquared, us^2

}  // namespace

std::span<const std::int64_t> fill_overall(const UnitTotals& unit, const std::int64_t* extras,
                                           std::span<const clustering::TouchedPath> paths, OverallValues& row) {
  const auto put = [&](Overall metric, std::int64_t value) { row[static_cast<std::size_t>(metric)] = value; };
  for (const auto [metric, total] : overall_totals) put(metric, unit.*total);
  put(Overall::WeightUserSquared, static_cast<std::int64_t>(unit.weight_user_squared / square_of_overall));
  std::int64_t traffic[std::size(traffic_totals)] = {};
  for (const auto& [id, shape, values] : paths)
    if (shape == visited_call || shape == unvisited_call)
      for (std::size_t i = 0; i < std::size(traffic); ++i) traffic[i] += values[first_traffic + i];
  for (std::size_t i = 0; i < std::size(traffic); ++i) put(traffic_totals[i], traffic[i]);
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) row[overall_count + i] = extras ? extras[i] : 0;
  return overall_row(row);
}

UnitTotals totals_of(std::span<const std::int64_t> row) {
  const auto get = [&](Overall metric) { return row[static_cast<std::size_t>(metric)]; };
  UnitTotals unit;
  for (const auto [metric, total] : overall_totals) unit.*total = get(metric);
  unit.weight_user_squared = static_cast<double>(get(Overall::WeightUserSquared)) * square_of_overall;
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
    if (lifecycle.spill_wanted) lifecycle.spill_wanted(location);
}

namespace {

/// An iteration without a cluster. Its number stays its own: others may have been told of it.
void log_without_cluster(Location& l, ClusteredLoop& loop) {
  settle_unit(l);
  const OverallValues nothing = {};
  log_iteration(l, loop, clustering::no_label, overall_row(nothing), {});
  leave_out_own_work(l);
}

}  // namespace

void take_iteration(Location& l) {
  Iterations& all = *l.iterations;
  ClusteredLoop& loop = *all.current;
  if (l.stopped && l.unit.wall == 0) return log_without_cluster(l, loop);  // none of it was measured
  OverallValues values;
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
    row = fill_overall(l.unit, l.extra ? l.extra->unit : nullptr, all.touched.view(), values);
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
