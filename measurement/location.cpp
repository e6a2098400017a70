#include "measurement/location.hpp"

#include "measurement/entrance.hpp"
#include "measurement/mpi_call.hpp"
#include "platform/hot.hpp"

namespace refrain::measurement {

void end_unit(Location& l, platform::Ticks now, std::int64_t cpu_now_ns) {
  if (&l == own_location()) look_at_boundary(l, now);
  const std::int64_t cpu_ns = cpu_now_ns > l.cpu_begin_ns ? cpu_now_ns - l.cpu_begin_ns : 0;
  const platform::Ticks wall = now - l.begin;
  l.begin = now;
  l.cpu_begin_ns = cpu_now_ns;
  if (l.stopped) [[unlikely]] {
    l.while_stopped.wall += wall;
    l.while_stopped.cpu_ns += cpu_ns;
    l.unit = l.while_stopped.unit;
    l.while_stopped.unit = {};
    return;
  }
  l.unit.wall += wall;
  l.unit.cpu_ns += cpu_ns;
  if (!l.extra) return;
  take_reading(l, false);
  end_unit_readings(*l.extra);
}

void start_unit_anew(Location& l) {
  l.unit = {};
  l.tree.start_anew();
  if (!l.extra) return;
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) l.extra->unit[i] = 0;
}

void count_unit_outside(Location& l) {
  l.outside += l.unit;
  l.unit = {};
  l.tree.count_outside();
  if (!l.extra) return;
  for (std::uint32_t i = 0; i < extra_metrics.count; ++i) {
    l.extra->outside[i] += l.extra->unit[i];
    l.extra->unit[i] = 0;
  }
}

namespace {

/// Puts the open marks into a path. An activation with marks has several nodes: the call site of each mark with the
/// mark below it, and below the innermost mark the present position in the function.
class MarkPlacer {
 public:
  MarkPlacer(Location& location, const unwind::Walk& walk, bool& full)
      : location_(location), walk_(walk), full_(full), count_(location.marks ? location.marks->count : 0) {}

  /// The parent of frame `i`, given the node of the next outer frame.
  NodeId above(NodeId node, std::uint32_t i) {
    if (next_ == count_ || i == 0) return node;
    const unwind::Frame& outer = walk_.frames[i - 1];  // the frame ends where its stack pointer is
    const OpenMark* open = location_.marks->open;
    for (; next_ < count_ && open[next_].frame >= outer.sp; ++next_) {
      const OpenMark& mark = open[next_];
      // The tags of reused frames contain their marks. A mark with this frame but another caller belongs to a function
      // that was left without the end of the mark.
      if (mark.frame != outer.sp || mark.caller != outer.pc) continue;
      node = location_.tree.child(node, NodeKind::Frame, mark.site, full_);
      node = location_.tree.child(node, NodeKind::Marked, static_cast<std::uint64_t>(mark.region), full_);
    }
    return node;
  }

 private:
  Location& location_;
  const unwind::Walk& walk_;
  bool& full_;
  const std::uint32_t count_;
  std::uint32_t next_ = 0;
};

/// The value row of the region below a path. Sets the node of the call.
std::int64_t* enter_below(Location& l, NodeId path, RegionId region, bool& full) {
  l.call.node = l.tree.child(path, NodeKind::Region, static_cast<std::uint64_t>(region), full);
  if (full) l.count_loss(Loss::ArenaFull);
  return l.tree.values(l.call.node);
}

}  // namespace

NodeId path_of(Location& location, const unwind::Start& start, Activation* innermost) {
  const unwind::Walk walk = location.walker.walk(start);
  bool full = false;
  NodeId node = root_node;
  std::uint32_t i = walk.reused;
  if (i > 0) {
    node = NodeId{walk.frames[i - 1].tag};
  } else if (walk.end != unwind::WalkEnd::Complete) {
    node = location.tree.child(root_node, NodeKind::Special, static_cast<std::uint64_t>(SpecialPath::Truncated), full);
  }
  MarkPlacer marks(location, walk, full);
  for (; i < walk.depth; ++i) {
    unwind::Frame& frame = walk.frames[i];
    // An interrupted function is one node, whichever of its instructions was hit.
    const NodeKind kind = frame.exact ? NodeKind::Function : NodeKind::Frame;
    const std::uintptr_t key = frame.exact && frame.function ? frame.function : frame.pc;
    node = location.tree.child(marks.above(node, i), kind, key, full);
    frame.tag = static_cast<std::uint32_t>(node);
  }
  switch (walk.end) {
    case unwind::WalkEnd::Complete: break;
    case unwind::WalkEnd::NoTables: location.count_loss(Loss::TruncatedNoTables); break;
    case unwind::WalkEnd::BadStack: location.count_loss(Loss::TruncatedBadStack); break;
    case unwind::WalkEnd::DepthLimit: location.count_loss(Loss::TruncatedDepth); break;
  }
  if (full) location.count_loss(Loss::ArenaFull);
  if (innermost) {
    *innermost = {0, 0, walk.depth - 1};
    if (walk.depth > 1) innermost->frame = walk.frames[walk.depth - 2].sp;
    if (walk.depth > 1) innermost->caller = walk.frames[walk.depth - 2].pc;
  }
  return node;
}

std::int64_t* enter_region_anew(Location& l, RegionId region, const platform::Registers& registers,
                                unwind::Frame* known) {
  bool full = false;
  if (!known) return enter_below(l, path_of(l, {registers, false, nullptr}), region, full);
  std::int64_t* row = enter_below(l, NodeId{known->tag}, region, full);
  if (!full)
    known->notes = {static_cast<std::uint32_t>(region), static_cast<std::uint32_t>(l.call.node), l.tree.offset_of(row),
                    l.tree.stamp()};
  l.walker.keep(*known);
  return row;
}

}  // namespace refrain::measurement
