#include "tests/unit/record/sample_job.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <unistd.h>

#include "clustering/iteration_log.hpp"
#include "clustering/sample_store.hpp"
#include "measurement/iterations.hpp"
#include "record/manifest.hpp"

namespace refrain::testing {

/// Bytes also scale with the number of messages.
constexpr clustering::Column sample_columns[] = {{1},          {2}, {3},           {5},  {6, true, 5}, {7},
                                                 {8, true, 7}, {9}, {10, true, 9}, {11}, {12}};

std::int64_t SampleRank::loss_of(std::size_t loss, std::size_t thread) {
  const bool is_told_apart = loss == static_cast<std::size_t>(measurement::Loss::RunDelayUnknown);
  return is_told_apart ? 0 : static_cast<std::int64_t>(loss * (thread + 1));
}

SampleRank::SampleRank(int rank, int ranks, std::vector<SampleModule> modules) : sample_modules_(std::move(modules)) {
  record_.rank = rank;
  record_.ranks = ranks;
  record_.process_id = 1000 + rank;
  std::snprintf(record_.host, sizeof record_.host, "node%d", rank / 4);
  record_.first_anchor = {1'000'000, 500'000};
  record_.last_anchor = {1'000'000 + 3'000'000'000, 500'000 + 1'500'000'000};  // two ticks per nanosecond
  record_.begin_epoch_ns = 1'700'000'000'000'000'000 + rank;
  record_.cores_at_begin.words[0] = std::uint64_t{1} << rank % 4;
  record_.cores_at_end.words[0] = 0xf0f;
  record_.cores_at_end.words[1] = std::uint64_t{1} << rank % 4;
  record_.cpu_quota_in_thousandths = rank % 2 ? 1500 : 0;
  record_.throttled_ns = rank * 12'345'678'901;
  record_.taken_ns = 98'765 * rank;
  record_.call_cost = {40.5, 38, 51};
  record_.tick_cost = {1500, 1400.25, 1999};
  for (const SampleModule& sample : sample_modules_) {
    platform::Module m{};
    m.base = sample.base;
    m.begin = sample.base;
    m.end = sample.base + module_bytes;
    m.segments.add({m.begin, m.end});
    m.loaded = sample.loaded;
    m.unloaded = sample.unloaded;
    m.build_id_size = static_cast<std::uint8_t>(sample.id.size());
    std::memcpy(m.build_id, sample.id.data(), sample.id.size());
    std::strcpy(m.path, sample.path.c_str());
    modules_.push_back(m);
  }
}

std::uint64_t SampleRank::region_id(const std::string& name) {
  for (std::size_t i = 0; i < regions_.size(); ++i)
    if (name == regions_[i]) return i;
  region_texts_.push_back(name);
  regions_.push_back(region_texts_.back().c_str());
  return regions_.size() - 1;
}

void SampleRank::add_thread(const Tree& tree, std::uint32_t generation) {
  std::map<Path, std::uint32_t> numbers{{{}, 0}};
  std::vector<SampleNode> nodes{{0, generation, 0, NodeKind::Root}};
  std::map<std::uint32_t, Columns> values;
  for (const auto& [path, columns] : tree) {
    for (std::size_t length = 1; length <= path.size(); ++length) {
      const Path prefix(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length));
      if (numbers.contains(prefix)) continue;
      const Step& step = prefix.back();
      std::uint64_t key = step.offset;
      if (step.kind == NodeKind::Region) key = region_id(step.name);
      if ((step.kind == NodeKind::Frame || step.kind == NodeKind::Function) && !step.name.empty())
        for (const SampleModule& m : sample_modules_)
          if ((m.id.empty() ? m.path : m.id) == step.name && m.loaded <= generation && generation < m.unloaded)
            key = m.base + step.offset;
      numbers[prefix] = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back({numbers[Path(prefix.begin(), prefix.end() - 1)], generation, key, step.kind});
    }
    if (!columns.empty()) values[numbers[path]] = columns;
  }
  add_raw_thread(nodes, std::move(values));
}

void SampleRank::add_raw_thread(const std::vector<SampleNode>& nodes, std::map<std::uint32_t, Columns> values) {
  Thread& thread = threads_.emplace_back();
  for (const SampleNode& of : nodes)
    thread.nodes.push_back({.key = of.key, .parent = of.parent, .generation = of.generation, .kind = of.kind});
  thread.values = std::move(values);
  const auto n = static_cast<std::int64_t>(threads_.size());
  record::UnitRecord& unit = thread.unit;
  unit.loop = unit.cluster = -1;
  unit.wall = 1'000'000 + n;
  unit.mpi = 300'000 + n;
  unit.own = 20 + n;
  unit.cpu_ns = 300'000 + n;
  unit.waited_ns = 5'000 + n;
  unit.off_mpi_ns = 7'000 + n;
  unit.mpi_calls = 12 + n;
  unit.ticks_user = 7 + n;
  unit.ticks_mpi = 2 + n;
  unit.ticks_lost = 1 + n;
  unit.weight_user_ns = 500'000 + n;
  unit.weight_mpi_ns = 90'000 + n;
  unit.weight_user_squared = 1.5e12 + static_cast<double>(n);
}

void SampleRank::add_extra_metrics() {
  static constexpr measurement::ExtraMetric metrics[] = {{"perf::PAGE-FAULTS", "1"}, {"ru_utime", "ns"}};
  record_.extra_metrics = metrics;
  for (Thread& thread : threads_) {
    thread.unit.extra[0] = 1'000'000;
    thread.unit.extra[1] = 900'000'000'000;
    for (auto& [node, columns] : thread.values)
      if (measurement::has_extra_columns(thread.nodes[node].kind))
        columns.insert(columns.end(), {std::int64_t{node}, 1000 - std::int64_t{node}});
  }
}

void SampleRank::add_communicator(measurement::CommunicatorRecord c, std::vector<std::int32_t> members) {
  members_.push_back(std::move(members));
  c.members = members_.back();
  communicators_.push_back(c);
}

void SampleRank::add_window(measurement::WindowRecord window, std::vector<measurement::WindowTraffic> traffic) {
  for (measurement::WindowTraffic& t : traffic) {
    t.window = static_cast<std::int32_t>(windows_.size());
    window_traffic_.push_back(t);
  }
  windows_.push_back(window);
}

std::uint32_t sample_label(int iteration) { return static_cast<std::uint32_t>(iteration * 7 / 3 % 11); }
std::int64_t sample_overall(int iteration, std::size_t metric) {
  return static_cast<std::int64_t>(metric + 1) * 1000 + iteration % (5 + static_cast<int>(metric));
}

void SampleRank::add_loop(std::size_t thread, const std::string& name, int clusters, int iterations) {
  SampleLoop& loop = threads_[thread].loops.emplace_back();
  loop.name = name;
  loop.iterations = iterations;
  for (int k = 0; k < clusters; ++k) {
    std::vector<std::int64_t> low, high;
    std::vector<double> squares;
    for (std::size_t m = 0; m < measurement::logged_count; ++m) {
      low.push_back(k + static_cast<std::int64_t>(m));
      high.push_back(1000 * k + static_cast<std::int64_t>(m));
      squares.push_back(0.25 * k);
    }
    const auto& minimum = loop.numbers.emplace_back(low);
    const auto& maximum = loop.numbers.emplace_back(high);
    const auto n = static_cast<std::uint32_t>(k);
    loop.clusters.push_back({clustering::Label{n},
                             n % 3,
                             k == 2,
                             10 + n,
                             n,
                             100 + n,
                             50 + n,
                             {},
                             minimum,
                             maximum,
                             loop.squares.emplace_back(squares)});
  }
  for (std::uint32_t label = 10; label >= static_cast<std::uint32_t>(clusters); --label)
    loop.merges.push_back({clustering::Label{label}, clustering::Label{label - 1}});
  clustering::Precision columns[measurement::logged_count];
  for (std::size_t m = 0; m < measurement::logged_count; ++m)
    columns[m] = format::row_of(format::logged_metrics[m]).log;
  clustering::IterationLog log;
  if (!log.create(columns, 1024)) std::abort();
  for (int i = 0; i < iterations; ++i) {
    std::int64_t row[measurement::logged_count];
    for (std::size_t m = 0; m < measurement::logged_count; ++m) row[m] = sample_overall(i, m);
    const auto append = [&] {
      return log.append(static_cast<std::uint64_t>(i), clustering::Label{sample_label(i)}, row);
    };
    if (append() == clustering::IterationLog::Appended::Yes) continue;
    const auto block = log.closed();
    loop.log.insert(loop.log.end(), block.begin(), block.end());
    log.start_block();
    (void)append();
  }
  const auto block = log.closed();
  loop.log_tail.assign(block.begin(), block.end());
}

std::optional<format::Run> sample_run(int iteration) {
  if (iteration < 5) return format::Run::Absent;
  if (iteration < 15) return format::Run::Passed;
  if (iteration >= 25 && iteration < 32) return format::Run::PassedInCall;
  return std::nullopt;
}

void SampleRank::add_thinned_loop(std::size_t thread, const std::string& name, bool is_follower) {
  constexpr int iterations = 100;
  constexpr std::uint64_t whole = 32;
  SampleLoop& loop = threads_[thread].loops.emplace_back();
  loop.name = name;
  loop.iterations = iterations;
  const auto& zeros = loop.numbers.emplace_back(measurement::logged_count);
  const auto& no_squares = loop.squares.emplace_back(measurement::logged_count);
  const std::uint64_t recorded = is_follower ? 78 : 100;
  loop.clusters.push_back({clustering::Label{0}, 0, false, recorded, 0, 99, 50, {}, zeros, zeros, no_squares});
  if (is_follower)
    loop.clusters.push_back({format::passed_label, 1, false, 17, 5, 31, 5, {}, zeros, zeros, no_squares});
  clustering::Precision columns[measurement::logged_count];
  for (std::size_t m = 0; m < measurement::logged_count; ++m)
    columns[m] = format::row_of(format::logged_metrics[m]).log;
  clustering::IterationLog log;
  if (!log.create(columns, 4096, whole)) std::abort();
  for (int i = 0; i < iterations; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    const std::optional<format::Run> run = is_follower ? sample_run(i) : std::nullopt;
    std::int64_t row[measurement::logged_count] = {};
    const std::int64_t wall = (is_follower && !run ? 500 : 1000) + i;
    row[format::logged_index(measurement::MetricId::Wall)] = wall;
    const auto append = [&] {
      return run ? log.append_run(number, 1, *run) : log.append(number, clustering::Label{0}, row);
    };
    if (append() != clustering::IterationLog::Appended::Yes) {
      const auto block = log.closed();
      loop.log.insert(loop.log.end(), block.begin(), block.end());
      log.start_block();
      (void)append();
    }
    if (run == format::Run::Absent) continue;
    loop.slowest.add(number, wall);
    if (!run) continue;
    const bool in_call = run == format::Run::PassedInCall;
    measurement::PassedIterations::Sum& sum = loop.passed[in_call];
    ++sum.count;
    sum.wall += wall;
    sum.cpu_ns += in_call ? 0 : 2 * wall;
    sum.off_ns += in_call ? 3 * wall : wall;
  }
  loop.thinned_from = log.thinned_from();
  loop.level = log.level();
  const auto block = log.closed();
  loop.log_tail.assign(block.begin(), block.end());
}

std::int64_t sample_samples(int iteration, int path) {
  return (iteration * 5 + path * 3) % 7 == 0 ? 1 + (iteration + path) % 3 : 0;
}
float sample_slope(std::uint32_t class_index, int path, std::size_t column, bool second) {
  if ((path + static_cast<int>(column)) % 3 == 0) return 0;
  const auto value = static_cast<float>(path + 1) / static_cast<float>(column + 2 + class_index);
  return second ? -2 * value : value;
}

void SampleRank::add_samples_and_slopes(std::size_t thread, std::size_t bytes) {
  using measurement::MetricId;
  Thread& of = threads_[thread];
  SampleLoop& loop = of.loops.back();
  std::vector<std::uint32_t> functions, calls;
  for (const auto& [node, columns] : of.values) {
    if (of.nodes[node].kind == NodeKind::Function) functions.push_back(node);
    if (of.nodes[node].kind == NodeKind::Region) calls.push_back(node);
  }
  const clustering::Column none[measurement::columns_of(NodeKind::Function)] = {};
  const clustering::Shape shape{false, measurement::column_of(MetricId::Samples), none};
  clustering::SampleStore store;
  if (!store.create({&shape, 1}, bytes)) std::abort();
  for (int i = 0; i < loop.iterations; ++i) {
    std::deque<Columns> values;
    std::vector<clustering::TouchedPath> touched;
    for (std::size_t p = 0; p < functions.size(); ++p) {
      const std::int64_t samples = sample_samples(i, static_cast<int>(p));
      if (samples > 0)
        touched.push_back({clustering::PathId{functions[p]}, 0, values.emplace_back(Columns{samples, 1000}).data()});
    }
    store.append(touched);
  }
  loop.samples.assign(store.data().begin(), store.data().end());
  loop.references.assign(store.references().begin(), store.references().end());
  loop.kept = store.kept();
  loop.count = store.count();
  for (std::uint32_t c = 0; c < 2; ++c)
    for (std::size_t p = 0; p < calls.size(); ++p) {
      loop.slopes.push_back({c, calls[p], {}, {}});
      record::SlopeRecord& slope = loop.slopes.back();
      for (std::size_t column = 0; column < std::size(slope.first); ++column) {
        slope.first[column] = sample_slope(c, static_cast<int>(p), column, false);
        slope.second[column] = sample_slope(c, static_cast<int>(p), column, true);
      }
    }
}

record::RankRecord& SampleRank::record() {
  locations_.clear();
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    thread.rows.clear();
    for (const auto& [node, columns] : thread.values) thread.rows.push_back({node, columns.data()});
    thread.unit.values = thread.rows;
    record::LocationRecord location{};
    location.thread = static_cast<std::int32_t>(i);
    location.os_thread_id = 5000 + static_cast<std::int64_t>(i);
    std::snprintf(location.name, sizeof location.name, "thread-%d", static_cast<int>(i));
    location.begin = 1'000'000;
    location.end = location.begin + thread.unit.wall;
    location.nodes = thread.nodes;
    thread.units.assign(1, thread.unit);
    thread.loop_records.clear();
    for (const SampleLoop& loop : thread.loops) {
      for (std::size_t k = 0; k < loop.clusters.size(); ++k) {
        record::UnitRecord unit = thread.unit;
        unit.loop = static_cast<std::int32_t>(thread.loop_records.size());
        unit.cluster = static_cast<std::int32_t>(k);
        unit.wall += static_cast<std::int64_t>(k);
        thread.units.push_back(unit);
      }
      record::LoopRecord& of = thread.loop_records.emplace_back();
      of.name = loop.name.c_str();
      of.iterations = static_cast<std::uint64_t>(loop.iterations);
      of.clusters = loop.clusters;
      of.merges = loop.merges;
      of.log = loop.log;
      of.log_tail = loop.log_tail;
      of.samples = loop.samples;
      of.references = loop.references;
      of.kept = loop.kept;
      of.sampled = loop.count;
      of.slopes = loop.slopes;
      std::copy(std::begin(loop.passed), std::end(loop.passed), of.passed);
      of.thinned_from = loop.thinned_from;
      of.level = loop.level;
      of.slowest = loop.slowest;
    }
    location.units = thread.units;
    location.loops = thread.loop_records;
    location.arena_bytes = 4096;
    for (std::size_t of = 0; of < measurement::own_time_count; ++of)
      location.own_times[of] = {static_cast<std::int64_t>(of * (i + 1)), 100.5 + static_cast<double>(of), 0.25};
    for (std::size_t loss = 0; loss < measurement::loss_count; ++loss) location.losses[loss] = loss_of(loss, i);
    locations_.push_back(location);
  }
  record_.modules = modules_;
  record_.region_names = regions_;
  record_.locations = locations_;
  record_.communicators = communicators_;
  record_.windows = windows_;
  record_.window_traffic = window_traffic_;
  record_.mpi_call_columns = sample_columns;
  return record_;
}

namespace {

std::string unhex(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

}  // namespace

std::vector<waits::DurationTable::Entry> sample_durations(const record::LocationRecord& location) {
  std::vector<waits::DurationTable::Entry> entries;
  for (std::uint32_t node = static_cast<std::uint32_t>(location.nodes.size()); node-- > 1;) {
    if (location.nodes[node].kind != NodeKind::Region) continue;
    for (const bool receives : {true, false}) {
      auto& entry = entries.emplace_back();
      entry.node = node;
      entry.bin = waits::CallBin(waits::Transfer{.bytes = 100, .what = receives ? waits::Transfer::receives : 0});
      for (std::int64_t call = 0; call < 3; ++call)
        entry.durations.add_call(100 * node + 7 * call + receives, 100 * node + 7 * call + receives);
      entries.emplace_back();
    }
  }
  return entries;
}

std::vector<Path> paths_of(const experiment::Profile& profile) {
  std::vector<Path> paths;
  for (std::size_t i = 0; i < profile.paths.size(); ++i) {
    const experiment::CallPath& p = profile.paths[i];
    if (i == 0) {
      paths.emplace_back();
      continue;
    }
    Step step{p.kind, "", p.offset};
    if (p.kind == NodeKind::Region) step = region(profile.regions.at(p.offset));
    if (p.module >= 0) {
      const experiment::ProfileModule& m = profile.modules.at(static_cast<std::size_t>(p.module));
      step.name = m.build_id.empty() ? m.path : unhex(m.build_id);
    }
    Path path = paths.at(p.parent);
    path.push_back(step);
    paths.push_back(std::move(path));
  }
  return paths;
}

Tree values_of(const experiment::Profile& profile, const experiment::Unit& unit) {
  const std::vector<Path> paths = paths_of(profile);
  Tree tree;
  for (const experiment::PathValues& row : unit.values) {
    const std::size_t columns = measurement::columns_of(profile.paths.at(row.path).kind);
    const auto first = unit.columns.begin() + row.first;
    tree[paths.at(row.path)] = Columns(first, first + static_cast<std::ptrdiff_t>(columns));
  }
  return tree;
}

Tree with_values(const Tree& tree) {
  Tree out;
  for (const auto& [path, columns] : tree)
    if (std::any_of(columns.begin(), columns.end(), [](auto v) { return v != 0; })) out[path] = columns;
  return out;
}

Tree sample_tree(int rank, int thread, int paths) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank * 131 + thread));
  Tree tree;
  const char* const regions[] = {"MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Waitall"};
  for (int i = 0; i < paths; ++i) {
    Path path{frame("app-id", 0x1000)};
    if (thread > 0) path.push_back(frame("/lib/libthread.so", 0x40));
    for (int level = 0, at = i; level < 6; ++level, at /= 3)
      path.push_back(frame(at % 5 == 0 ? "lib-id" : "app-id", 0x2000 + static_cast<std::uint64_t>(at % 7) * 16));
    if (i % 11 == rank % 11) path.push_back(frame("app-id", 0x8000 + static_cast<std::uint64_t>(rank)));
    if (i % 3 == 0) {
      path.push_back(region(regions[i % 4]));
      Columns values(measurement::columns_of(NodeKind::Region));
      for (auto& v : values) v = static_cast<std::int64_t>(random() >> (1 + random() % 62));
      tree[path] = values;
    } else {
      path.push_back(function("app-id", 0x3000 + static_cast<std::uint64_t>(i) * 32));
      Columns values(measurement::columns_of(NodeKind::Function));
      for (auto& v : values) v = static_cast<std::int64_t>(random() % 100'000);
      tree[path] = values;
    }
  }
  return tree;
}

std::vector<SampleModule> sample_modules(int rank) {
  const std::uint64_t shift = static_cast<std::uint64_t>(rank) * 0x7000'0000;
  return {{"/opt/app", "app-id", 0x5555'0000'0000 + shift},
          {"/lib/libthread.so", "", 0x7f00'0000'0000 + shift},
          {rank % 2 ? "/node/a/lib.so" : "/node/b/lib.so", "lib-id", 0x7f10'0000'0000 - shift}};
}

SampleRank sample_rank(int rank, int ranks, int threads, int paths) {
  SampleRank sample(rank, ranks, sample_modules(rank));
  for (int thread = 0; thread < threads; ++thread) sample.add_thread(sample_tree(rank, thread, paths));
  std::vector<std::int32_t> world(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i) world[static_cast<std::size_t>(i)] = i;
  measurement::CommunicatorRecord c{0, -1, 0, 0, rank, ranks, 0, "MPI_COMM_WORLD", {}};
  sample.add_communicator(c, world);
  return sample;
}

SampleRank sample_rank_with_loops(int rank, int ranks, int threads, int paths) {
  SampleRank sample = sample_rank(rank, ranks, threads, paths);
  for (int thread = 0; thread < threads; ++thread) {
    sample.add_loop(static_cast<std::size_t>(thread), "timestep", 4, 150);
    sample.add_samples_and_slopes(static_cast<std::size_t>(thread));
    if (thread == 1) sample.add_loop(1, "inner", 1, 3);
  }
  return sample;
}

ScratchDirectory::ScratchDirectory() {
  char name[] = "/tmp/refrain-test-XXXXXX";
  path = mkdtemp(name);
}
ScratchDirectory::~ScratchDirectory() {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

void put_manifest(const std::string& directory, int ranks) {
  record::ManifestRecord manifest{};
  manifest.state = record::ExperimentState::Incomplete;
  manifest.ranks = ranks;
  char line[256];
  if (!record::write_manifest(directory.c_str(), manifest, line, sizeof line)) std::abort();
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace refrain::testing
