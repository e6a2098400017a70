#pragma once
/// The call tree of one location: nodes keyed by (parent, kind, key), value rows beside them, in one reserved range of
/// memory that is addressed by 32-bit offsets and never moves.
///
/// Thread safety: one writer, the owning thread or its handler, never both at once (measurement/location.hpp).
/// Memory is opened and touched as the tree grows; nothing is ever freed. When the tree is full, or the kernel gives no
/// more memory, new paths go to (arena full).
///
/// Each value row has two parts: the values of the unit in progress, and those outside of iterations. The nodes that
/// the unit has touched are listed, so that ending a unit costs what the unit touched, not what the tree holds.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "measurement/metrics.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {

enum class NodeId : std::uint32_t {};
inline constexpr NodeId root_node{0};

struct Node {
  std::uint64_t key;
  std::uint32_t parent;
  std::uint32_t values;      ///< offset of the first column in the value pool, 0: the node has none
  std::uint32_t generation;  ///< of the module map: one in which the address means this code (platform/modules.hpp)
  std::uint32_t touched;     ///< stamp of the unit that touched the values last
  std::uint32_t confirmed;   ///< generation of the module map at which the code at the address was last looked up
  NodeKind kind;
};

class CallTree {
 public:
  /// Value rows of regions and functions have `count` further columns, for the extra metrics (extra_metrics.hpp). To be
  /// called before the first tree is created.
  static void set_extra_columns(std::size_t count);
  /// Columns in the value row of a node, including the extra ones.
  static std::size_t width(NodeKind kind);

  /// Reserves `bytes` of address space. Ordinary context. False: the kernel refused.
  [[nodiscard]] bool create(std::size_t bytes);
  void destroy();

  /// The child of `parent`, made when it does not exist. Async-signal-safe.
  /// When the tree is full, returns the same region below (arena full) for Region nodes and the node (arena full)
  /// itself for others, and sets `full`.
  NodeId child(NodeId parent, NodeKind kind, std::uint64_t key, bool& full);

  /// Value row of a node in the unit in progress, to be added to: width(kind) integers. Async-signal-safe.
  std::int64_t* values(NodeId node);
  /// The offset of such a row in the value pool, which never changes, and the row at an offset. The row may be added to
  /// as long as stamp() has the value that it had when values() returned the row or touch() was called for its node.
  /// Async-signal-safe.
  std::uint32_t offset_of(const std::int64_t* row) const { return static_cast<std::uint32_t>(row - pool_); }
  std::int64_t* row_at(std::uint32_t offset) { return pool_ + offset; }
  /// The unit in progress touches the values of a node, which has some already.
  [[gnu::always_inline]] inline void touch(NodeId id) {
    Node& n = nodes_[static_cast<std::uint32_t>(id)];
    if (n.touched == stamp_) return;
    touched_[touched_count_] = static_cast<std::uint32_t>(id);  // in the order that mend() needs
    std::atomic_signal_fence(std::memory_order_release);
    ++touched_count_;
    std::atomic_signal_fence(std::memory_order_release);
    n.touched = stamp_;
  }
  std::uint32_t stamp() const { return stamp_; }
  /// Makes the tree consistent after the thread has left one of these functions by a jump, at any instruction. A node
  /// may then exist twice, once with nothing below it. Async-signal-safe.
  void mend();

  /// The values of a node outside of iterations, to be added to. Async-signal-safe.
  std::int64_t* outside_values(NodeId node);
  /// Nodes that the unit in progress has touched, in the order of their first touch.
  std::span<const std::uint32_t> touched() const { return {touched_, touched_count_}; }
  /// Ends the unit in progress: `count_outside` adds its values to those outside of iterations, `start_anew` drops
  /// them.
  void count_outside();
  void start_anew();

  std::uint32_t size() const { return node_count_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::uint32_t>(id)]; }
  /// All nodes. They never move, and their parent, kind and key never change, so another thread may read these while
  /// the tree grows.
  std::span<const Node> nodes() const { return {nodes_, node_count_}; }
  const std::int64_t* values_of(const Node& n) const { return n.values ? pool_ + n.values : nullptr; }
  /// The values outside of iterations. Null: the node has no values.
  const std::int64_t* outside_values_of(const Node& n) const;
  /// Bytes of nodes, values and index in use.
  std::size_t bytes_in_use() const;

 private:
  bool open_for_one_more();
  std::size_t reserved() const { return std::size_t{reserved_pages_} << 12; }
  std::uint32_t* find_slot(std::uint32_t parent, NodeKind kind, std::uint64_t key);
  std::uint32_t* find_confirmed_slot(std::uint32_t first, std::uint32_t parent, NodeKind kind, std::uint64_t key);
  bool grow_index();
  void new_stamp();
  NodeId add(std::uint32_t parent, NodeKind kind, std::uint64_t key, std::uint32_t* slot);

  std::byte* memory_ = nullptr;
  Node* nodes_ = nullptr;
  std::uint32_t* index_ = nullptr;  ///< current open-addressing table, doubled into fresh memory when half full
  std::uint32_t* index_region_ = nullptr;
  std::uint32_t* touched_ = nullptr;
  platform::OpenedPart opened_nodes_, opened_pool_, opened_touched_, opened_index_;
  std::uint32_t index_mask_ = 0;
  std::uint32_t reserved_pages_ = 0;  ///< of 4 KiB
  std::uint32_t node_count_ = 0, node_limit_ = 0;
  std::uint32_t pool_count_ = 0, pool_limit_ = 0;
  // The members that a call by a known path needs. They are last, next to the members behind the tree in Location.
  std::uint32_t touched_count_ = 0;
  std::uint32_t stamp_ = 1;  ///< never 0
  std::int64_t* pool_ = nullptr;
};

}  // namespace refrain::measurement
