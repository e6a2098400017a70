#pragma once
/// Turns the locations of this process into the view that the archive writes.

#include <optional>

#include "record/rank_profile.hpp"
#include "measurement/iterations.hpp"
#include "measurement/location.hpp"
#include "platform/modules.hpp"
#include "platform/pages.hpp"
#include "runtime/calibration.hpp"
#include "runtime/copies.hpp"

namespace refrain::runtime {

/// Owns what a RankRecord points to, but for what `frame` points to and, where the locations stay as they are, what
/// they hold of loops and messages.
class RankRecordBuilder {
 public:
  enum class Threads {
    Ended,    ///< all locations are closed
    Running,  ///< they are paused, but for the calling thread's; a call in progress will be counted later
    Going,    ///< they go on, and each is paused for as long as it takes to copy it; else the same
    Cut       ///< they are paused, and the process may end now: a call in progress counts as far as it has come
  };
  /// False: no memory, or a location could not be paused. `wall_clock_weights`: ticks came on the wall clock, so it
  /// takes the place of the CPU clock.
  [[nodiscard]] bool build(const record::RankRecord& frame, const Calibration& calibration, bool wall_clock_weights,
                           Threads threads);
  const record::RankRecord& record() const { return record_; }
  /// A copy that lives as long as this, of what would change before the record is written.
  record::StretchesRecord copy_of(const record::StretchesRecord& stretches);

 private:
  /// Where the items of one owner begin in an array of all owners' items, and how many they are. Arrays move while they
  /// grow, so everything is collected first and pointed to afterwards.
  struct Extent {
    std::size_t first, count;
  };
  struct LocationExtents {
    Extent nodes, units, loops, durations;
  };

  [[nodiscard]] bool copy_modules();
  [[nodiscard]] bool add_held(measurement::Location& location);
  [[nodiscard]] bool add(const measurement::Location& location);
  /// What the record is to point to instead of `items`, which the location has.
  template <class T>
  std::span<const T> kept(std::span<const T> items) {
    return copies_are_needed_ ? copies_.of(items) : items;
  }
  void add_own_times(const measurement::Location& location, record::LocationRecord& record) const;
  bool is_held(const measurement::Location& location) const;
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
  [[nodiscard]] bool add_unit(const measurement::UnitTotals& totals, const std::int64_t* extra, std::int32_t loop,
                              std::int32_t cluster, std::size_t first_value);
  /// A row of values for `node`, to be filled.
  std::int64_t* add_row(std::uint32_t node, std::size_t columns);
  std::uint64_t key_of(const measurement::Node& node) const;
  void point();

  record::RankRecord record_{};
  bool wall_clock_weights_ = false;
  std::int64_t cpu_ns_ = 0;                     ///< of all locations
  double outside_call_ = 0, outside_tick_ = 0;  ///< ticks of each call and tick before and after it is timed
  Threads threads_ = Threads::Ended;
  Copies copies_;
  bool copies_are_needed_ = false;  ///< the loops of the location in hand change before the record is written
  platform::GrowableArray<const char*> region_names_;
  std::size_t first_user_name_ = 0;  ///< among them
  platform::GrowableArray<platform::Module> modules_;
  platform::GrowableArray<record::NodeRecord> nodes_;
  platform::GrowableArray<std::int64_t> numbers_;
  platform::GrowableArray<record::ValueRecord> values_;
  platform::GrowableArray<std::size_t> value_places_;  ///< of each value in `numbers_`
  platform::GrowableArray<record::UnitRecord> units_;
  platform::GrowableArray<Extent> unit_values_;
  platform::GrowableArray<record::ClusterRecord> clusters_;
  platform::GrowableArray<record::LoopRecord> loops_;
  platform::GrowableArray<Extent> loop_clusters_;
  platform::GrowableArray<record::SlopeRecord> slopes_;
  platform::GrowableArray<float> slope_values_;  ///< of each slope record: the first slopes, then the second ones
  platform::GrowableArray<Extent> loop_slopes_;
  platform::GrowableArray<waits::DurationTable::Entry> durations_;
  platform::GrowableArray<record::LocationRecord> locations_;
  platform::GrowableArray<LocationExtents> extents_;
};

}  // namespace refrain::runtime
