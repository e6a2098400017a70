#pragma once
/// Turns the locations of this process into the view that is written. What a location goes on changing is copied while
/// it is held; it is encoded and written when it is not.

#include <optional>

#include "measurement/iterations.hpp"
#include "measurement/location.hpp"
#include "platform/modules.hpp"
#include "platform/pages.hpp"
#include "record/copies.hpp"
#include "record/rank_profile.hpp"

namespace refrain::record {

/// What a record tells of samples, by the folder that takes them.
struct Sampler {
  bool is_on_wall_clock;  ///< which then takes the place of the CPU clock
  std::int64_t (*cpu_time_without_ticks)(const measurement::Location& location);  ///< sampling/sampler.hpp
};

/// Owns what a RankRecord points to, but for what `frame` points to, the nodes of call trees, and, where the locations
/// stay as they are, what they hold of loops and messages.
class RankRecordBuilder {
 public:
  enum class Threads {
    Ended,    ///< all locations are closed
    Running,  ///< they are paused, but for the calling thread's; a call in progress will be counted later
    Going,    ///< they go on, and each is paused for as long as it takes to copy it; else the same
    Cut       ///< they are paused, and the process may end now: a call in progress counts as far as it has come
  };
  /// False: no memory, or a location could not be paused.
  [[nodiscard]] bool build(const RankRecord& frame, const Calibration& calibration, const Sampler& sampler,
                           Threads threads);
  const RankRecord& record() const { return record_; }
  /// A copy that lives as long as this, of what would change before the record is written.
  const measurement::Stretches* copy_of(const measurement::Stretches* stretches);

 private:
  [[nodiscard]] bool copy_modules();
  [[nodiscard]] bool add_held(measurement::Location& location);
  [[nodiscard]] bool add(const measurement::Location& location);
  /// What the record is to point to instead of `items`, which the location has.
  template <class T>
  std::span<const T> kept(std::span<const T> items) {
    return copies_are_needed_ ? copies_.of(items) : items;
  }
  /// Items that were collected, where they stay. The array is empty then.
  template <class T>
  std::span<const T> take(platform::GrowableArray<T>& items) {
    const std::span<const T> taken = copies_.of(items.view());
    items.clear();
    return taken;
  }
  void add_own_times(const measurement::Location& location, LocationRecord& record) const;
  /// A call in progress that is to be counted, how long it has lasted, and how much of that off the CPU since the last
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
  /// Of the rows that were added since the last one. `extra`: null: 0.
  [[nodiscard]] bool add_unit(const measurement::UnitTotals& totals, const std::int64_t* extra, std::int32_t loop,
                              std::int32_t cluster);
  /// A row of values for `node`, to be filled. Null: no memory.
  std::int64_t* add_row(std::uint32_t node, std::size_t columns);

  RankRecord record_{};
  Sampler sampler_{};
  std::int64_t cpu_ns_ = 0;                     ///< of all locations
  double outside_call_ = 0, outside_tick_ = 0;  ///< ticks of each call and tick before and after it is timed
  Threads threads_ = Threads::Ended;
  Copies copies_;
  bool copies_are_needed_ = false;  ///< the loops of the location in hand change before the record is written
  platform::GrowableArray<platform::Module> modules_;
  platform::GrowableArray<LocationRecord> locations_;
  // Of the location in hand.
  platform::GrowableArray<ValueRecord> rows_;  ///< of its unit in hand
  platform::GrowableArray<UnitRecord> units_;
  platform::GrowableArray<clustering::ClusterView> clusters_;  ///< of its loop in hand
  platform::GrowableArray<SlopeRecord> slopes_;                ///< likewise
  platform::GrowableArray<LoopRecord> loops_;
  platform::GrowableArray<waits::DurationTable::Entry> durations_;
};

}  // namespace refrain::record
