#include "tests/scale/made_up_rank.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "measurement/locations.hpp"
#include "measurement/regions.hpp"
#include "record/frames.hpp"

namespace refrain::testing {

using measurement::column_of;
using measurement::columns_of;
using measurement::MetricId;
using record::NodeKind;

namespace {

constexpr double ticks_per_ns = 2.5;
constexpr double run_seconds = 3600;
constexpr std::int64_t sample_ns = 10'000'000;  ///< of CPU time: samples of the timer, which weigh the same
constexpr double sample_squared = double{sample_ns} * double{sample_ns};
constexpr double cpu_part = 0.985;                     ///< of the wall time
constexpr double mpi_part = 0.2;                       ///< of an iteration of mean length
constexpr double call_ticks = 130, tick_ticks = 9000;  ///< what Refrain's own work costs
constexpr std::int64_t begin_ticks = 1'000'000'000;
constexpr std::uint64_t largest_taken_back = std::uint64_t{64} << 20;  ///< as record/iteration_file.cpp has it
constexpr std::size_t depth = 9;                                       ///< frames above an MPI function or a sample
constexpr std::size_t widest = std::max(columns_of(NodeKind::Region), columns_of(NodeKind::Function));
constexpr const char* loop_name = "timestep";

struct MpiFunction {
  const char* name;
  bool sends, receives;
};
constexpr MpiFunction mpi_functions[] = {
    {"MPI_Allreduce", true, true}, {"MPI_Irecv", false, true}, {"MPI_Isend", true, false},
    {"MPI_Waitall", false, false}, {"MPI_Send", true, false},  {"MPI_Recv", false, true},
    {"MPI_Bcast", true, true},
};
constexpr std::size_t mpi_function_count = std::size(mpi_functions);

/// None of them is on the machine that makes the report.
struct MadeUpModule {
  const char* path;
  std::uint64_t base;
  bool has_build_id;
};
constexpr std::uint64_t module_bytes = 0x1000'0000;
constexpr MadeUpModule made_up_modules[] = {
    {"/project/solver/bin/solver", 0x5600'0000'0000, true},
    {"/project/solver/lib/libnumerics.so.3", 0x7f10'0000'0000, true},
    {"/project/tools/lib/libplugin.so", 0x7f20'0000'0000, false},
};

void need(bool there, const char* what) {
  if (there) return;
  std::fprintf(stderr, "make_experiment: %s\n", what);
  std::exit(1);
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(value); }

}  // namespace

MadeUpThread::MadeUpThread(const JobSize& size, int variant, int thread)
    : size_(size),
      variant_(variant),
      thread_(thread),
      random_(static_cast<std::uint64_t>(variant * 1009 + thread)),
      iteration_ticks_(run_seconds * 1e9 * ticks_per_ns / static_cast<double>(size.iterations)),
      counted_at_(platform::make_on_pages<measurement::Location>()) {
  make_tree();
  measurement::iteration_settings.clusters = static_cast<std::uint32_t>(size.clusters);
  measurement::iteration_settings.log_limit = std::uint64_t{1} << 60;  // every iteration, however many they are
  loop_ = measurement::loop_of(iterations_, measurement::RegionId{measurement::first_user_region});
  need(counted_at_ && loop_, "no memory");
  node_values_.resize(nodes_.size() * widest);
  numbers_.reserve(static_cast<std::size_t>(size.clusters + 1) * static_cast<std::size_t>(size.paths) * widest);
}

std::uint32_t MadeUpThread::node_below(std::uint32_t parent, NodeKind kind, std::uint64_t key) {
  for (std::size_t i = nodes_.size(); i-- > 1;)
    if (nodes_[i].parent == parent && nodes_[i].kind == kind && nodes_[i].key == key)
      return static_cast<std::uint32_t>(i);
  nodes_.push_back({.key = key, .parent = parent, .kind = kind});
  return static_cast<std::uint32_t>(nodes_.size() - 1);
}

/// Branches evenly from one frame down to a frame for each call path. The first thread has MPI calls.
void MadeUpThread::make_tree() {
  nodes_.push_back({.kind = NodeKind::Root});
  const double paths = size_.paths;
  double call_shares = 0, work_shares = 0;
  for (int i = 0; i < size_.paths; ++i) {
    std::uint32_t at = 0;
    for (std::size_t level = 0; level < depth; ++level) {
      const double width = std::round(std::pow(paths, static_cast<double>(level) / (depth - 1)));
      const auto place = static_cast<std::uint64_t>(i * width / paths);
      // Some call sites are this variant's own: no two ranks do quite the same.
      const bool own = level + 1 == depth && i % 50 == 7;
      const std::uint64_t site = place * 32 + (own ? static_cast<std::uint64_t>(variant_ + 1) : 0);
      const std::uint64_t base = made_up_modules[level > 4 ? place % 2 : level == 0 && thread_ > 0 ? 2 : 0].base;
      at = node_below(at, NodeKind::Frame, base + 0x1000 + level * 0x10'0000 + site);
    }
    if (thread_ == 0 && i % 3 == 0) {
      const auto function = static_cast<std::size_t>(i / 3) % mpi_function_count;
      const double share = 1.0 / (1 + i % 17);
      const auto often = whole(1 + iteration_ticks_ / (ticks_per_ns * 1e8));  // longer iterations have more calls
      call_shares += share;
      calls_.push_back({node_below(at, NodeKind::Region, function), (1 + i % 4) * often, share, 64 << i % 12,
                        mpi_functions[function].sends, mpi_functions[function].receives});
    } else {
      const std::uint64_t address = made_up_modules[i % 2].base + 0x80'0000 + static_cast<std::uint64_t>(i) * 64;
      work_shares += 1.0 / (1 + i % 5);
      work_.push_back({node_below(at, NodeKind::Function, address), work_shares});
    }
  }
  const double scale = (1 + 0.03 * variant_) * mpi_part * iteration_ticks_ / call_shares;
  for (Call& call : calls_) call.ticks *= scale;
  for (Work& work : work_) work.up_to /= work_shares;
}

/// Compared with the mean: a slow drift, noise, and an iteration of output now and then.
double MadeUpThread::length_of(std::int64_t iteration) {
  const double run = static_cast<double>(iteration) / static_cast<double>(size_.iterations);
  const double noise = std::uniform_real_distribution(-0.05, 0.05)(random_);
  return (1 + 0.3 * std::sin(run * 20 + variant_) + noise) * (iteration % 97 == 50 ? 1.6 : 1);
}

void MadeUpThread::add_calls(double length, std::int64_t phase, Unit& unit) {
  for (const Call& call : calls_) {
    std::int64_t* values = &node_values_[call.node * widest];
    std::fill_n(values, columns_of(NodeKind::Region), 0);
    const auto random = static_cast<double>(random_() >> 40) * 0x1p-24;
    const std::int64_t bytes = call.visits * call.bytes * (4 + phase) / 4;
    values[column_of(MetricId::Visits)] = call.visits;
    values[column_of(MetricId::Time)] = whole(call.ticks * length * (0.6 + 0.8 * random));
    if (call.sends) {
      values[column_of(MetricId::MessagesSent)] = call.visits;
      values[column_of(MetricId::BytesSent)] = bytes;
    }
    if (call.receives) {
      values[column_of(MetricId::MessagesReceived)] = call.visits;
      values[column_of(MetricId::BytesReceived)] = bytes;
    }
    unit.mpi += values[column_of(MetricId::Time)];
    unit.mpi_calls += call.visits;
    touched_.push_back({clustering::PathId{call.node}, measurement::shape_of(NodeKind::Region, values), values});
  }
}

void MadeUpThread::add_samples(Unit& unit) {
  samples_due_ += static_cast<double>(unit.cpu_ns) / double{sample_ns};
  const double in_mpi = static_cast<double>(unit.mpi) / static_cast<double>(unit.wall);
  std::uniform_real_distribution<double> share;
  for (; samples_due_ >= 1; --samples_due_) {
    if (share(random_) < in_mpi) {
      ++unit.ticks_mpi;
      unit.weight_mpi_ns += sample_ns;
      continue;
    }
    ++unit.ticks_user;
    unit.weight_user_ns += sample_ns;
    unit.weight_user_squared += sample_squared;
    const Work& work = *std::ranges::lower_bound(work_, share(random_), {}, &Work::up_to);
    std::int64_t* values = &node_values_[work.node * widest];
    if (values[column_of(MetricId::Samples)]++ == 0)
      touched_.push_back({clustering::PathId{work.node}, measurement::shape_of(NodeKind::Function, values), values});
    values[column_of(MetricId::Weight)] += sample_ns;
  }
}

/// `phase`: what is sent grows with it.
MadeUpThread::Unit MadeUpThread::live_through(double length, std::int64_t phase) {
  for (const clustering::TouchedPath& path : touched_)
    std::fill_n(&node_values_[static_cast<std::size_t>(path.path) * widest], widest, 0);
  touched_.clear();
  Unit unit{};
  add_calls(length, phase, unit);
  unit.own = whole(2500 * (1 + length));
  const double scale = (1 + 0.03 * variant_) * length * (calls_.empty() ? 1 : 1 - mpi_part);
  unit.wall = unit.mpi + unit.own + whole(iteration_ticks_ * scale);
  unit.cpu_ns = whole(static_cast<double>(unit.wall) / ticks_per_ns * cpu_part);
  add_samples(unit);
  end_ += unit.wall;
  mpi_calls_ += unit.mpi_calls;
  samples_ += unit.ticks_user + unit.ticks_mpi;
  return unit;
}

/// As record/iteration_file.cpp does.
void MadeUpThread::spill(platform::Bytes& spilled) {
  using format::FrameKind;
  need(append_frame(FrameKind::Log, thread_, 0, loop_->closed.view(), compressor_, spilled) &&
           append_frame(FrameKind::Merges, thread_, 0, std::as_bytes(loop_->merges.view()), compressor_, spilled),
       "no memory");
  loop_->closed.clear();
  loop_->merges.clear();
}

/// What comes before the loop and after it touches every call path, too.
void MadeUpThread::live_outside() {
  Unit unit = live_through(30e9 * ticks_per_ns / iteration_ticks_, 0);
  for (const Work& work : work_) {
    std::int64_t* values = &node_values_[work.node * widest];
    if (values[column_of(MetricId::Samples)] > 0) continue;
    touched_.push_back({clustering::PathId{work.node}, 0, values});
    values[column_of(MetricId::Samples)] = 1;
    values[column_of(MetricId::Weight)] = sample_ns;
    ++unit.ticks_user;
    unit.weight_user_ns += sample_ns;
    unit.weight_user_squared += sample_squared;
  }
  record::UnitRecord record{};
  static_cast<Unit&>(record) = unit;
  record.loop = record.cluster = -1;
  auto& rows = rows_.emplace_back();
  for (const clustering::TouchedPath& path : touched_) {
    const auto node = static_cast<std::uint32_t>(path.path);
    const std::size_t columns = columns_of(nodes_[node].kind);
    std::copy_n(path.values, columns, new_row(node, columns));
  }
  record.values = rows;
  units_.push_back(record);
}

void MadeUpThread::run(platform::Bytes& spilled) {
  end_ = begin_ticks;
  live_outside();
  measurement::IterationRow row;
  for (std::int64_t i = 0; i < size_.iterations; ++i) {
    const Unit unit = live_through(length_of(i), i * 8 / size_.iterations);
    const auto overall = measurement::fill_row(unit, nullptr, touched_, row);
    const auto label =
        measurement::cluster_iteration(*counted_at_, *loop_, static_cast<std::uint64_t>(i), {overall, touched_});
    need(label != clustering::no_label, "no memory for an iteration");
    measurement::log_iteration(*counted_at_, *loop_, label, overall, touched_);
    if (loop_->closed.size() + loop_->merges.size() * sizeof(clustering::Merge) >
        measurement::iteration_settings.log_memory)
      spill(spilled);
  }
}

std::int64_t* MadeUpThread::new_row(std::uint32_t node, std::size_t columns) {
  need(numbers_.size() + columns <= numbers_.capacity(), "more values than call paths can have");
  numbers_.resize(numbers_.size() + columns);
  std::int64_t* row = &numbers_[numbers_.size() - columns];
  rows_.back().push_back({node, row});
  return row;
}

/// The following two as RankRecordBuilder does.
void MadeUpThread::add_cluster(std::uint32_t index) {
  const clustering::ClusterView view = loop_->clusterer.cluster(index);
  clusters_.push_back(view);
  record::UnitRecord unit{};
  static_cast<Unit&>(unit) = measurement::totals_of(view.sum);
  unit.loop = 0;
  unit.cluster = static_cast<std::int32_t>(index);
  auto& rows = rows_.emplace_back();
  (void)loop_->clusterer.for_each_path(index, [&](const clustering::PathRow& row) {
    std::copy_n(row.sum, row.columns, new_row(static_cast<std::uint32_t>(row.path), row.columns));
    return true;
  });
  unit.values = rows;
  units_.push_back(unit);
}

void MadeUpThread::add_slopes() {
  std::vector<bool> seen(loop_->clusterer.class_count());
  for (std::uint32_t k = 0; k < loop_->clusterer.cluster_count(); ++k) {
    const clustering::ClusterView cluster = loop_->clusterer.cluster(k);
    if (cluster.overflow || seen[cluster.class_index]) continue;
    seen[cluster.class_index] = true;
    (void)loop_->clusterer.for_each_path(k, [&](const clustering::PathRow& row) {
      if (!row.has_slopes || row.columns != columns_of(NodeKind::Region)) return true;
      slopes_.push_back({cluster.class_index, static_cast<std::uint32_t>(row.path), {}, {}});
      std::copy_n(row.slope, std::size(slopes_.back().first), slopes_.back().first);
      std::copy_n(row.second_slope, std::size(slopes_.back().second), slopes_.back().second);
      return true;
    });
  }
}

record::LocationRecord MadeUpThread::record() {
  for (std::uint32_t k = 0; k < loop_->clusterer.cluster_count(); ++k) add_cluster(k);
  add_slopes();
  record::LoopRecord loop{};
  loop.name = loop_name;
  loop.iterations = loop_->iterations;
  loop.clusters = clusters_;
  loop.merges = loop_->merges.view();
  loop.log = loop_->closed.view();
  loop.log_tail = loop_->log.closed();
  loop.samples = loop_->samples.data();
  loop.references = loop_->samples.references();
  loop.kept = loop_->samples.kept();
  loop.sampled = loop_->samples.count();
  loop.slopes = slopes_;
  loops_.push_back(loop);

  record::LocationRecord location{};
  location.thread = thread_;
  location.os_thread_id = 20'000 + thread_;
  std::snprintf(location.name, sizeof location.name, thread_ == 0 ? "main" : "worker-%d", thread_);
  location.begin = begin_ticks;
  location.end = end_;
  location.nodes = nodes_;
  location.units = units_;
  location.loops = loops_;
  location.arena_bytes = static_cast<std::int64_t>(nodes_.size() * 96);
  const auto mean = [&](measurement::OwnTime of, std::int64_t timed, double ticks) {
    location.own_times[static_cast<std::size_t>(of)] = {timed, ticks, ticks / 50};
  };
  mean(measurement::OwnTime::Call, mpi_calls_ / measurement::calls_per_timing, call_ticks);
  mean(measurement::OwnTime::Tick, samples_, tick_ticks);
  mean(measurement::OwnTime::IterationBegin, size_.iterations, 400);
  mean(measurement::OwnTime::IterationEnd, size_.iterations, 4000);
  return location;
}

MadeUpRank::MadeUpRank(const JobSize& size, int variant) {
  for (const MadeUpModule& made_up : made_up_modules) {
    platform::Module& module = modules_.emplace_back();
    module.base = module.begin = made_up.base;
    module.end = made_up.base + module_bytes;
    module.unloaded = platform::still_loaded;
    module.build_id_size = made_up.has_build_id ? sizeof module.build_id : 0;
    for (std::size_t i = 0; i < module.build_id_size; ++i)
      module.build_id[i] = static_cast<std::uint8_t>(made_up.path[9] + 37 * i);
    std::snprintf(module.path, sizeof module.path, "%s", made_up.path);
  }
  for (int thread = 0; thread < size.threads; ++thread) threads_.emplace_back(size, variant, thread).run(spilled_);
}

std::span<const std::byte> MadeUpRank::left_in_file() const {
  return spilled_.size() > largest_taken_back ? spilled_.view() : std::span<const std::byte>{};
}

namespace {

/// The same of all ranks. The totals of a run rest on it.
void describe_clock(record::RankRecord& record) {
  record.first_anchor = {begin_ticks, whole(begin_ticks / ticks_per_ns)};
  record.last_anchor = {begin_ticks + whole(1e9 * ticks_per_ns), whole(begin_ticks / ticks_per_ns + 1e9)};
  record.call_cost = {call_ticks, 0.9 * call_ticks, 3 * call_ticks};
  record.tick_cost = {tick_ticks, 0.9 * tick_ticks, 1.2 * tick_ticks};
}

}  // namespace

record::RankRecord MadeUpRank::record() {
  static constexpr auto names = [] {
    std::array<const char*, mpi_function_count> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = mpi_functions[i].name;
    return all;
  }();
  for (MadeUpThread& thread : threads_) locations_.push_back(thread.record());
  record::RankRecord record{};
  describe_clock(record);
  record.modules = modules_;
  record.region_names = names;
  record.locations = locations_;
  record.mpi_call_columns = measurement::mpi_call_columns();
  record.spilled_bytes = left_in_file().size();
  if (record.spilled_bytes == 0) record.early_iterations = spilled_.view();
  return record;
}

void describe_process(std::int32_t rank, std::span<const std::int32_t> world,
                      std::vector<record::CommunicatorRecord>& communicators, record::RankRecord& record) {
  constexpr int ranks_of_a_node = 64;
  record.rank = rank;
  record.ranks = static_cast<std::int32_t>(world.size());
  record.process_id = 20'000 + rank % ranks_of_a_node;
  std::snprintf(record.host, sizeof record.host, "node%04d", rank / ranks_of_a_node);
  describe_clock(record);
  record.begin_epoch_ns = 1'700'000'000'000'000'000 + rank % 1000 * 1'000'000;
  const auto add = [&](std::int32_t id, const char* name, std::int32_t own, std::span<const std::int32_t> members) {
    record::CommunicatorRecord& c = communicators.emplace_back();
    c.id = id;
    c.parent = -1;
    c.ordinal = 0;
    c.leader = members.front();
    c.rank = own;
    c.size = static_cast<std::int32_t>(members.size());
    c.remote_size = 0;
    c.members = members;
    measurement::set_name(c.name, name);
  };
  communicators.clear();
  add(0, "MPI_COMM_WORLD", rank, world);
  add(1, "MPI_COMM_SELF", 0, world.subspan(static_cast<std::size_t>(rank), 1));
  record.communicators = communicators;
}

}  // namespace refrain::testing
