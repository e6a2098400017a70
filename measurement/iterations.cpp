#include "measurement/iterations.hpp"

#include <algorithm>
#include <bit>

#include "format/kept_iterations.hpp"
#include "measurement/lifecycle.hpp"
#include "measurement/metrics.hpp"

namespace refrain::measurement {

using clustering::Column;
using clustering::IterationLog;
using clustering::Shape;

namespace {

constexpr auto region_columns = path_columns<NodeKind::Region>();
constexpr auto function_columns = path_columns<NodeKind::Function>();
constexpr auto marked_columns = path_columns<NodeKind::Marked>();

enum ShapeOf : std::uint8_t { visited_call, unvisited_call, function, marked };

/// The columns of a kind of node with those of the extra metrics. `scale`: each of these scales with its metric; else
/// they are 0.
struct WithExtras {
  Column column[clustering::max_columns];
  std::size_t count;

  WithExtras(std::span<const Column> own, bool scale) : count(own.size() + extra_metrics.count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto metric = static_cast<std::uint8_t>(logged_count + i - own.size());
      column[i] = i < own.size() ? own[i] : scale ? Column{metric} : Column{clustering::no_metric, false};
    }
  }
  std::span<const Column> view() const { return {column, count}; }
};
static_assert(std::max(region_columns.size(), function_columns.size()) + max_extra_metrics <= clustering::max_columns);

/// Only samples of single iterations are kept: exact counts are reconstructed well.
constexpr Shape sample_shapes[] = {
    {true, clustering::no_column, {}},
    {true, clustering::no_column, {}},
    {false, column_of(MetricId::Samples), function_columns},
    {true, clustering::no_column, {}},
};

constexpr std::size_t log_block_bytes = 32768;

/// The number of iterations of a loop that are logged one by one; a power of two. At 32 bytes each, and half as many
/// more for each doubling, the log of one loop takes half of the limit after 14 doublings: 2 * 10^9 iterations by
/// default.
std::uint64_t iterations_kept_whole() { return std::bit_floor(iteration_settings.log_limit / 512); }

/// The number of further levels by which logs are thinned: one when half of the limit is used up, two when half of the
/// rest is, and so on.
unsigned further_levels() {
  const std::uint64_t limit = iteration_settings.log_limit, used = logged_bytes.load(std::memory_order_relaxed);
  if (used <= limit / 2) [[likely]]
    return 0;
  if (used >= limit) return format::highest_level;
  return static_cast<unsigned>(std::bit_width(limit / (limit - used))) - 1;
}

bool create(ClusteredLoop& loop) {
  clustering::Precision columns[max_logged];
  for (std::size_t i = 0; i < logged_in_use(); ++i)  // extra metrics are logged exactly
    columns[i] = i < logged_count ? format::row_of(format::logged_metrics[i]).log : clustering::Precision::Exact;
  const WithExtras calls(region_columns, true), others(region_columns, false), functions(function_columns, true);
  const Shape shapes[] = {
      {true, column_of(MetricId::Visits), calls.view()},
      {false, clustering::no_column, others.view()},  // bytes of a receive that was posted in an earlier iteration
      {false, column_of(MetricId::Samples), functions.view()},
      {true, column_of(MetricId::MarkVisits), marked_columns},
  };
  static_assert(std::size(sample_shapes) == std::size(shapes));
  const clustering::Settings settings{.equivalence = iteration_settings.equivalence,
                                      .max_clusters = iteration_settings.clusters,
                                      .memory_limit = iteration_settings.memory,
                                      .metrics = logged_in_use(),
                                      .shapes = shapes};
  if (!loop.clusterer.create(settings) ||
      !loop.log.create({columns, logged_in_use()}, log_block_bytes, iterations_kept_whole()))
    return false;
  const std::size_t bytes = iteration_settings.sample_memory;
  if (bytes > 0) (void)loop.samples.create(sample_shapes, bytes);  // optional
  return true;
}

void close_log_block(Location& counted_at, ClusteredLoop& loop) {
  const auto block = loop.log.closed();
  if (!loop.closed.append(block.data(), block.size())) counted_at.count_loss(Loss::IterationUnclustered);
  logged_bytes.fetch_add(block.size(), std::memory_order_relaxed);
  loop.log.start_block();
}

/// Calls append(), which appends to the log of the loop; closes the block in progress if that does not take it.
template <class Append>
void append_to_log(Location& counted_at, ClusteredLoop& loop, const Append& append) {
  while (append() != IterationLog::Appended::Yes) close_log_block(counted_at, loop);
}

/// The columns of MPI call paths that are summed for the row of an iteration are contiguous.
constexpr std::size_t first_summed = column_of(MetricId::MessagesSent),
                      summed = columns_of(NodeKind::Region) - first_summed;
static_assert([] {
  for (std::size_t c = 0; c < columns_of(NodeKind::Region); ++c)
    if ((format::row_of(format::column_metrics<NodeKind::Region>[c]).source.from == format::MetricSource::Paths) !=
        (c >= first_summed))
      return false;
  return true;
}());

constexpr auto summed_indices = [] {
  std::array<std::size_t, summed> indices{};
  for (std::size_t i = 0; i < summed; ++i)
    indices[i] = logged_index(format::column_metrics<NodeKind::Region>[first_summed + i]);
  return indices;
}();

constexpr std::size_t squares_index = logged_index(MetricId::WeightSquared);
constexpr double square_as_logged = 1e6;  ///< ns^2 to a unit of MetricId::WeightSquared, us^2

/// Logs an iteration without a cluster. It keeps its number, which may have been published.
void log_without_cluster(Location& l, ClusteredLoop& loop) {
  count_unit_outside(l);
  const IterationRow nothing = {};
  log_iteration(l, loop, clustering::no_label, row_in_use(nothing), {});
  leave_out_own_work(l);
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

void log_absence(Location& counted_at, ClusteredLoop& loop, std::uint64_t number) {
  if (number <= loop.iterations) return;
  IterationLog& log = loop.log;
  append_to_log(counted_at, loop, [&] { return log.append_run(log.next(), number - log.next(), format::Run::Absent); });
  loop.samples.append_empty(number - loop.iterations);
  loop.iterations = number;
}

void log_iteration(Location& counted_at, ClusteredLoop& loop, clustering::Label label,
                   std::span<const std::int64_t> row, std::span<const clustering::TouchedPath> paths) {
  loop.log.thin_further(further_levels());
  append_to_log(counted_at, loop, [&] { return loop.log.append(loop.iterations, label, row); });
  if (label != clustering::no_label) loop.slowest.add(loop.iterations, row[logged_index(MetricId::Wall)]);
  const bool is_of_cluster = label != clustering::no_label && label != format::passed_label;
  if (is_of_cluster && loop.log.keeps_last()) loop.clusterer.note_logged();
  loop.samples.append(paths);
  ++loop.iterations;
}

bool log_passed(Location& counted_at, ClusteredLoop& loop, std::uint64_t number, NodeId call, platform::Ticks wall,
                std::int64_t cpu_ns, std::int64_t off_ns) {
  if (number < loop.iterations || !loop.passed.add(number, call, wall, cpu_ns, off_ns)) return false;
  log_absence(counted_at, loop, number);
  const bool in_call = call != root_node;
  if (!loop.log.keeps_each(number)) {
    IterationRow row = {};
    row[logged_index(MetricId::Wall)] = wall;
    row[logged_index(MetricId::Cpu)] = cpu_ns;
    row[logged_index(in_call ? MetricId::OffCpuMpi : MetricId::WaitedForCore)] = off_ns;
    if (in_call) row[logged_index(MetricId::Time)] = wall;
    log_iteration(counted_at, loop, format::passed_label, row_in_use(row), {});
    return true;
  }
  const format::Run what = in_call ? format::Run::PassedInCall : format::Run::Passed;
  append_to_log(counted_at, loop, [&] { return loop.log.append_run(number, 1, what); });
  loop.slowest.add(number, wall);
  loop.samples.append({});
  ++loop.iterations;
  return true;
}

bool PassedIterations::add_at(std::uint32_t node, std::int64_t value, std::int64_t off_cpu_ns) {
  if (node >= by_node.size() && !by_node.resize(std::size_t{node} + 1)) return false;
  by_node[node].value += value;
  by_node[node].off_cpu_ns += off_cpu_ns;
  return true;
}

bool PassedIterations::add(std::uint64_t number, NodeId call, platform::Ticks wall, std::int64_t cpu_ns,
                           std::int64_t off_ns) {
  const bool in_call = call != root_node;
  if (in_call && !add_at(static_cast<std::uint32_t>(call), wall, off_ns)) return false;
  const auto before = static_cast<double>(count);
  const double inverse = count > 0 ? 1 / before : 0, weight = before / (before + 1);
  const auto add_value = [&](MetricId metric, std::int64_t UnitTotals::*total, std::int64_t value) {
    const std::size_t at = logged_index(metric);
    const double apart = static_cast<double>(value) - static_cast<double>(totals.*total) * inverse;
    squares[at] += apart * apart * weight;
    minimum[at] = count > 0 && minimum[at] < value ? minimum[at] : value;
    maximum[at] = count > 0 && maximum[at] > value ? maximum[at] : value;
    totals.*total += value;
  };
  add_value(MetricId::Wall, &UnitTotals::wall, wall);
  add_value(MetricId::Cpu, &UnitTotals::cpu_ns, cpu_ns);
  add_value(MetricId::Time, &UnitTotals::mpi, in_call ? wall : 0);
  add_value(MetricId::WaitedForCore, &UnitTotals::waited_ns, in_call ? 0 : off_ns);
  add_value(MetricId::OffCpuMpi, &UnitTotals::off_mpi_ns, in_call ? off_ns : 0);
  Sum& sum = sums[in_call];
  ++sum.count;
  sum.wall += wall;
  sum.cpu_ns += cpu_ns;
  sum.off_ns += off_ns;
  if (count++ == 0) first = number;
  last = number;
  return true;
}

ClusteredLoop* loop_of(Iterations*& all, RegionId region) {
  if (!all) all = platform::make_on_pages<Iterations>();
  if (!all) return nullptr;
  for (std::uint32_t i = 0; i < all->count; ++i)
    if (all->loops[i]->region == region) return all->loops[i];
  if (all->count == Iterations::max_loops) return nullptr;
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

std::span<const std::int64_t> fill_row(const UnitTotals& unit, const std::int64_t* extras,
                                       std::span<const clustering::TouchedPath> paths, IterationRow& row) {
  for (const auto& column : format::total_columns) row[column.logged] = unit.*column.total;
  row[squares_index] = static_cast<std::int64_t>(unit.weight_user_squared / square_as_logged);
  std::int64_t sums[summed] = {};
  for (const auto& [id, shape, values] : paths)
    if (shape == visited_call || shape == unvisited_call)
      for (std::size_t i = 0; i < summed; ++i) sums[i] += values[first_summed + i];
  for (std::size_t i = 0; i < summed; ++i) row[summed_indices[i]] = sums[i];
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) row[logged_count + i] = extras ? extras[i] : 0;
  return row_in_use(row);
}

UnitTotals totals_of(std::span<const std::int64_t> row) {
  UnitTotals unit;
  for (const auto& column : format::total_columns) unit.*column.total = row[column.logged];
  unit.weight_user_squared = static_cast<double>(row[squares_index]) * square_as_logged;
  return unit;
}

clustering::Label cluster_iteration(Location& counted_at, ClusteredLoop& loop, std::uint64_t iteration,
                                    const clustering::IterationProfile& profile) {
  const clustering::Label label = loop.clusterer.add(iteration, profile);
  for (const clustering::MadeMerge& merge : loop.clusterer.merges())  // a reader needs those of labels in the log
    if (merge.is_logged && !loop.merges.push_back(merge)) counted_at.count_loss(Loss::IterationUnclustered);
  loop.clusterer.drained();
  return label;
}

void spill_if_much(Location& location, const ClusteredLoop& loop) {
  if (loop.closed.size() + loop.merges.size() * sizeof(clustering::Merge) > iteration_settings.log_memory)
    lifecycle.spill_wanted(location);
}

void take_iteration(Location& l) {
  Iterations& all = *l.iterations;
  ClusteredLoop& loop = *all.current;
  if (l.stopped && l.unit.wall == 0) return log_without_cluster(l, loop);  // the measurement was stopped throughout
  IterationRow values;
  std::span<const std::int64_t> row;
  clustering::Label label = clustering::no_label;
  all.touched.clear();
  if (all.touched.reserve(l.tree.touched().size())) {
    for (const std::uint32_t id : l.tree.touched()) {
      const Node& node = l.tree.node(NodeId{id});
      const std::int64_t* of_node = l.tree.values_of(node);
      (void)all.touched.push_back({clustering::PathId{id}, shape_of(node.kind, of_node), of_node});
    }
    row = fill_row(l.unit, l.extra ? l.extra->unit : nullptr, all.touched.view(), values);
    label = cluster_iteration(l, loop, loop.iterations, {row, all.touched.view()});
  }
  if (label == clustering::no_label) {
    l.count_loss(Loss::IterationUnclustered);
    return log_without_cluster(l, loop);
  }
  log_iteration(l, loop, label, row, all.touched.view());
  start_unit_anew(l);
  spill_if_much(l, loop);  // its cost is charged to the new unit
  leave_out_own_work(l);
}

}  // namespace refrain::measurement
