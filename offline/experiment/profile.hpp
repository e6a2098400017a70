#pragma once
/// What an experiment holds: definitions that all ranks share, and what each rank has measured, sparse per location and
/// unit. An Experiment (experiment.hpp) hands it out rank by rank. Nothing here is used inside a measured process.
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
  std::string build_id;  ///< lower-case hex, or what stands for it (format/file_identity.hpp); empty: neither
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

/// A metric that the user has asked for beside the time (REFRAIN_METRICS).
struct ExtraMetric {
  std::string name, unit;
};

/// What a unit has of these metrics. Rows are as wide as `totals`, which may be narrower than the list of metrics.
struct ExtraValues {
  std::vector<std::int64_t> totals;  ///< by RankDefinition::extra_metrics; of the whole unit
  /// Ascending by path: of MPI functions what was counted in their calls, of sampled functions what ticks have found.
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

/// A cluster of iterations: what it does not share with its unit. Vectors are by Loop::metrics.
struct Cluster {
  std::uint32_t label = 0, class_index = 0;
  bool overflow = false;  ///< holds iterations of several classes
  std::int64_t members = 0, first = 0, last = 0, exemplar = 0;
  std::vector<std::int64_t> minimum, maximum;
  std::vector<double> squares;  ///< sums of squared distances from the mean
};

struct FileSource;  // input_file.hpp
class KeptPools;    // kept_pools.hpp

/// A piece of what a loop has for every iteration, which stays in the file until it is asked for
/// (iteration_frames_reader.hpp).
struct FramePlace {
  std::shared_ptr<const FileSource> file;
  std::uint64_t offset = 0, size = 0;
  /// Instead of a file, for loops that are put together in memory.
  std::shared_ptr<const std::vector<std::byte>> contents;
};

/// How the columns of an MPI call path follow the overall metrics in the iterations of a class, as it was learned while
/// the program ran: their change per change of the first and of the second metric that they follow.
struct PathSlopes {
  std::uint32_t path;
  float first[format::columns_of(NodeKind::Region)] = {}, second[format::columns_of(NodeKind::Region)] = {};
};
struct ClassSlopes {
  std::uint32_t class_index = 0;
  std::vector<PathSlopes> paths;  ///< ascending by path; those that are not here do not change
};
/// Indices of Loop::metrics that a column of MPI call paths follows; -1: none.
struct Follows {
  std::int32_t first = -1, second = -1;
};

/// A loop of one location. Read its log with offline/run/iterations.hpp.
struct Loop {
  std::string name;
  std::int64_t iterations = 0;
  std::vector<OverallMetric> metrics;
  std::vector<Cluster> clusters;                ///< by Unit::cluster
  std::vector<FramePlace> log;                  ///< blocks, in order of time
  std::vector<FramePlace> of_first_thread;      ///< the log of the same loop of the rank's first thread, on others
  std::uint64_t whole_records = 0;              ///< of the log (format::end_of_record)
  std::vector<format::TimedIteration> slowest;  ///< the slowest first; none: they are not known
  std::vector<FramePlace> merges;               ///< pairs of labels, in order of time
  std::vector<FramePlace> samples;              ///< of single iterations; none or one
  bool samples_hashed = true;                   ///< which ones these are: format/kept_iterations.hpp
  std::vector<ClassSlopes> slopes;              ///< ascending by class; none: they are not known
  std::vector<Follows> follows;                 ///< by column of an MPI call path, when there are slopes
};

/// A call path in the whole run of a location.
struct PathTotals {
  std::uint32_t path;
  std::uint32_t first;  ///< index of the first column in RunTotals::columns; columns_of(kind) of them
  std::int64_t ticks;   ///< of an MPI function its MPI time, of a sampled one its share of the user time
};

/// What the run of a location comes to: the time rules applied to each of its units, and the results added up.
struct RunTotals {
  format::UnitTotals totals;
  format::UnitTimes times;
  std::vector<PathTotals> paths;  ///< ascending by path
  std::vector<std::int64_t> columns;
  /// Here the values of call paths are their shares, of sampled functions too, and with `extra_no_path` they add up to
  /// the totals. A call path without any has no row.
  ExtraValues extra;
  std::vector<std::int64_t> extra_no_path;  ///< by metric, as `extra.totals`
};

/// How long calls of one class at one call path have taken, in ticks.
struct CallDurations {
  std::uint32_t path;
  waits::CallClass of;
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
  std::vector<CallDurations> durations;                                 ///< ascending by path, then by class

  bool has(format::Loss loss) const {
    const auto at = static_cast<std::size_t>(loss);
    return at < losses.size() && losses[at] > 0;
  }
};

struct Location : LocationDefinition {
  std::optional<RunTotals> run;  ///< of all units, where the file has it
  std::vector<Unit> units;       ///< none when only the run was read (Depth::Run)
  std::vector<Loop> loops;       ///< by Unit::loop
};

/// World ranks, as runs: communicators of whole jobs are one run each.
class MemberList {
 public:
  /// first, first + stride, ..., `length` of them, at least one.
  void append(std::int32_t first, std::int32_t stride, std::size_t length) {
    runs_.push_back({size_, first, stride});
    size_ += length;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// How many are outside MPI_COMM_WORLD, which is -1 in the list.
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
  std::int64_t made = 1;  ///< how many it stands for, one after the other
};

struct Window {
  std::int32_t communicator = -1;  ///< id in the same rank, or -1
  format::WindowKind kind{};
  std::int64_t made = 1;  ///< how many it stands for, one after the other
  std::string name;
  std::vector<format::WindowTraffic> targets;  ///< ascending
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
  std::vector<Run> at_begin, at_end;         ///< ascending; none: not known
  std::int64_t quota_in_thousandths = 0;     ///< of a core, by the control group; 0: no quota
  std::optional<std::int64_t> throttled_ns;  ///< for which quotas have held back threads of the control group
  std::optional<std::int64_t> taken_ns;  ///< what interrupts and the hypervisor have taken of the cores at the begin

  bool known() const { return !at_begin.empty() || !at_end.empty(); }
  /// What the rank could use at its end: a program that binds its threads does that after the start.
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
  /// What can be counted on one machine may be missing on another: each rank has a list of its own.
  std::vector<ExtraMetric> extra_metrics;
  std::vector<std::size_t> asked_for;  ///< which of them REFRAIN_METRICS has named, in the order of the run
  std::vector<Communicator> communicators;
  std::vector<Window> windows;
};

/// The rank's counter and the clock of its machine (CLOCK_MONOTONIC) at the same moment.
struct ClockReading {
  std::int64_t ticks = 0, monotonic_ns = 0;
};

/// What there is of a location in the file of events.
/// Messages that were sampled one by one, those whose numbers format/kept_iterations.hpp chooses at that level.
struct MessageSample {
  unsigned level = 0;
  std::uint64_t lost = 0;       ///< messages that could not be sampled
  std::int64_t begin_time = 0;  ///< ticks; 0: none was sampled
  std::vector<events::SampledMessage> messages;
};

struct EventsOfLocation {
  std::int32_t thread = 0;
  std::uint64_t records = 0, iterations = 0, lost = 0;
  std::vector<std::uint32_t> paths;      ///< of the profile, by node
  std::optional<MessageSample> sampled;  ///< none: the sample of messages did not begin
};

/// Of a rank; read the events with events_reader.hpp.
struct EventsOfRank {
  format::EventMode mode{};
  std::uint64_t bytes = 0;  ///< of the file, or what it had when this was written
  ClockReading first, last;
  std::uint32_t first_region = 0;    ///< id that marks and spans have of the first of `regions`
  std::vector<std::string> regions;  ///< loops and regions of the program
  std::vector<EventsOfLocation> locations;
  /// Of a sample of iterations: one of 2^level of a loop is in the file. `region` is one of `regions`, or 0: time
  /// outside of iterations.
  struct Level {
    std::uint32_t region;
    unsigned level;
  };
  std::vector<Level> levels;
  struct Slow {
    std::uint32_t region;
    std::uint32_t ranks;  ///< that have it; 1 before they have agreed
    std::int64_t iteration;
  };
  std::vector<Slow> slowest;  ///< beside these
  /// Of the first thread, what stands for iterations where no loop is marked (docs/events.md): from one blocking
  /// collective operation of all processes to the next.
  struct StretchClass {
    /// Call paths of the operations. events::no_node: nothing has opened the first; both: of several classes.
    std::uint32_t opened, closed;
    std::uint64_t count;
    std::uint64_t ticks;  ///< all of them together
  };
  /// Ranks with the same number have the same clock.
  std::uint64_t clock = 0;
  /// The clock of another rank, as this one saw it: what to add to the own one for it, and by what that may be wrong.
  struct ClockOffset {
    std::int32_t rank;
    std::int64_t at_ns, offset_ns, round_trip_ns;
  };
  std::vector<ClockOffset> clock_offsets;
  std::uint64_t stretches = 0, stretches_hash = 0;
  std::vector<StretchClass> stretch_classes;
  bool levels_agreed = true;  ///< all ranks have kept the same iterations; else more than these are in the file
};

struct Rank : RankDefinition {
  std::vector<Location> locations;
  std::uint64_t spilled_bytes = 0;             ///< of iterations-<rank>.refrain that `locations` refer to
  std::vector<std::uint32_t> paths;            ///< the path of the profile for each number that the rank itself gave
  std::optional<EventsOfRank> events;          ///< none: no events were kept
  FramePlace event_frames;                     ///< where they are; no file: in events-<rank>.refrain
  std::vector<std::int32_t> function_columns;  ///< by column that the file has of functions: ours; -1: none
  bool off_cpu_is_counted = false;             ///< what of the time off the CPU was in MPI, and waiting for a core
  bool off_cpu_is_by_call = false;             ///< ... and in which call paths to MPI
  std::shared_ptr<const KeptPools> pools;      ///< how the user time of iterations is divided; null: that is not kept
};

/// What all ranks share.
struct ProfileDefinitions {
  std::string version;              ///< of the Refrain that wrote it
  std::int32_t ranks_expected = 1;  ///< size of the job
  bool complete = false;
  std::vector<std::string> regions;
  std::vector<ProfileModule> modules;
  std::vector<CallPath> paths;
};

/// All of it in memory: for tests, and for who has put an experiment together.
struct Profile : ProfileDefinitions {
  std::vector<Rank> ranks;  ///< ascending by rank; fewer than expected in an incomplete experiment
};

}  // namespace refrain::experiment
