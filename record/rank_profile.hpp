#pragma once
/// What one process writes at the end, or in a snapshot: a view that owns nothing. Times are in ticks of the process's
/// counter unless a name says otherwise; ids are local to the process.
///
/// RankRecordBuilder fills it from the locations; the writer (writer.hpp) turns it into the file. Where measurement/
/// and clustering/ have types for the data, it uses them.

#include <cstdint>
#include <span>

#include "clustering/clusterer.hpp"
#include "format/event_file.hpp"
#include "format/kept_iterations.hpp"
#include "measurement/definitions.hpp"
#include "measurement/event_log.hpp"
#include "measurement/extra_metrics.hpp"
#include "measurement/iterations.hpp"
#include "measurement/metrics.hpp"
#include "platform/clock.hpp"
#include "platform/cores.hpp"
#include "platform/modules.hpp"
#include "waits/durations.hpp"

namespace refrain::record {

using measurement::CommunicatorRecord;
using measurement::Node;
using measurement::NodeKind;
using measurement::WindowRecord;
using measurement::WindowTraffic;

/// The values of one node in one unit: `columns_of(kind)` integers in the order of format/metrics.def, then, for kinds
/// that have them, one for each extra metric (measurement/extra_metrics.hpp).
struct ValueRecord {
  std::uint32_t node;
  const std::int64_t* values;
};

/// A unit: the time outside of iterations (`loop` = -1), a cluster of iterations, or the time for which the measurement
/// was stopped (measurement::stopped_unit).
struct UnitRecord : measurement::UnitTotals {
  std::int32_t loop;
  std::int32_t cluster;
  std::span<const ValueRecord> values;
  std::int64_t extra[measurement::max_extra_metrics];  ///< totals of the extra metrics
};

/// How the columns of one MPI call path scale with the overall metrics in the iterations of a class
/// (RankRecord::mpi_call_columns).
struct SlopeRecord {
  std::uint32_t class_index;
  std::uint32_t node;
  /// One slope per column; 0 if the column did not vary.
  float first[measurement::columns_of(NodeKind::Region)], second[measurement::columns_of(NodeKind::Region)];
};

/// A loop of one location.
struct LoopRecord {
  const char* name;
  std::uint64_t iterations;
  /// UnitRecord::cluster is the index. Sums are in the unit of the same loop and cluster; other values have one entry
  /// per metric of whole iterations (format::logged_metrics).
  std::span<const clustering::ClusterView> clusters;
  std::span<const clustering::Merge> merges;
  std::span<const std::byte> log;       ///< closed blocks (clustering/iteration_log.hpp)
  std::span<const std::byte> log_tail;  ///< the last block
  /// Samples of single iterations (clustering/sample_store.hpp), by nodes that are functions. Empty: none are kept.
  std::span<const std::byte> samples;
  std::span<const std::int32_t> references;  ///< for decoding the samples
  format::KeptIterations kept;               ///< which iterations have samples
  std::uint64_t sampled;                     ///< how many iterations were considered for that
  std::span<const SlopeRecord> slopes;       ///< ascending by class; a class whose slopes are unknown has none
  measurement::PassedIterations::Sum passed[2];
  std::uint64_t thinned_from;  ///< first iteration of a group of which only one is kept
  unsigned level;              ///< level of the last group; 0: nothing is thinned
  measurement::SlowestIterations slowest;
};

/// The offset of the clock of another rank's machine, as this rank measured it.
struct ClockOffset {
  std::int32_t rank;
  std::int64_t at_ns;          ///< when it was measured, on this machine's monotonic clock
  std::int64_t offset_ns;      ///< the other clock minus this one
  std::int64_t round_trip_ns;  ///< the offset is wrong by at most half of it
};

/// One of 2^level iterations of a loop is in the file of events.
struct EventLevel {
  std::uint16_t region;  ///< 0: time outside of iterations
  std::uint8_t level;
};

/// An iteration that is in the file of events because it was among the slowest.
struct SlowIteration {
  std::uint16_t region;  ///< the loop
  std::uint32_t ranks;   ///< how many ranks have kept it
  std::uint64_t number;
};

/// Messages that were sampled one by one (events/matched_sample.hpp).
struct MatchedRecord {
  bool is_on;  ///< false: no messages were sampled
  unsigned level;
  std::uint64_t lost;
  std::int64_t begin_time;
  std::span<const events::SampledMessage> messages;
};

struct LocationRecord {
  std::int32_t thread;  ///< 0 is the thread that the process began with
  std::int64_t os_thread_id;
  char name[32];                ///< "main", or the thread's name
  std::int64_t begin;           ///< ticks
  std::int64_t end;             ///< ticks
  std::span<const Node> nodes;  ///< the call tree; the values are in the units
  std::span<const UnitRecord> units;
  std::span<const LoopRecord> loops;  ///< UnitRecord::loop is the index
  std::int64_t losses[measurement::loss_count];
  std::int64_t arena_bytes;                                         ///< memory of the call tree in use
  measurement::OwnTimeMean own_times[measurement::own_time_count];  ///< mean cost of each, ticks; 0 timed: unknown
  measurement::EventCounts events;
  MatchedRecord matched;
  std::span<const waits::DurationTable::Entry> durations;
};

/// The cost of a piece of bookkeeping, calibrated at start.
struct CalibratedCost {
  double median;  ///< ticks
  double low;     ///< 5th percentile of the calibration
  double high;    ///< 95th percentile
};

/// The cost of Refrain's own bookkeeping on this machine.
struct Calibration {
  CalibratedCost call;            ///< of one MPI call beyond the call itself: path of 10 frames, steady state
  CalibratedCost tick;            ///< of one tick in user code, including signal delivery and re-arming
  double timed_call, timed_tick;  ///< the part of it that measurement/own_time.hpp times; the rest hardly changes
};

struct RankRecord {
  std::int32_t rank;
  std::int32_t ranks;
  std::int64_t process_id;
  char host[64];
  platform::ClockAnchor first_anchor;
  platform::ClockAnchor last_anchor;
  std::int64_t begin_epoch_ns;
  platform::Cores cores_at_begin, cores_at_end;  ///< cores that the process may run on; none: unknown
  std::int64_t cpu_quota_in_thousandths;         ///< thousandths of a core; 0: no quota
  std::int64_t throttled_ns;                     ///< how long CPU quotas held back the control group; -1: unknown
  std::int64_t taken_ns;  ///< taken from `cores_at_begin` by interrupts and hypervisor; -1: unknown
  CalibratedCost call_cost;
  CalibratedCost tick_cost;
  std::span<const platform::Module> modules;
  std::span<const char* const> region_names;  ///< names of MPI's functions by RegionId
  std::span<const LocationRecord> locations;
  std::span<const measurement::ExtraMetric> extra_metrics;
  std::span<const CommunicatorRecord> communicators;
  std::span<const WindowRecord> windows;
  std::span<const WindowTraffic> window_traffic;         ///< refers to `windows` by index
  std::span<const clustering::Column> mpi_call_columns;  ///< with the overall metrics that they scale with
  std::uint64_t spilled_bytes;                           ///< size of what stays in iterations-<rank>.refrain
  std::span<const std::byte> early_iterations;           ///< frames of that file that the record takes in
  std::span<const char* const> user_regions;             ///< names; their ids begin at measurement::first_user_region
  format::EventMode event_mode;                          ///< Off: there is no events-<rank>.refrain
  std::uint64_t event_bytes;                             ///< size of that file
  std::span<const std::byte> event_frames;               ///< frames that the record takes in instead
  std::span<const EventLevel> event_levels;              ///< of a sample (EventMode::Sampled)
  std::span<const SlowIteration> slowest;                ///< likewise
  bool events_agreed;                                    ///< all ranks have agreed on these two
  const measurement::Stretches* stretches;               ///< likewise, of the first thread; null: there are none
  std::uint64_t clock;                                   ///< identity of this machine's clock; 0 if there are no events
  std::span<const ClockOffset> clock_offsets;
};

}  // namespace refrain::record
