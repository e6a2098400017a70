#pragma once
/// A made-up job, described by what its call paths *are* (names of modules and regions, offsets), from which the
/// records of its ranks are made (addresses, ids, different on every rank) and the truth about the profile is read off
/// directly.

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "offline/experiment/profile.hpp"
#include "record/rank_profile.hpp"

namespace refrain::testing {

using format::NodeKind;

struct Step {
  NodeKind kind;
  std::string name;      ///< of the module ("" without one) or region
  std::uint64_t offset;  ///< in the module; address without one; number of the special path
  auto operator<=>(const Step&) const = default;
};
using Path = std::vector<Step>;
using Columns = std::vector<std::int64_t>;
using Tree = std::map<Path, Columns>;  ///< every path of one thread; empty columns: it has no values

inline Step frame(std::string module, std::uint64_t offset) { return {NodeKind::Frame, std::move(module), offset}; }
inline Step function(std::string module, std::uint64_t offset) {
  return {NodeKind::Function, std::move(module), offset};
}
inline Step region(std::string name) { return {NodeKind::Region, std::move(name), 0}; }
inline Step truncated() { return {NodeKind::Special, "", 0}; }

/// A module of the made-up process. `id` is its build-id and may be empty.
struct SampleModule {
  std::string path;
  std::string id;
  std::uint64_t base;
  std::uint32_t loaded = 0;
  std::uint32_t unloaded = platform::still_loaded;
};
inline constexpr std::uint64_t module_bytes = 0x100000;

/// A node of a call tree. A parent's index is smaller than its child's.
struct SampleNode {
  std::uint32_t parent;
  std::uint32_t generation;  ///< module generation when the node was made (platform/modules.hpp)
  std::uint64_t key;         ///< by kind: return address, function address, region index, SpecialPath
  NodeKind kind;
};

/// The record of one rank, which owns everything that the record refers to.
class SampleRank {
 public:
  SampleRank(int rank, int ranks, std::vector<SampleModule> modules);

  /// The losses of each thread: some of all kinds, but time off the CPU is told apart.
  static std::int64_t loss_of(std::size_t loss, std::size_t thread);

  /// Adds a thread with these paths, all of them in one unit. `generation` is that of all its nodes.
  void add_thread(const Tree& tree, std::uint32_t generation = 0);
  /// Adds a thread from ready-made nodes; values by node.
  void add_raw_thread(const std::vector<SampleNode>& nodes, std::map<std::uint32_t, Columns> values);
  /// Adds samples of single iterations and slopes to the last loop of a thread, as sample_samples() and sample_slope()
  /// say.
  void add_samples_and_slopes(std::size_t thread, std::size_t bytes = 1 << 16);
  /// Adds a loop of `clusters` clusters to a thread: one unit each, with the values of the thread's first unit times 1,
  /// 2, ..., and `iterations` iterations in log and merges. Everything follows from the arguments.
  void add_loop(std::size_t thread, const std::string& name, int clusters, int iterations);
  /// Adds a loop of 100 iterations to a thread, which last 1000, 1001, ... ticks: a record for each of the first 32,
  /// then for one of two, then for one of four. For a follower, sample_run() says in which of them it recorded
  /// nothing; the others last 500, 501, ... ticks.
  void add_thinned_loop(std::size_t thread, const std::string& name, bool is_follower);
  /// Adds two metrics that the user has asked for to all threads so far, which must have no loops.
  void add_extra_metrics();
  void add_communicator(measurement::CommunicatorRecord c, std::vector<std::int32_t> members);
  void add_window(measurement::WindowRecord window, std::vector<measurement::WindowTraffic> traffic);

  record::RankRecord& record();
  record::UnitRecord& unit(std::size_t thread) { return threads_[thread].unit; }

 private:
  struct SampleLoop {
    std::string name;
    std::vector<clustering::ClusterView> clusters;
    std::deque<std::vector<std::int64_t>> numbers;
    std::deque<std::vector<double>> squares;
    std::vector<clustering::Merge> merges;
    std::vector<std::byte> log, log_tail;
    std::vector<std::byte> samples;
    std::vector<std::int32_t> references;
    format::KeptIterations kept;
    std::uint64_t count = 0;
    std::vector<record::SlopeRecord> slopes;
    int iterations;
    measurement::PassedIterations::Sum passed[2] = {};
    std::uint64_t thinned_from = 0;
    unsigned level = 0;
    measurement::SlowestIterations slowest;
  };
  struct Thread {
    std::vector<record::Node> nodes;
    std::map<std::uint32_t, Columns> values;
    std::vector<record::ValueRecord> rows;
    record::UnitRecord unit{};
    std::vector<record::UnitRecord> units;
    std::deque<SampleLoop> loops;
    std::vector<record::LoopRecord> loop_records;
  };
  std::uint64_t region_id(const std::string& name);

  record::RankRecord record_{};
  std::vector<SampleModule> sample_modules_;
  std::vector<platform::Module> modules_;
  std::deque<std::string> region_texts_;
  std::vector<const char*> regions_;
  std::deque<Thread> threads_;
  std::vector<record::LocationRecord> locations_;
  std::deque<std::vector<std::int32_t>> members_;
  std::vector<measurement::CommunicatorRecord> communicators_;
  std::vector<measurement::WindowRecord> windows_;
  std::vector<measurement::WindowTraffic> window_traffic_;
};

/// The values that `add_loop` gives an iteration: label and overall metrics.
std::uint32_t sample_label(int iteration);
std::int64_t sample_overall(int iteration, std::size_t metric);
/// The values that `add_thinned_loop` gives an iteration of a follower; none: it has a record.
std::optional<format::Run> sample_run(int iteration);
/// The values that `add_samples_and_slopes` gives the n-th call path of its kind.
std::int64_t sample_samples(int iteration, int path);
float sample_slope(std::uint32_t class_index, int path, std::size_t column, bool second);

/// Durations of two bins for each call path to MPI of a location, in no particular order, with free slots between.
std::vector<waits::DurationTable::Entry> sample_durations(const record::LocationRecord& location);

/// All paths of a profile; `by_id` names modules by build-id where they have one (as text), else by path.
std::vector<Path> paths_of(const experiment::Profile& profile);
/// The paths that have values in a unit.
Tree values_of(const experiment::Profile& profile, const experiment::Unit& unit);
/// `tree` without the paths that have no values, or only zeros.
Tree with_values(const Tree& tree);

/// A tree that depends on the rank and thread: some paths that all share, some that few share, some of its own.
Tree sample_tree(int rank, int thread, int paths);
/// A whole rank with `threads` threads of sample trees; modules lie at different addresses on every rank.
SampleRank sample_rank(int rank, int ranks, int threads, int paths);
/// The same with loops: "timestep" on every thread, "inner" on the second one.
SampleRank sample_rank_with_loops(int rank, int ranks, int threads, int paths);
std::vector<SampleModule> sample_modules(int rank);

/// A temporary directory that is removed with the object.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  const char* c_str() const { return path.c_str(); }
  std::string path;
};
/// Writes a manifest which `read_experiment` needs.
void put_manifest(const std::string& directory, int ranks);

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& bytes);

}  // namespace refrain::testing
