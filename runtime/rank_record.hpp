#pragma once
/// Turns the closed locations of this process into the view that the archive writes.

#include "archive/rank_profile.hpp"
#include "measurement/location.hpp"
#include "platform/pages.hpp"

namespace refrain::runtime {

/// Owns what a RankRecord points to. All locations must be closed.
class RankRecordBuilder {
 public:
  /// False: no memory. `wall_clock_weights`: ticks came on the wall clock, so it takes the place of the CPU clock.
  [[nodiscard]] bool build(const archive::RankRecord& frame, bool wall_clock_weights);
  const archive::RankRecord& record() const { return record_; }

 private:
  [[nodiscard]] bool add(const measurement::Location& location);

  archive::RankRecord record_{};
  bool wall_clock_weights_ = false;
  // Everything is collected first and pointed to afterwards: arrays move while they grow.
  struct Extent {
    std::size_t first_node, nodes, first_value, values;
  };
  platform::GrowableArray<archive::NodeRecord> nodes_;
  platform::GrowableArray<archive::ValueRecord> values_;
  platform::GrowableArray<archive::UnitRecord> units_;
  platform::GrowableArray<archive::LocationRecord> locations_;
  platform::GrowableArray<Extent> extents_;
};

}  // namespace refrain::runtime
