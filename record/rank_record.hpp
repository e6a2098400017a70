#pragma once
/// Turns the locations of this process into the view that is written. Data that a location goes on changing are copied
/// while it is held; they are encoded and written when it is no longer held.

#include <optional>

#include "measurement/iterations.hpp"
#include "measurement/location.hpp"
#include "platform/modules.hpp"
#include "platform/pages.hpp"
#include "record/copies.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

/// What a record says about samples. Passed in, because sampling/ is not below this folder.
struct Sampler {
  bool is_on_wall_clock;  ///< the wall clock replaces the CPU clock
  std::int64_t (*cpu_time_without_ticks)(const measurement::Location& location);  ///< sampling/sampler.hpp
};

/// Owns what a RankRecord points to, except what `frame` points to, the nodes of call trees, and, where the locations
/// do not change, their loops and messages.
class RankRecordBuilder {
 public:
  enum class Threads {
    Ended,    ///< all locations are closed
    Running,  ///< all are paused but the calling thread's; a call in progress will be counted later
    Going,    ///< as Running, but threads go on, and each is paused only while it is copied
    Cut       ///< all are paused, and the process may end now: a call in progress counts up to now
  };
  /// False: no memory, or a location could not be paused.
  [[nodiscard]] bool build(const RankRecord& frame, const Calibration& calibration, const Sampler& sampler,
                           Threads threads);
  const RankRecord& record() const { return record_; }
  /// Copies data that would change before the record is written. The copy lives as long as this object.
  const measurement::Stretches* copy_of(const measurement::Stretches* stretches);

 private:
  [[nodiscard]] bool copy_modules();
  [[nodiscard]] bool add_held(measurement::Location& location);
  [[nodiscard]] bool add(const measurement::Location& location);
  /// `items` of the location, or a copy of them if they may change before the record is written.
  template <class T>
  std::span<const T> kept(std::span<const T> items) {
    return copies_are_needed_ ? copies_.of(items) : items;
  }
  /// Moves collected items to where they stay, and empties the array.
  template <class T>
  std::span<const T> take(platform::GrowableArray<T>& items) {
    const std::span<const T> taken = copies_.of(items.view());
    items.clear();
    return taken;
  }
  void add_own_times(const measurement::Location& location, LocationRecord& record) const;
  /// A call in progress that counts: how long it has lasted, and how much of that it was off the CPU since the last
  /// look.
  struct CallInProgress {
    measurement::NodeId node;
    platform::Ticks time;
    std::int64_t off_ns;
  };
  [[nodiscard]] bool add_outside(const measurement::Location& location, const measurement::UnitTotals& in_progress,
                                 const std::optional<CallInProgress>& call);
  [[nodiscard]] bool add_stopped(const measurement::Location& location, platform::Ticks end, std::int64_t cpu_end_ns);
  [[nodiscard]] bool add_loop(const measurement::Location& location, measurement::ClusteredLoop& loop,
                              std::int32_t index);
  [[nodiscard]] bool add_passed(const measurement::Location& location, const measurement::ClusteredLoop& loop,
                                std::int32_t loop_index);
  [[nodiscard]] bool add_slopes(const measurement::ClusteredLoop& loop);
  [[nodiscard]] bool add_cluster(const measurement::ClusteredLoop& loop, std::uint32_t index, std::int32_t loop_index);
  [[nodiscard]] bool push_cluster(clustering::ClusterView cluster);
  /// Adds a unit with the rows that were added since the previous one. `extra` null: zeros.
  [[nodiscard]] bool add_unit(const measurement::UnitTotals& totals, const std::int64_t* extra, std::int32_t loop,
                              std::int32_t cluster);
  /// Adds a row of values for `node`, to be filled in. Null: no memory.
  std::int64_t* add_row(std::uint32_t node, std::size_t columns);

  RankRecord record_{};
  Sampler sampler_{};
  std::int64_t cpu_ns_ = 0;                     ///< sum over all locations
  double outside_call_ = 0, outside_tick_ = 0;  ///< untimed part of a call and a tick, ticks
  Threads threads_ = Threads::Ended;
  Copies copies_;
  bool copies_are_needed_ = false;  ///< the current location's loops may change before the record is written
  platform::GrowableArray<platform::Module> modules_;
  platform::GrowableArray<LocationRecord> locations_;
  // Of the current location.
  platform::GrowableArray<ValueRecord> rows_;  ///< of its current unit
  platform::GrowableArray<UnitRecord> units_;
  platform::GrowableArray<clustering::ClusterView> clusters_;  ///< of its current loop
  platform::GrowableArray<SlopeRecord> slopes_;                ///< likewise
  platform::GrowableArray<LoopRecord> loops_;
  platform::GrowableArray<waits::DurationTable::Entry> durations_;
};

}  // namespace refrain::record
