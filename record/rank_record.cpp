#include "record/rank_record.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "measurement/call_durations.hpp"
#include "measurement/event_log.hpp"
#include "measurement/follower.hpp"
#include "measurement/followers.hpp"
#include "measurement/locations.hpp"
#include "measurement/off_cpu.hpp"
#include "measurement/regions.hpp"
#include "measurement/stopping.hpp"
#include "measurement/unseen_threads.hpp"
#include "platform/threads.hpp"

namespace refrain::record {

using measurement::ClusteredLoop;
using measurement::Inside;
using measurement::Location;

std::int64_t* RankRecordBuilder::add_row(std::uint32_t node, std::size_t columns) {
  std::int64_t* const row = copies_.room<std::int64_t>(columns);
  return row && rows_.push_back({node, row}) ? row : nullptr;
}

bool RankRecordBuilder::add_unit(const measurement::UnitTotals& totals, const std::int64_t* extra, std::int32_t loop,
                                 std::int32_t cluster) {
  UnitRecord unit{};
  static_cast<measurement::UnitTotals&>(unit) = totals;
  unit.loop = loop;
  unit.cluster = cluster;
  unit.values = take(rows_);
  cpu_ns_ += totals.cpu_ns;
  if (extra) std::copy_n(extra, record_.extra_metrics.size(), unit.extra);
  if (sampler_.is_on_wall_clock) {
    const double seconds =
        static_cast<double>(totals.wall) / platform::ticks_per_second(record_.first_anchor, record_.last_anchor);
    unit.cpu_ns = static_cast<std::int64_t>(seconds * 1e9);
  }
  return units_.push_back(unit);
}

bool RankRecordBuilder::add_outside(const Location& l, const measurement::UnitTotals& in_progress,
                                    const std::optional<CallInProgress>& call) {
  const std::span<const Node> nodes = l.tree.nodes();
  for (std::uint32_t id = 0; id < nodes.size(); ++id) {
    const Node& n = nodes[id];
    const std::int64_t* row = l.tree.values_of(n);
    const bool in_call = call && call->node == measurement::NodeId{id};
    if (!row && !in_call) continue;
    const std::int64_t* outside = row ? l.tree.outside_values_of(n) : nullptr;
    const std::size_t columns = measurement::CallTree::width(n.kind);
    std::int64_t* out = add_row(id, columns);
    if (!out) return false;
    for (std::size_t i = 0; row && i < columns; ++i) out[i] = row[i] + outside[i];
    if (!in_call) continue;
    ++out[column_of(measurement::MetricId::Visits)];
    out[column_of(measurement::MetricId::Time)] += call->time;
    out[column_of(measurement::MetricId::OffCpuMpi)] += call->off_ns;
  }
  measurement::UnitTotals totals = l.outside;
  totals += in_progress;
  std::int64_t extra[measurement::max_extra_metrics] = {};
  if (const measurement::ExtraReadings* r = l.extra)
    for (std::size_t i = 0; i < record_.extra_metrics.size(); ++i)
      extra[i] = r->outside[i] + r->unit[i] + r->last[i] - r->begin[i];
  return add_unit(totals, extra, -1, -1);
}

/// Adds the time for which MPI_Pcontrol has stopped the measurement.
bool RankRecordBuilder::add_stopped(const Location& l, platform::Ticks end, std::int64_t cpu_end_ns) {
  const measurement::StoppedTime time = measurement::stopped_until(l, end, cpu_end_ns);
  if (time.wall == 0) return true;
  measurement::UnitTotals totals{};
  totals.wall = time.wall;
  totals.cpu_ns = time.cpu_ns;
  return add_unit(totals, nullptr, -1, measurement::stopped_unit);
}

bool RankRecordBuilder::push_cluster(clustering::ClusterView cluster) {
  cluster.sum = {};  // it is in the unit
  cluster.minimum = kept(cluster.minimum);
  cluster.maximum = kept(cluster.maximum);
  cluster.squares = kept(cluster.squares);
  return clusters_.push_back(cluster);
}

bool RankRecordBuilder::add_cluster(const ClusteredLoop& loop, std::uint32_t index, std::int32_t loop_index) {
  const clustering::ClusterView view = loop.clusterer.cluster(index);
  const bool added = loop.clusterer.for_each_path(index, [&](const clustering::PathRow& row) {
    std::int64_t* out = add_row(static_cast<std::uint32_t>(row.path), row.columns);
    if (out) std::copy_n(row.sum, row.columns, out);
    return out != nullptr;
  });
  return added && push_cluster(view) &&
         add_unit(measurement::totals_of(view.sum), view.sum.data() + measurement::logged_count, loop_index,
                  static_cast<std::int32_t>(index));
}

/// Slopes belong to classes, and every cluster of a class has all of them.
bool RankRecordBuilder::add_slopes(const ClusteredLoop& loop) {
  platform::GrowableArray<bool> seen;
  if (!seen.resize(loop.clusterer.class_count())) return false;
  for (std::uint32_t k = 0; k < loop.clusterer.cluster_count(); ++k) {
    const clustering::ClusterView cluster = loop.clusterer.cluster(k);
    if (cluster.overflow || cluster.class_index >= seen.size() || seen[cluster.class_index]) continue;
    seen[cluster.class_index] = true;
    const bool added = loop.clusterer.for_each_path(k, [&](const clustering::PathRow& row) {
      if (!row.has_slopes || row.columns != measurement::CallTree::width(NodeKind::Region)) return true;
      SlopeRecord slope{cluster.class_index, static_cast<std::uint32_t>(row.path), {}, {}};
      std::copy_n(row.slope, std::size(slope.first), slope.first);
      std::copy_n(row.second_slope, std::size(slope.second), slope.second);
      return slopes_.push_back(slope);
    });
    if (!added) return false;
  }
  return true;
}

namespace {

/// The class of iterations without an MPI call or region; a new class if there is none.
std::uint32_t class_without_keys(const ClusteredLoop& loop) {
  for (std::uint32_t k = 0; k < loop.clusterer.cluster_count(); ++k) {
    const clustering::ClusterView cluster = loop.clusterer.cluster(k);
    bool has_keys = false;  // paths that are keys come first
    (void)loop.clusterer.for_each_path(k, [&](const clustering::PathRow& row) {
      has_keys = row.has_slopes;
      return false;
    });
    if (!cluster.overflow && !has_keys) return cluster.class_index;
  }
  return loop.clusterer.class_count();
}

}  // namespace

/// Adds the iterations that a thread has passed as one more cluster, so that everything measured is in some cluster.
bool RankRecordBuilder::add_passed(const Location& l, const ClusteredLoop& loop, std::int32_t loop_index) {
  const measurement::PassedIterations& passed = loop.passed;
  const std::size_t metrics = measurement::logged_in_use();
  clustering::ClusterView cluster{};
  cluster.label = format::passed_label;
  cluster.class_index = class_without_keys(loop);
  cluster.members = passed.count;
  cluster.first = cluster.exemplar = passed.first;
  cluster.last = passed.last;
  cluster.minimum = {passed.minimum, metrics};
  cluster.maximum = {passed.maximum, metrics};
  cluster.squares = {passed.squares, metrics};
  if (!push_cluster(cluster)) return false;
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
  return add_unit(passed.totals, nullptr, loop_index, static_cast<std::int32_t>(loop.clusterer.cluster_count()));
}

bool RankRecordBuilder::add_loop(const Location& l, ClusteredLoop& loop, std::int32_t index) {
  for (std::uint32_t i = 0; i < loop.clusterer.cluster_count(); ++i)
    if (!add_cluster(loop, i, index)) return false;
  if ((loop.passed.count > 0 && !add_passed(l, loop, index)) || !add_slopes(loop)) return false;
  const auto names = measurement::user_region_names();
  const auto name = static_cast<std::size_t>(loop.region) - measurement::first_user_region;
  LoopRecord record{};
  record.name = name < names.size() ? names[name] : "";
  record.iterations = loop.iterations;
  record.clusters = take(clusters_);
  record.merges = kept(loop.merges.view());
  record.log = kept(loop.closed.view());
  record.log_tail = kept(loop.log.closed());
  record.samples = kept(loop.samples.data());
  record.references = kept(loop.samples.references());
  record.kept = loop.samples.kept();
  record.sampled = loop.samples.count();
  record.slopes = take(slopes_);
  std::ranges::copy(loop.passed.sums, record.passed);
  record.thinned_from = loop.log.thinned_from();
  record.level = loop.log.level();
  record.slowest = loop.slowest;
  return loops_.push_back(record);
}

/// Adds the mean times, including the part of each call and tick that is not timed.
void RankRecordBuilder::add_own_times(const Location& l, LocationRecord& location) const {
  for (std::size_t i = 0; i < measurement::own_time_count; ++i) location.own_times[i] = mean_of(l.own_times[i]);
  const auto add = [&](measurement::OwnTime of, double outside) {
    auto& cost = location.own_times[static_cast<std::size_t>(of)];
    if (cost.timed > 0) cost.mean = std::max(cost.mean + outside, 0.0);
  };
  add(measurement::OwnTime::Call, outside_call_);
  add(measurement::OwnTime::Tick, outside_tick_);
}

bool RankRecordBuilder::add(const Location& l) {
  measurement::UnitTotals in_progress = l.stopped ? l.while_stopped.unit : l.unit;
  platform::Ticks end = l.end;
  std::optional<CallInProgress> call;
  std::optional<waits::DurationTable::Entry> cut_call;
  std::int64_t cpu_end = l.cpu_begin_ns;
  const bool own = &l == measurement::own_location();
  const Inside inside = own ? l.inside.load(std::memory_order_acquire) : measurement::wait_outside_bookkeeping(l);
  const bool has_thread = inside != Inside::Closed;
  if (threads_ != Threads::Ended && has_thread) {
    end = platform::now();
    // By the thread's id, because the calling thread may be a helper of that thread.
    cpu_end = platform::thread_cpu_ns_of(l.os_thread_id);
  }
  if (threads_ != Threads::Ended && has_thread && !l.stopped) {
    const measurement::OffCpuTimes off = measurement::off_cpu_since_look(l, inside == Inside::Call);
    if (inside == Inside::Call && threads_ != Threads::Cut) {
      // The call is left out, and so is the CPU time since it was last charged.
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
      end = l.call.charged_until;  // the call is left out, with all time since it was last charged
    }
    in_progress.wall += end - l.begin;
    if (cpu_end > l.cpu_begin_ns) in_progress.cpu_ns += cpu_end - l.cpu_begin_ns;
  }
  if (!add_outside(l, in_progress, call) || !add_stopped(l, end, cpu_end)) return false;
  const measurement::Iterations* iterations = l.iterations;
  const std::uint32_t loops = iterations ? iterations->count : 0;
  for (std::uint32_t i = 0; i < loops; ++i)
    if (!add_loop(l, *iterations->loops[i], static_cast<std::int32_t>(i))) return false;

  LocationRecord location{};
  location.thread = l.thread;
  location.os_thread_id = l.os_thread_id;
  std::memcpy(location.name, l.name, sizeof location.name);
  location.begin = l.first_begin;
  location.end = end;
  location.nodes = l.tree.nodes();
  location.units = take(units_);
  location.loops = take(loops_);
  std::memcpy(location.losses, l.losses, sizeof location.losses);
  if (l.thread == 0)
    location.losses[static_cast<std::size_t>(measurement::Loss::ModuleTableFull)] = platform::modules_left_out();
  if (l.in_use.load(std::memory_order_relaxed))
    location.losses[static_cast<std::size_t>(measurement::Loss::CpuTimeWithoutTicks)] +=
        sampler_.cpu_time_without_ticks(l);
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
    if (cut_call && entry.node == cut_call->node && entry.bin == cut_call->bin) {
      entry.durations.add(cut_call->durations);
      cut_call.reset();
    }
    if (!durations_.push_back(entry)) return false;
  }
  if (cut_call && !durations_.push_back(*cut_call)) return false;
  location.durations = take(durations_);
  location.arena_bytes = static_cast<std::int64_t>(l.tree.bytes_in_use());
  return locations_.push_back(location);
}

bool RankRecordBuilder::copy_modules() {
  platform::Module module;
  for (std::size_t i = 0; platform::copy_module(i, module); ++i)
    if (!modules_.push_back(module)) return false;
  record_.modules = modules_.view();
  return true;
}

const measurement::Stretches* RankRecordBuilder::copy_of(const measurement::Stretches* stretches) {
  return stretches ? copies_.of(std::span(stretches, 1)).data() : nullptr;
}

/// Adds a location that is held, or that is held for this purpose.
bool RankRecordBuilder::add_held(Location& l) {
  copies_are_needed_ = false;
  if (threads_ != Threads::Going) return (threads_ != Threads::Ended && !measurement::is_held(l)) || add(l);
  const bool is_own = &l == measurement::own_location();
  const measurement::FollowerLock lock(l);
  if (!lock || (!is_own && !measurement::pause_one(l))) return false;
  measurement::bring_up_to_date(l);
  // The loops of a follower are filled by the first thread, and by its own thread once that begins a loop.
  copies_are_needed_ = !is_own || measurement::is_follower(l);
  const bool added = add(l);
  if (!is_own) measurement::resume_others();
  return added;
}

bool RankRecordBuilder::build(const RankRecord& frame, const Calibration& calibration, const Sampler& sampler,
                              Threads threads) {
  record_ = frame;
  record_.call_cost = calibration.call;
  record_.tick_cost = calibration.tick;
  outside_call_ = calibration.call.median - calibration.timed_call;
  outside_tick_ = calibration.tick.median - calibration.timed_tick;
  threads_ = threads;
  sampler_ = sampler;
  record_.mpi_call_columns = measurement::mpi_call_columns();
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
  record_.locations = locations_.view();
  // Comes last, like the modules, so that all regions the locations refer to are there. Other threads may add more.
  record_.user_regions = measurement::user_region_names();
  return copy_modules();
}

}  // namespace refrain::record
