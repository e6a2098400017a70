#include "runtime/rank_record.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "measurement/boundaries.hpp"
#include "measurement/call_durations.hpp"
#include "measurement/event_log.hpp"
#include "measurement/followers.hpp"
#include "measurement/locations.hpp"
#include "measurement/off_cpu.hpp"
#include "measurement/regions.hpp"
#include "measurement/stopping.hpp"
#include "measurement/unseen_threads.hpp"
#include "platform/threads.hpp"
#include "sampling/sampler.hpp"

namespace refrain::runtime {

using measurement::ClusteredLoop;
using measurement::Inside;
using measurement::Location;
using measurement::NodeKind;

std::uint64_t RankRecordBuilder::key_of(const measurement::Node& node) const {
  const bool named = node.kind == NodeKind::Region || node.kind == NodeKind::Marked;
  // The names of the program's own regions follow those of MPI.
  if (!named || node.key < measurement::first_user_region) return node.key;
  return node.key - measurement::first_user_region + first_user_name_;
}

std::int64_t* RankRecordBuilder::add_row(std::uint32_t node, std::size_t columns) {
  const std::size_t place = numbers_.size();
  if (!numbers_.resize(place + columns) || !values_.push_back({node, nullptr}) || !value_places_.push_back(place))
    return nullptr;
  return &numbers_[place];
}

bool RankRecordBuilder::add_unit(const measurement::UnitTotals& totals, const std::int64_t* extra, std::int32_t loop,
                                 std::int32_t cluster, std::size_t first_value) {
  record::UnitRecord unit{};
  unit.loop = loop;
  unit.cluster = cluster;
  static_cast<measurement::UnitTotals&>(unit) = totals;
  cpu_ns_ += totals.cpu_ns;
  std::copy_n(extra, record_.extra_metrics.size(), unit.extra);
  if (wall_clock_weights_) {
    const double seconds =
        static_cast<double>(totals.wall) / platform::ticks_per_second(record_.first_anchor, record_.last_anchor);
    unit.cpu_ns = static_cast<std::int64_t>(seconds * 1e9);
  }
  return units_.push_back(unit) && unit_values_.push_back({first_value, values_.size() - first_value});
}

bool RankRecordBuilder::add_outside(const Location& l, const measurement::UnitTotals& in_progress,
                                    const std::optional<CallInProgress>& call) {
  const std::size_t first_value = values_.size();
  for (std::uint32_t id = 0; id < l.tree.size(); ++id) {
    const measurement::Node& n = l.tree.node(measurement::NodeId{id});
    const std::int64_t* row = l.tree.values_of(n);
    const bool in_call = call && call->node == measurement::NodeId{id};
    if (!row && !in_call) continue;
    const std::int64_t* settled = row ? l.tree.settled_of(n) : nullptr;
    const std::size_t columns = measurement::CallTree::width(n.kind);
    std::int64_t* out = add_row(id, columns);
    if (!out) return false;
    for (std::size_t i = 0; row && i < columns; ++i) out[i] = row[i] + settled[i];
    if (!in_call) continue;
    ++out[column_of(measurement::MetricId::Visits)];
    out[column_of(measurement::MetricId::Time)] += call->time;
    out[column_of(measurement::MetricId::OffCpuMpi)] += call->off_ns;
  }
  measurement::UnitTotals totals = l.settled;
  totals += in_progress;
  std::int64_t extra[measurement::most_extra_metrics] = {};
  if (const measurement::ExtraReadings* r = l.extra)
    for (std::size_t i = 0; i < record_.extra_metrics.size(); ++i)
      extra[i] = r->settled[i] + r->unit[i] + r->last[i] - r->begin[i];
  return add_unit(totals, extra, -1, -1, first_value);
}

/// What MPI_Pcontrol has left out.
bool RankRecordBuilder::add_stopped(const Location& l, platform::Ticks end, std::int64_t cpu_end_ns) {
  const measurement::StoppedTime time = measurement::stopped_until(l, end, cpu_end_ns);
  if (time.wall == 0) return true;
  measurement::UnitTotals totals{};
  totals.wall = time.wall;
  totals.cpu_ns = time.cpu_ns;
  constexpr std::int64_t nothing[measurement::most_extra_metrics] = {};
  return add_unit(totals, nothing, -1, measurement::stopped_unit, values_.size());
}

bool RankRecordBuilder::add_cluster(const ClusteredLoop& loop, std::uint32_t index, std::int32_t loop_index) {
  const clustering::ClusterView view = loop.clusterer.cluster(index);
  const auto number = [](std::uint64_t iteration) { return static_cast<std::int64_t>(iteration); };
  if (!clusters_.push_back({static_cast<std::uint32_t>(view.label), view.class_index, view.overflow,
                            number(view.members), number(view.first), number(view.last), number(view.exemplar),
                            kept(view.minimum), kept(view.maximum), kept(view.squares)}))
    return false;
  const std::size_t first_value = values_.size();
  const bool added = loop.clusterer.for_each_path(index, [&](const clustering::PathRow& row) {
    std::int64_t* out = add_row(static_cast<std::uint32_t>(row.path), row.columns);
    if (out) std::copy_n(row.sum, row.columns, out);
    return out != nullptr;
  });
  return added && add_unit(measurement::totals_of(view.sum), view.sum.data() + measurement::logged_count, loop_index,
                           static_cast<std::int32_t>(index), first_value);
}

/// The slopes belong to classes: one cluster of each class has them all.
bool RankRecordBuilder::add_slopes(const ClusteredLoop& loop) {
  constexpr std::size_t columns = measurement::columns_of(NodeKind::Region);
  platform::GrowableArray<bool> seen;
  if (!seen.resize(loop.clusterer.class_count())) return false;
  for (std::uint32_t k = 0; k < loop.clusterer.cluster_count(); ++k) {
    const clustering::ClusterView cluster = loop.clusterer.cluster(k);
    if (cluster.overflow || cluster.class_index >= seen.size() || seen[cluster.class_index]) continue;
    seen[cluster.class_index] = true;
    const bool added = loop.clusterer.for_each_path(k, [&](const clustering::PathRow& row) {
      if (!row.has_slopes || row.columns != measurement::CallTree::width(NodeKind::Region)) return true;
      return slopes_.push_back({cluster.class_index, static_cast<std::uint32_t>(row.path), nullptr, nullptr}) &&
             slope_values_.append(row.slope, columns) && slope_values_.append(row.second_slope, columns);
    });
    if (!added) return false;
  }
  return true;
}

namespace {

/// The class of the iterations without an MPI call or region; a new one when there are none.
std::uint32_t class_without_keys(const ClusteredLoop& loop) {
  for (std::uint32_t k = 0; k < loop.clusterer.cluster_count(); ++k) {
    const clustering::ClusterView cluster = loop.clusterer.cluster(k);
    bool has_keys = false;  // they come first
    (void)loop.clusterer.for_each_path(k, [&](const clustering::PathRow& row) {
      has_keys = row.has_slopes;
      return false;
    });
    if (!cluster.overflow && !has_keys) return cluster.class_index;
  }
  return loop.clusterer.class_count();
}

}  // namespace

/// The iterations that a thread has passed are one more cluster, so everything that was measured is in some cluster.
bool RankRecordBuilder::add_passed(const Location& l, const ClusteredLoop& loop, std::int32_t loop_index) {
  const measurement::PassedIterations& passed = loop.passed;
  const auto first = static_cast<std::int64_t>(passed.first);
  const std::size_t metrics = measurement::logged_in_use();
  if (!clusters_.push_back({static_cast<std::uint32_t>(format::passed_label), class_without_keys(loop), false,
                            static_cast<std::int64_t>(passed.count), first, static_cast<std::int64_t>(passed.last),
                            first, kept(std::span<const std::int64_t>(passed.minimum, metrics)),
                            kept(std::span<const std::int64_t>(passed.maximum, metrics)),
                            kept(std::span<const double>(passed.squares, metrics))}))
    return false;
  const std::size_t first_value = values_.size();
  for (std::uint32_t node = 0; node < passed.by_node.size(); ++node) {
    const auto& [value, off_cpu_ns] = passed.by_node[node];
    if (value == 0) continue;
    const NodeKind kind = l.tree.node(measurement::NodeId{node}).kind;
    std::int64_t* out = add_row(node, measurement::CallTree::width(kind));
    if (!out) return false;
    const bool is_call = kind == NodeKind::Region;
    out[column_of(is_call ? measurement::MetricId::Time : measurement::MetricId::Weight)] = value;
    if (is_call) out[column_of(measurement::MetricId::OffCpuMpi)] = off_cpu_ns;
  }
  constexpr std::int64_t nothing[measurement::most_extra_metrics] = {};
  return add_unit(passed.totals, nothing, loop_index, static_cast<std::int32_t>(loop.clusterer.cluster_count()),
                  first_value);
}

bool RankRecordBuilder::add_loop(const Location& l, ClusteredLoop& loop, std::int32_t index) {
  const auto names = measurement::user_region_names();
  const auto name = static_cast<std::size_t>(loop.region) - measurement::first_user_region;
  const bool any_passed = loop.passed.count > 0;
  const Extent clusters{clusters_.size(), loop.clusterer.cluster_count() + any_passed};
  for (std::uint32_t i = 0; i < loop.clusterer.cluster_count(); ++i)
    if (!add_cluster(loop, i, index)) return false;
  if (any_passed && !add_passed(l, loop, index)) return false;
  record::LoopRecord record{};
  record.name = name < names.size() ? names[name] : "";
  record.iterations = static_cast<std::int64_t>(loop.iterations);
  record.merges = kept(loop.merges.view());
  record.log = kept(loop.closed.view());
  record.log_tail = kept(loop.log.closed());
  if (!loop.samples.data().empty()) {
    record.samples = {kept(loop.samples.data()), kept(loop.samples.references()),
                      loop.samples.kept(), loop.samples.count(),
                      NodeKind::Function,  measurement::column_of(measurement::MetricId::Samples)};
  }
  for (std::size_t i = 0; i < std::size(record.passed); ++i) {
    const auto& sum = loop.passed.sums[i];
    record.passed[i] = {static_cast<std::int64_t>(sum.count), sum.wall, sum.cpu_ns, sum.off_ns};
  }
  record.thinned_from = static_cast<std::int64_t>(loop.log.thinned_from());
  record.level = loop.log.level();
  record.slowest_count = loop.slowest.count;
  for (std::size_t i = 0; i < loop.slowest.count; ++i)
    record.slowest[i] = {static_cast<std::int64_t>(loop.slowest.one[i].number), loop.slowest.one[i].wall};
  const std::size_t first_slope = slopes_.size();
  return add_slopes(loop) && loops_.push_back(record) && loop_clusters_.push_back(clusters) &&
         loop_slopes_.push_back({first_slope, slopes_.size() - first_slope});
}

/// The mean times, with what each call and tick costs before and after it is timed.
void RankRecordBuilder::add_own_times(const Location& l, record::LocationRecord& location) const {
  for (std::size_t i = 0; i < measurement::own_time_count; ++i) location.own_times[i] = mean_of(l.own_times[i]);
  const auto add = [&](measurement::OwnTime of, double outside) {
    auto& cost = location.own_times[static_cast<std::size_t>(of)];
    if (cost.timed > 0) cost.mean = std::max(cost.mean + outside, 0.0);
  };
  add(measurement::OwnTime::Call, outside_call_);
  add(measurement::OwnTime::Tick, outside_tick_);
}

bool RankRecordBuilder::add(const Location& l) {
  LocationExtents extents{
      {nodes_.size(), l.tree.size()}, {units_.size(), 0}, {loops_.size(), 0}, {durations_.size(), 0}};
  if (!nodes_.reserve(nodes_.size() + l.tree.size())) return false;
  for (std::uint32_t id = 0; id < l.tree.size(); ++id) {
    const measurement::Node& n = l.tree.node(measurement::NodeId{id});
    if (!nodes_.push_back({n.parent, n.generation, key_of(n), n.kind})) return false;
  }
  measurement::UnitTotals in_progress = l.stopped ? l.while_stopped.unit : l.unit;
  platform::Ticks end = l.end;
  std::optional<CallInProgress> call;
  std::optional<waits::DurationTable::Entry> cut_call;
  std::int64_t cpu_end = l.cpu_begin_ns;
  const bool own = &l == measurement::own_location();
  const Inside inside = own ? l.inside.load(std::memory_order_acquire) : measurement::place_outside_bookkeeping(l);
  const bool has_thread = inside != Inside::Closed;
  if (threads_ != Threads::Ended && has_thread) {
    end = platform::now();
    // By the number of the thread: the calling one may be a helper of it.
    cpu_end = platform::thread_cpu_ns_of(l.os_thread_id);
  }
  if (threads_ != Threads::Ended && has_thread && !l.stopped) {
    const measurement::OffCpuTimes off = measurement::off_cpu_since_look(l, inside == Inside::Call);
    if (inside == Inside::Call && threads_ != Threads::Cut) {
      // The CPU time since the call was charged last is left out with the call.
      const double ticks_per_ns = platform::ticks_per_second(record_.first_anchor, record_.last_anchor) * 1e-9;
      const auto call_ns = static_cast<std::int64_t>(static_cast<double>(end - l.call.charged_until) / ticks_per_ns);
      cpu_end -= std::clamp<std::int64_t>(call_ns - off.mpi, 0, std::max<std::int64_t>(cpu_end - l.cpu_begin_ns, 0));
    } else {
      in_progress.off_mpi_ns += off.mpi;
    }
    in_progress.waited_ns += off.waited;
    if (inside == Inside::Call && threads_ == Threads::Cut) {
      call = CallInProgress{l.call.node, measurement::uncharged_time(l.call, end), off.in_call};
      in_progress.mpi += call->time;
      ++in_progress.mpi_calls;
      cut_call = measurement::duration_of_open_call(l, end);
    } else if (inside == Inside::Call) {
      end = l.call.charged_until;  // the call is left out, with all time since it was charged last
    }
    in_progress.wall += end - l.begin;
    if (cpu_end > l.cpu_begin_ns) in_progress.cpu_ns += cpu_end - l.cpu_begin_ns;
  }
  if (!add_outside(l, in_progress, call) || !add_stopped(l, end, cpu_end)) return false;
  const measurement::Iterations* iterations = measurement::iterations_of(l);
  const std::uint32_t loops = iterations ? iterations->count : 0;
  for (std::uint32_t i = 0; i < loops; ++i)
    if (!add_loop(l, *iterations->loops[i], static_cast<std::int32_t>(i))) return false;
  extents.units.count = units_.size() - extents.units.first;
  extents.loops.count = loops;

  record::LocationRecord location{};
  location.thread = l.thread;
  location.os_thread_id = l.os_thread_id;
  std::memcpy(location.name, l.name, sizeof location.name);
  location.begin = l.first_begin;
  location.end = end;
  std::memcpy(location.losses, l.losses, sizeof location.losses);
  if (l.thread == 0)
    location.losses[static_cast<std::size_t>(measurement::Loss::ModuleTableFull)] = platform::modules_left_out();
  if (l.in_use.load(std::memory_order_relaxed))
    location.losses[static_cast<std::size_t>(measurement::Loss::CpuTimeWithoutTicks)] +=
        sampling::cpu_time_without_ticks(l);
  if (call) ++location.losses[static_cast<std::size_t>(measurement::Loss::ThreadStillRunning)];
  add_own_times(l, location);
  if (const measurement::EventLog* log = l.events) {
    location.events = measurement::counts_of_events(*log);
    const events::MatchedSample& sample = log->matched;
    const bool copied = threads_ == Threads::Going && !own;
    location.matched = {sample.is_on(), sample.level(), sample.lost(), sample.begin_time(),
                        copied ? copies_.of(sample.messages()) : sample.messages()};
  }
  for (waits::DurationTable::Entry entry : l.durations.view()) {
    if (entry.node == 0) continue;
    if (cut_call && entry.node == cut_call->node && entry.of == cut_call->of) {
      entry.durations.add(cut_call->durations);
      cut_call.reset();
    }
    if (!durations_.push_back(entry)) return false;
  }
  if (cut_call && !durations_.push_back(*cut_call)) return false;
  extents.durations.count = durations_.size() - extents.durations.first;
  location.arena_bytes = static_cast<std::int64_t>(l.tree.bytes_in_use());
  return locations_.push_back(location) && extents_.push_back(extents);
}

void RankRecordBuilder::point() {
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i].values = &numbers_[value_places_[i]];
  for (std::size_t i = 0; i < units_.size(); ++i)
    units_[i].values = {values_.data() + unit_values_[i].first, unit_values_[i].count};
  constexpr std::size_t columns = measurement::columns_of(NodeKind::Region);
  for (std::size_t i = 0; i < slopes_.size(); ++i) {
    slopes_[i].first = slope_values_.data() + 2 * columns * i;
    slopes_[i].second = slopes_[i].first + columns;
  }
  for (std::size_t i = 0; i < loops_.size(); ++i)
    loops_[i].slopes = slopes_.view().subspan(loop_slopes_[i].first, loop_slopes_[i].count);
  for (std::size_t i = 0; i < loops_.size(); ++i)
    loops_[i].clusters = {clusters_.data() + loop_clusters_[i].first, loop_clusters_[i].count};
  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const LocationExtents& e = extents_[i];
    locations_[i].nodes = {nodes_.data() + e.nodes.first, e.nodes.count};
    locations_[i].units = {units_.data() + e.units.first, e.units.count};
    locations_[i].loops = {loops_.data() + e.loops.first, e.loops.count};
    locations_[i].durations = {durations_.data() + e.durations.first, e.durations.count};
  }
}

/// They are copied last: all code that a location has seen by then can be told. Other threads may add to them.
bool RankRecordBuilder::copy_modules() {
  platform::Module module;
  for (std::size_t i = 0; platform::copy_module(i, module); ++i)
    if (!modules_.push_back(module)) return false;
  record_.modules = modules_.view();
  return true;
}

record::StretchesRecord RankRecordBuilder::copy_of(const record::StretchesRecord& stretches) {
  return {stretches.count, stretches.hash, copies_.of(stretches.classes)};
}

/// Adds a location that is held, or is for this purpose.
bool RankRecordBuilder::add_held(Location& l) {
  copies_are_needed_ = false;
  if (threads_ != Threads::Going) return !is_held(l) || add(l);
  const Location* const own = measurement::own_location();
  const bool is_own = &l == own;
  const measurement::TakenFollower taken(l);
  if (!taken || (!is_own && !measurement::pause_one(l))) return false;
  measurement::bring_up_to_date(l);
  // Those of a thread that follows are filled by the first thread alone.
  const bool by_own = l.iterations ? is_own : own && measurement::is_followed(*own);
  copies_are_needed_ = !by_own;
  const bool added = add(l);
  if (!is_own) measurement::resume_others();
  return added;
}

bool RankRecordBuilder::is_held(const Location& l) const {
  return threads_ == Threads::Ended || measurement::is_held(l);
}

bool RankRecordBuilder::build(const record::RankRecord& frame, const Calibration& calibration, bool wall_clock_weights,
                              Threads threads) {
  record_ = frame;
  record_.call_cost = calibration.call;
  record_.tick_cost = calibration.tick;
  outside_call_ = calibration.call.median - calibration.timed_call;
  outside_tick_ = calibration.tick.median - calibration.timed_tick;
  threads_ = threads;
  wall_clock_weights_ = wall_clock_weights;
  const auto user_names = measurement::user_region_names();  // once: other threads may add to them
  first_user_name_ = frame.region_names.size();
  for (const auto names : {frame.region_names, user_names})
    if (!region_names_.append(names.data(), names.size())) return false;
  record_.region_names = region_names_.view();
  record_.user_regions = user_names;
  record_.follows = measurement::mpi_call_columns();
  record_.extra_metrics = {measurement::extra_metrics.metric, measurement::extra_metrics.count};
  std::size_t count = 0;
  for (const Location* l = measurement::first_location(); l; l = l->next) ++count;
  // The list is newest first; locations are written in the order of their threads.
  for (std::size_t thread = 0; thread < count; ++thread)
    for (Location* l = measurement::first_location(); l; l = l->next)
      if (l->thread == static_cast<std::int32_t>(thread) && l->first_begin && !add_held(*l)) return false;
  if (copies_.failed()) return false;
  if (!locations_.empty() && locations_.size() == count)
    locations_[0].losses[static_cast<std::size_t>(measurement::Loss::UnseenThreads)] =
        measurement::unseen_cpu_ns(cpu_ns_);
  point();
  record_.locations = locations_.view();
  return copy_modules();
}

}  // namespace refrain::runtime
