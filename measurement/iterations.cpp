#include "measurement/iterations.hpp"

#include <new>

#include "measurement/lifecycle.hpp"
#include "measurement/metrics.hpp"

namespace refrain::measurement {

using clustering::Column;
using clustering::IterationLog;
using clustering::Shape;

IterationSettings iteration_settings;

namespace {

template <class T>
constexpr std::size_t pages_of = (sizeof(T) + 4095) & ~std::size_t{4095};

template <class T>
T* make() {
  void* memory = platform::map_pages(pages_of<T>);
  return memory ? new (memory) T : nullptr;
}
template <class T>
void unmake(T* object) {
  if (!object) return;
  object->~T();
  platform::unmap_pages(object, pages_of<T>);
}

constexpr Column follows(Overall metric, bool in_distance = true) {
  return {static_cast<std::uint8_t>(metric), in_distance};
}

// In the order of metrics.def.
constexpr Column region_columns[] = {follows(Overall::MpiCalls),         follows(Overall::Mpi),
                                     follows(Overall::MessagesSent),     follows(Overall::BytesSent),
                                     follows(Overall::MessagesReceived), follows(Overall::BytesReceived)};
constexpr Column function_columns[] = {follows(Overall::TicksUser), follows(Overall::WeightUser, false)};
constexpr Column marked_columns[] = {{clustering::no_metric, false}, follows(Overall::Wall, false)};
static_assert(std::size(region_columns) == columns_of(NodeKind::Region));
static_assert(std::size(function_columns) == columns_of(NodeKind::Function));
static_assert(std::size(marked_columns) == columns_of(NodeKind::Marked));

enum ShapeOf : std::uint8_t { visited_call, unvisited_call, function, marked };
constexpr Shape shapes[] = {
    {true, column_of(MetricId::Visits), region_columns},
    {false, clustering::no_column, region_columns},  // bytes of a receive that was posted in an earlier iteration
    {false, clustering::no_column, function_columns},
    {false, column_of(MetricId::MarkVisits), marked_columns},
};

std::uint8_t shape_of(NodeKind kind, const std::int64_t* values) {
  switch (kind) {
    case NodeKind::Region: return values[column_of(MetricId::Visits)] ? visited_call : unvisited_call;
    case NodeKind::Marked: return marked;
    default: return function;
  }
}

bool create(ClusteredLoop& loop) {
  clustering::OverallColumn columns[overall_count];
  for (std::size_t i = 0; i < overall_count; ++i)
    columns[i] = {overall_table[i].in_distance, overall_table[i].precision};
  clustering::Settings settings;
  settings.algorithm = iteration_settings.algorithm;
  settings.equivalence = iteration_settings.equivalence;
  settings.max_clusters = iteration_settings.clusters;
  settings.memory_limit = iteration_settings.memory;
  settings.overall = columns;
  settings.shapes = shapes;
  return loop.clusterer.create(settings) && loop.log.create(columns);
}

void log_iteration(Location& l, ClusteredLoop& loop, clustering::Label label,
                   const std::int64_t (&row)[overall_count]) {
  if (loop.log.append(loop.iterations, label, row) == IterationLog::Appended::Yes) return;
  const auto block = loop.log.closed();
  if (!loop.closed.append(block.data(), block.size())) l.count_loss(Loss::IterationUnclustered);
  loop.log.start_block();
  (void)loop.log.append(loop.iterations, label, row);
}

}  // namespace

ClusteredLoop* loop_of(Location& location, RegionId region) {
  if (!location.iterations) location.iterations = make<Iterations>();
  Iterations* all = location.iterations;
  if (!all) return nullptr;
  for (std::uint32_t i = 0; i < all->count; ++i)
    if (all->loops[i]->region == region) return all->loops[i];
  if (all->count == Iterations::most_loops) return nullptr;
  auto* loop = make<ClusteredLoop>();
  if (!loop) return nullptr;
  loop->region = region;
  if (!create(*loop)) {
    unmake(loop);
    return nullptr;
  }
  all->loops[all->count++] = loop;
  return loop;
}

void fill_overall(const UnitTotals& unit, const CallTree& tree, std::int64_t (&row)[overall_count]) {
  const auto put = [&](Overall metric, std::int64_t value) { row[static_cast<std::size_t>(metric)] = value; };
  put(Overall::Wall, unit.wall);
  put(Overall::Mpi, unit.mpi);
  put(Overall::Own, unit.own);
  put(Overall::Cpu, unit.cpu_ns);
  put(Overall::MpiCalls, unit.mpi_calls);
  put(Overall::TicksUser, unit.ticks_user);
  put(Overall::TicksMpi, unit.ticks_mpi);
  put(Overall::TicksLost, unit.ticks_lost);
  put(Overall::WeightUser, unit.weight_user_ns);
  put(Overall::WeightMpi, unit.weight_mpi_ns);
  put(Overall::WeightUserSquared, static_cast<std::int64_t>(unit.weight_user_squared * 1e-6));
  std::int64_t traffic[4] = {};
  for (const std::uint32_t id : tree.touched()) {
    const Node& node = tree.node(NodeId{id});
    if (node.kind != NodeKind::Region) continue;
    const std::int64_t* values = tree.values_of(node);
    for (std::size_t i = 0; i < 4; ++i) traffic[i] += values[column_of(MetricId::MessagesSent) + i];
  }
  put(Overall::MessagesSent, traffic[0]);
  put(Overall::BytesSent, traffic[1]);
  put(Overall::MessagesReceived, traffic[2]);
  put(Overall::BytesReceived, traffic[3]);
}

UnitTotals totals_of(std::span<const std::int64_t> row) {
  const auto get = [&](Overall metric) { return row[static_cast<std::size_t>(metric)]; };
  UnitTotals unit{};
  unit.wall = get(Overall::Wall);
  unit.cpu_ns = get(Overall::Cpu);
  unit.mpi = get(Overall::Mpi);
  unit.own = get(Overall::Own);
  unit.mpi_calls = get(Overall::MpiCalls);
  unit.ticks_user = get(Overall::TicksUser);
  unit.ticks_mpi = get(Overall::TicksMpi);
  unit.ticks_lost = get(Overall::TicksLost);
  unit.weight_user_ns = get(Overall::WeightUser);
  unit.weight_mpi_ns = get(Overall::WeightMpi);
  unit.weight_user_squared = static_cast<double>(get(Overall::WeightUserSquared)) * 1e6;
  return unit;
}

void take_iteration(Location& l) {
  Iterations& all = *l.iterations;
  ClusteredLoop& loop = *all.current;
  std::int64_t row[overall_count];
  fill_overall(l.unit, l.tree, row);
  all.touched.clear();
  bool listed = all.touched.reserve(l.tree.touched().size());
  for (const std::uint32_t id : l.tree.touched()) {
    if (!listed) break;
    const Node& node = l.tree.node(NodeId{id});
    const std::int64_t* values = l.tree.values_of(node);
    listed = all.touched.push_back({clustering::PathId{id}, shape_of(node.kind, values), values});
  }
  clustering::Added added{.label = clustering::no_label, .error = clustering::Error::NoMemory};
  if (listed) added = loop.clusterer.add(loop.iterations, {row, all.touched.view()});
  if (added.error != clustering::Error::None) {
    l.count_loss(Loss::IterationUnclustered);
    settle_unit(l);
    return;
  }
  const auto merges = loop.clusterer.merges();
  if (!loop.merges.append(merges.data(), merges.size())) l.count_loss(Loss::IterationUnclustered);
  loop.clusterer.drained();
  log_iteration(l, loop, added.label, row);
  ++loop.iterations;
  if (loop.closed.size() + loop.merges.size() * sizeof(clustering::Merge) > iteration_settings.log_memory)
    if (lifecycle.spill_wanted) lifecycle.spill_wanted(l);
  l.unit = {};
  l.tree.start_anew();
}

void destroy_iterations(Location& location) {
  if (!location.iterations) return;
  for (std::uint32_t i = 0; i < location.iterations->count; ++i) unmake(location.iterations->loops[i]);
  unmake(location.iterations);
  location.iterations = nullptr;
}

}  // namespace refrain::measurement
