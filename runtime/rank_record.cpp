#include "runtime/rank_record.hpp"

#include <algorithm>
#include <cstring>

#include "measurement/locations.hpp"

namespace refrain::runtime {

using measurement::Location;

bool RankRecordBuilder::add(const Location& l) {
  Extent extent{nodes_.size(), l.tree.size(), values_.size(), 0};
  if (!nodes_.reserve(nodes_.size() + l.tree.size())) return false;
  for (std::uint32_t id = 0; id < l.tree.size(); ++id) {
    const measurement::Node& n = l.tree.node(measurement::NodeId{id});
    if (!nodes_.push_back({n.parent, n.generation, n.key, n.kind})) return false;
    if (const std::int64_t* row = l.tree.values_of(n))
      if (!values_.push_back({id, row})) return false;
  }
  extent.values = values_.size() - extent.first_value;

  archive::UnitRecord unit{};
  unit.loop = unit.cluster = -1;
  unit.wall = l.unit.wall;
  unit.mpi = l.unit.mpi;
  unit.own = l.unit.own;
  unit.cpu_ns = l.unit.cpu_ns;
  if (wall_clock_weights_) {
    const double seconds =
        static_cast<double>(l.unit.wall) / platform::ticks_per_second(record_.first_anchor, record_.last_anchor);
    unit.cpu_ns = static_cast<std::int64_t>(seconds * 1e9);
  }
  unit.mpi_calls = l.unit.mpi_calls;
  unit.ticks_user = l.unit.ticks_user;
  unit.ticks_mpi = l.unit.ticks_mpi;
  unit.ticks_lost = l.unit.ticks_lost;
  unit.weight_user_ns = l.unit.weight_user_ns;
  unit.weight_mpi_ns = l.unit.weight_mpi_ns;
  unit.weight_user_squared = l.unit.weight_user_squared;

  archive::LocationRecord location{};
  location.thread = l.thread;
  location.os_thread_id = l.os_thread_id;
  std::memcpy(location.name, l.name, sizeof location.name);
  location.begin = l.first_begin;
  location.end = l.end;
  std::memcpy(location.losses, l.losses, sizeof location.losses);
  location.arena_bytes = static_cast<std::int64_t>(l.tree.bytes_in_use());
  return units_.push_back(unit) && locations_.push_back(location) && extents_.push_back(extent);
}

bool RankRecordBuilder::build(const archive::RankRecord& frame, bool wall_clock_weights) {
  record_ = frame;
  wall_clock_weights_ = wall_clock_weights;
  std::size_t count = 0;
  for (const Location* l = measurement::first_location(); l; l = l->next) ++count;
  // The list is newest first; locations are written in the order of their threads.
  for (std::size_t thread = 0; thread < count; ++thread)
    for (const Location* l = measurement::first_location(); l; l = l->next)
      if (l->thread == static_cast<std::int32_t>(thread) && l->first_begin && !add(*l)) return false;

  for (std::size_t i = 0; i < locations_.size(); ++i) {
    const Extent& e = extents_[i];
    units_[i].values = {values_.data() + e.first_value, e.values};
    locations_[i].nodes = {nodes_.data() + e.first_node, e.nodes};
    locations_[i].units = {units_.data() + i, 1};
  }
  record_.locations = locations_.view();
  return true;
}

}  // namespace refrain::runtime
