#pragma once
/// The data of an experiment: definitions that all ranks share, and the measurements of each rank, sparse per location
/// and unit. An Experiment (experiment.hpp) provides it rank by rank. Nothing here is used inside a measured process.
///
/// Times are in ticks of the rank's own counter (`Rank::ticks_per_second`) unless a name says otherwise.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "events/matched_sample.hpp"
#include "format/event_file.hpp"
#include "format/iteration_log.hpp"
#include "format/metrics.hpp"
#include "format/own_times.hpp"
#include "format/time_rules.hpp"
#include "format/windows.hpp"
#include "waits/durations.hpp"

namespace refrain::experiment {

using format::NodeKind;

struct ProfileModule {
  std::string path;
  std::string build_id;  ///< lower-case hex, or a substitute (format/file_identity.hpp); empty: neither
};

/// A call path: a node of the unified call tree; its parent's index is smaller. Node 0 is the root.
struct CallPath {
  std::uint32_t parent;
  NodeKind kind;
  std::int32_t module;  ///< index into Profile::modules; -1: no module (generated code) or not an address
  std::uint64_t
      offset;  ///< address in the module's file; absolute when module is -1; region index or SpecialPath otherwise
};

/// Values of one call path in one unit, `columns_of(kind)` integers in the order of format/metrics.def.
struct PathValues {
  std::uint32_t path;
  std::uint32_t first;  ///< index of the first column in Unit::columns
};

/// A metric that the user requested in addition to the time (REFRAIN_METRICS).
struct ExtraMetric {
  std::string name, unit;
  double scale = 1;  ///< stored integers are the values times this factor: other tools' metrics have fractions
};

/// A unit's values of these metrics. Rows are as wide as `totals`, which may be narrower than the list of metrics.
struct ExtraValues {
  std::vector<std::int64_t> totals;  ///< of the whole unit, by RankDefinition::extra_metrics
  /// Ascending by path: for MPI functions the counts in their calls, for sampled functions the counts found by ticks.
  std::vector<PathValues> values;
  std::vector<std::int64_t> columns;

  std::int64_t total(std::size_t metric) const { return metric < totals.size() ? totals[metric] : 0; }
  std::int64_t of(const PathValues& row, std::size_t metric) const {
    return metric < totals.size() ? columns[row.first + metric] : 0;
  }
};

struct Unit : format::UnitTotals {
  std::int32_t loop = -1;
  std::int32_t cluster = -1;
  std::vector<PathValues> values;  ///< ascending by path
  std::vector<std::int64_t> columns;
  ExtraValues extra;
};

/// A metric of whole iterations, as the file names it.
struct OverallMetric {
  std::string name, unit;
  format::Precision precision;
};

/// The data of a cluster of iterations that its unit does not have. Vectors are indexed like Loop::metrics.
struct Cluster {
  std::uint32_t label = 0, class_index = 0;
  bool overflow = false;  ///< holds iterations of several classes
  std::int64_t members = 0, first = 0, last = 0, exemplar = 0;
  std::vector<std::int64_t> minimum, maximum;
  std::vector<double> squares;  ///< sums of squared distances from the mean
};

struct FileSource;  // input_file.hpp
class KeptPools;    // kept_pools.hpp

/// A frame of a loop's data for every iteration, which stays in the file until it is requested
/// (iteration_frames_reader.hpp).
struct FramePlace {
  std::shared_ptr<const FileSource> file;
  std::uint64_t offset = 0, size = 0;
  /// The contents, instead of a file, for loops that are built in memory.
  std::shared_ptr<const std::vector<std::byte>> contents;
};

/// How the columns of an MPI call path scale with the overall metrics in the iterations of a class, as learned while
/// the program ran: change of a column per change of the first and of the second metric that it scales with.
struct PathSlopes {
  std::uint32_t path;
  float first[format::columns_of(NodeKind::Region)] = {}, second[format::columns_of(NodeKind::Region)] = {};
};
struct ClassSlopes {
  std::uint32_t class_index = 0;
  std::vector<PathSlopes> paths;  ///< ascending by path; columns of other call paths do not change
};
/// Indices in Loop::metrics of the metrics that a column of MPI call paths scales with; -1: none.
struct ScalesWith {
  std::int32_t first = -1, second = -1;
};

/// Times of the iterations in which a thread recorded nothing, all together.
struct PassedSum {
  std::int64_t count = 0;
  std::int64_t wall = 0, cpu_ns = 0;
  std::int64_t off_ns = 0;  ///< in a call: off the CPU; else waiting for a core
};

/// From iteration `from` on the log has one iteration of each group, at the end of 2^level iterations, and the sum over
/// the others.
struct Thinning {
  std::int64_t from = 0;
  unsigned level = 0;  ///< 0: every iteration is there
};
struct SlowIteration {
  std::int64_t number = 0, wall = 0;
};

/// A loop of one location. Read its log with offline/run/iterations.hpp.
struct Loop {
  std::string name;
  std::int64_t iterations = 0;
  std::vector<OverallMetric> metrics;
  std::vector<Cluster> clusters;  ///< by Unit::cluster
  std::vector<FramePlace> log;    ///< blocks, in order of time
  /// The log of the same loop on the first thread, which has the wall time of iterations in which this one recorded
  /// nothing; null: there are none, or it is the first thread.
  std::shared_ptr<const std::vector<FramePlace>> first_log;
  std::int64_t first_iterations = 0;  ///< of that loop
  std::array<PassedSum, 2> passed{};  ///< in user code, and within one MPI call each
  Thinning thinning;
  std::vector<SlowIteration> slowest;   ///< slowest first; empty: not kept by themselves (before 1.11)
  std::vector<FramePlace> merges;       ///< pairs of labels, in order of time
  std::vector<FramePlace> samples;      ///< of single iterations; none or one frame
  bool samples_hashed = true;           ///< how these iterations were chosen: format/kept_iterations.hpp
  std::vector<ClassSlopes> slopes;      ///< ascending by class; empty: not known
  std::vector<ScalesWith> scales_with;  ///< by column of an MPI call path, when there are slopes
};

/// Totals of a call path over the whole run of a location.
struct PathTotals {
  std::uint32_t path;
  std::uint32_t first;  ///< index of the first column in RunTotals::columns; columns_of(kind) of them
  std::int64_t ticks;   ///< MPI time of an MPI function; share of the user time of a sampled function
};

/// Totals of the run of a location: the time rules applied to each of its units, and the results added up.
struct RunTotals {
  format::UnitTotals totals;
  format::UnitTimes times;
  std::vector<PathTotals> paths;  ///< ascending by path
  std::vector<std::int64_t> columns;
  /// Here the values of all call paths, including sampled functions, are shares, which add up to the totals with
  /// `extra_no_path`. A call path without a share has no row.
  ExtraValues extra;
  std::vector<std::int64_t> extra_no_path;  ///< by metric, as `extra.totals`
};

/// Durations of the calls of one bin at one call path, in ticks.
struct CallDurations {
  std::uint32_t path;
  waits::CallBin bin;
  waits::Durations durations;
};

struct LocationDefinition {
  std::int32_t rank = 0;
  std::int32_t thread = 0;
  std::int64_t os_thread_id = 0;
  std::string name;
  std::int64_t begin = 0, end = 0;
  std::int64_t arena_bytes = 0;
  std::vector<std::int64_t> losses;                                     ///< by format::Loss
  std::array<format::OwnTimeMean, format::own_time_count> own_times{};  ///< ticks; 0 timed: not known
  std::vector<CallDurations> durations;                                 ///< ascending by path, then by bin

  bool has(format::Loss loss) const {
    const auto at = static_cast<std::size_t>(loss);
    return at < losses.size() && losses[at] > 0;
  }
};

struct Location : LocationDefinition {
  std::optional<RunTotals> run;  ///< over all units, when the file has it
  std::vector<Unit> units;       ///< none when only the run was read (Depth::Run)
  std::vector<Loop> loops;       ///< by Unit::loop
};

/// World ranks, stored as runs: a communicator of the whole job is one run.
class MemberList {
 public:
  /// Appends first, first + stride, ...: `length` ranks, at least one.
  void append(std::int32_t first, std::int32_t stride, std::size_t length) {
    runs_.push_back({size_, first, stride});
    size_ += length;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Number of members outside MPI_COMM_WORLD, which are -1 in the list.
  std::size_t outside() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const std::size_t length = (i + 1 < runs_.size() ? runs_[i + 1].begin : size_) - runs_[i].begin;
      const std::int64_t first = runs_[i].first, stride = runs_[i].stride;
      const std::int64_t last = first + static_cast<std::int64_t>(length - 1) * stride;
      count += stride == 0 ? (first == -1) * length : (first == -1 || last == -1);
    }
    return count;
  }
  std::int32_t operator[](std::size_t i) const {
    const auto after =
        std::upper_bound(runs_.begin(), runs_.end(), i, [](std::size_t at, const Run& run) { return at < run.begin; });
    const Run& run = *(after - 1);
    return static_cast<std::int32_t>(run.first + static_cast<std::int64_t>(i - run.begin) * run.stride);
  }

 private:
  struct Run {
    std::size_t begin;
    std::int32_t first, stride;
  };
  std::vector<Run> runs_;
  std::size_t size_ = 0;
};

struct Communicator {
  std::int32_t id, parent, ordinal, leader, rank, size, remote_size;
  std::string name;
  MemberList members;
  std::int64_t made = 1;  ///< number of communicators that it stands for, made one after the other
};

struct Window {
  std::int32_t communicator = -1;  ///< id in the same rank, or -1
  format::WindowKind kind{};
  std::int64_t made = 1;  ///< number of windows that it stands for, made one after the other
  std::string name;
  std::vector<format::WindowTraffic> targets;  ///< ascending by target
};

struct Cost {
  double median = 0, low = 0, high = 0;  ///< ticks
};

/// The cores that threads of a rank may run on, as the kernel numbers them.
struct Cores {
  struct Run {
    std::uint32_t first, count;
    bool operator==(const Run&) const = default;
  };
  std::vector<Run> at_begin, at_end;         ///< ascending; empty: not known
  std::int64_t quota_in_thousandths = 0;     ///< of a core, set by the control group; 0: no quota
  std::optional<std::int64_t> throttled_ns;  ///< time that quotas held back threads of the control group
  std::optional<std::int64_t> taken_ns;      ///< time that interrupts and the hypervisor took of the cores `at_begin`

  bool known() const { return !at_begin.empty() || !at_end.empty(); }
  /// The cores at the end, if known: a program that binds its threads does so after the start.
  const std::vector<Run>& used() const { return at_end.empty() ? at_begin : at_end; }
};

struct RankDefinition {
  std::int32_t rank = 0;
  std::int64_t process_id = 0;
  std::string host;
  double ticks_per_second = 1e9;
  std::int64_t begin_epoch_ns = 0;
  Cost call_cost, tick_cost;
  Cores cores;
  /// Each rank has its own list, because what can be counted on one machine may be missing on another.
  std::vector<ExtraMetric> extra_metrics;
  std::vector<std::size_t> asked_for;  ///< indices of the metrics named by REFRAIN_METRICS, in the order of the run
  std::vector<Communicator> communicators;
  std::vector<Window> windows;
};

/// The rank's counter and the clock of its machine (CLOCK_MONOTONIC) at the same moment.
struct ClockReading {
  std::int64_t ticks = 0, monotonic_ns = 0;
};

/// Messages sampled one by one: those whose numbers format/kept_iterations.hpp chooses at `level`.
struct MessageSample {
  unsigned level = 0;
  std::uint64_t lost = 0;       ///< messages that could not be sampled
  std::int64_t begin_time = 0;  ///< ticks; 0: none was sampled
  std::vector<events::SampledMessage> messages;
};

/// What the event file has of a location.
struct EventsOfLocation {
  std::int32_t thread = 0;
  std::uint64_t records = 0, iterations = 0, lost = 0;
  std::vector<std::uint32_t> paths;      ///< of the profile, by node
  std::optional<MessageSample> sampled;  ///< none: the sample of messages did not begin
};

/// Describes the events of a rank; read the events themselves with events_reader.hpp.
struct EventsOfRank {
  format::EventMode mode{};
  std::uint64_t bytes = 0;  ///< size of the file; in a snapshot its size so far
  ClockReading first, last;
  std::uint32_t first_region = 0;    ///< id of the first of `regions` in marks and spans
  std::vector<std::string> regions;  ///< loops and regions of the program
  std::vector<EventsOfLocation> locations;
  /// Level of a sample of iterations: one in 2^level iterations of a loop is in the file. `region`: one of `regions`;
  /// 0: time outside of iterations.
  struct Level {
    std::uint32_t region;
    unsigned level;
  };
  std::vector<Level> levels;
  struct Slow {
    std::uint32_t region;
    std::uint32_t ranks;  ///< number of ranks that have it; 1 before the ranks have agreed
    std::int64_t iteration;
  };
  std::vector<Slow> slowest;  ///< in the file whatever the level
  /// A group of stretches of the first thread. They stand for iterations where no loop is marked (docs/events.md): each
  /// lasts from one blocking collective operation of all processes to the next.
  struct StretchGroup {
    /// Call paths of the operations. events::no_node as `opened`: nothing opened the first; as both: several groups.
    std::uint32_t opened, closed;
    std::uint64_t count;
    std::uint64_t ticks;  ///< sum over these stretches
  };
  /// Ranks with the same number have the same clock.
  std::uint64_t clock = 0;
  /// Another rank's clock as seen by this rank: own clock + `offset_ns`, which may be wrong by half of `round_trip_ns`.
  struct ClockOffset {
    std::int32_t rank;
    std::int64_t at_ns, offset_ns, round_trip_ns;
  };
  std::vector<ClockOffset> clock_offsets;
  std::uint64_t stretches = 0, stretches_hash = 0;
  std::vector<StretchGroup> stretch_groups;
  bool levels_agreed = true;  ///< all ranks have kept the same iterations; else more than these are in the file
};

struct Rank : RankDefinition {
  std::vector<Location> locations;
  std::uint64_t spilled_bytes = 0;             ///< of iterations-<rank>.refrain that `locations` refer to
  std::vector<std::uint32_t> paths;            ///< call path of the profile, by the rank's own path number
  std::optional<EventsOfRank> events;          ///< none: no events were kept
  FramePlace event_frames;                     ///< where the events are; no file: in events-<rank>.refrain
  std::vector<std::int32_t> function_columns;  ///< our column for each of the file's columns of functions; -1: none
  bool off_cpu_is_counted = false;             ///< whether time off the CPU in MPI, and waiting for a core, was counted
  bool off_cpu_of_calls_is_counted = false;    ///< whether MPI call paths have their part of it
  std::shared_ptr<const KeptPools> pools;      ///< how the user time of iterations is divided; null: not kept
};

/// Definitions that all ranks share.
struct ProfileDefinitions {
  std::string version;              ///< of the Refrain that wrote it
  std::int32_t ranks_expected = 1;  ///< size of the job
  bool complete = false;
  std::vector<std::string> regions;
  std::vector<ProfileModule> modules;
  std::vector<CallPath> paths;
};

/// A whole profile in memory: for tests, and for code that builds an experiment.
struct Profile : ProfileDefinitions {
  std::vector<Rank> ranks;  ///< ascending by rank; fewer than expected in an incomplete experiment
};

}  // namespace refrain::experiment
