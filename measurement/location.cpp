#include "measurement/location.hpp"

#include "measurement/mpi_call.hpp"

namespace refrain::measurement {

constinit thread_local Location* current_location = nullptr;

NodeId path_of(Location& location, const unwind::Start& start) {
  const unwind::Walk walk = location.walker.walk(start);
  bool full = false;
  NodeId node = root_node;
  std::uint32_t i = walk.reused;
  if (i > 0) {
    node = NodeId{walk.frames[i - 1].tag};
  } else if (walk.end != unwind::WalkEnd::Complete) {
    node = location.tree.child(root_node, NodeKind::Special, static_cast<std::uint64_t>(SpecialPath::Truncated), full);
  }
  for (; i < walk.depth; ++i) {
    unwind::Frame& frame = walk.frames[i];
    // An interrupted function is one node however many of its instructions were hit.
    const NodeKind kind = frame.exact ? NodeKind::Function : NodeKind::Frame;
    const std::uintptr_t key = frame.exact && frame.function ? frame.function : frame.pc;
    node = location.tree.child(node, kind, key, full);
    frame.tag = static_cast<std::uint32_t>(node);
  }
  switch (walk.end) {
    case unwind::WalkEnd::Complete: break;
    case unwind::WalkEnd::NoTables: location.count_loss(Loss::TruncatedNoTables); break;
    case unwind::WalkEnd::BadStack: location.count_loss(Loss::TruncatedBadStack); break;
    case unwind::WalkEnd::DepthLimit: location.count_loss(Loss::TruncatedDepth); break;
  }
  if (full) location.count_loss(Loss::ArenaFull);
  return node;
}

std::int64_t* enter_region(Location& location, RegionId region, const platform::Registers& registers) {
  if (location.closing.load(std::memory_order_relaxed)) [[unlikely]] {
    location.inside.store(Inside::Closed, std::memory_order_relaxed);
    return nullptr;
  }
  const NodeId path = path_of(location, {registers, false, nullptr});
  bool full = false;
  const NodeId leaf = location.tree.child(path, NodeKind::Region, static_cast<std::uint64_t>(region), full);
  if (full) location.count_loss(Loss::ArenaFull);
  return location.tree.values(leaf);
}

bool leave_abandoned_scope(Location& location, std::uintptr_t sp) {
  const Inside inside = location.inside.load(std::memory_order_relaxed);
  if (inside == Inside::Closed || location.closing.load(std::memory_order_relaxed)) return false;
  // A live scope's frame lies outside of everything it called. 64 KiB apart at most: another stack (a fiber) proves
  // nothing.
  if (sp <= location.scope_sp || sp - location.scope_sp > 64 * 1024) return false;
  location.walker.forget();
  location.inside.store(Inside::User, std::memory_order_relaxed);
  return true;
}

}  // namespace refrain::measurement
