#include "measurement/call_tree.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "measurement/extra_metrics.hpp"
#include "platform/modules.hpp"
#include "platform/pages.hpp"

namespace refrain::measurement {
namespace {

constexpr std::uint32_t first_index_size = 1024;
/// Nodes reserved for MPI functions below (arena full), so that their counts stay exact when the tree is full.
constexpr std::uint32_t reserve_nodes = 1024;
/// No generation.
constexpr std::uint32_t never_confirmed = platform::still_loaded;

std::size_t columns[] = {columns_of(NodeKind::Root),   columns_of(NodeKind::Frame),   columns_of(NodeKind::Function),
                         columns_of(NodeKind::Region), columns_of(NodeKind::Special), columns_of(NodeKind::Marked)};
std::size_t extra_columns = 0;

/// Average number of value columns of a node, in the unit in progress and outside of iterations together.
std::size_t average_values() { return 10 + extra_columns; }
/// Number of value columns of the widest node, likewise, with room for two more.
std::size_t max_values() { return 2 * columns_of(NodeKind::Region) + 4 + 2 * extra_columns; }
/// Bytes per node: the node, its values, its entry in the list of touched nodes.
std::size_t bytes_per_node() { return sizeof(Node) + average_values() * sizeof(std::int64_t) + sizeof(std::uint32_t); }
/// The largest number of nodes that fit into `bytes` together with an index that they fill at most by half. Earlier,
/// smaller indices stay in front of the present one, so a larger index is worth it only if it leaves room for more
/// nodes.
std::size_t nodes_that_fit(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  std::size_t most = 0;
  for (std::size_t slots = first_index_size;; slots *= 2) {
    const std::size_t index = (2 * slots - first_index_size) * sizeof(std::uint32_t) + alignment;
    if (index >= bytes) return most;
    most = std::max(most, std::min((bytes - index) / bytes_per_node(), slots / 2 + reserve_nodes));
  }
}

std::uint32_t hash_of(std::uint32_t parent, NodeKind kind, std::uint64_t key) {
  std::uint64_t h = (key ^ (std::uint64_t{parent} << 32 | static_cast<std::uint64_t>(kind))) * 0x9e3779b97f4a7c15u;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9u;
  return static_cast<std::uint32_t>(h >> 32);
}

/// A signal handler that sees later stores sees the earlier ones, too.
void in_order() { std::atomic_signal_fence(std::memory_order_release); }

bool is_address(NodeKind kind) { return kind == NodeKind::Frame || kind == NodeKind::Function; }

}  // namespace

void CallTree::set_extra_columns(std::size_t count) {
  for (std::size_t kind = 0; kind < std::size(columns); ++kind)
    if (has_extra_columns(static_cast<NodeKind>(kind))) columns[kind] = columns_of(static_cast<NodeKind>(kind)) + count;
  extra_columns = count;
}

std::size_t CallTree::width(NodeKind kind) { return columns[static_cast<std::size_t>(kind)]; }

bool CallTree::create(std::size_t bytes) {
  bytes = (bytes + 4095) & ~std::size_t{4095};
  const std::size_t most = std::numeric_limits<std::uint32_t>::max() / average_values();  // offsets into the pool
  node_limit_ = static_cast<std::uint32_t>(std::min(nodes_that_fit(bytes), most));
  if (node_limit_ < 2 * reserve_nodes) return false;
  memory_ = static_cast<std::byte*>(platform::reserve_pages(bytes));
  if (!memory_) return false;
  reserved_pages_ = static_cast<std::uint32_t>(bytes >> 12);
  nodes_ = reinterpret_cast<Node*>(memory_);
  pool_limit_ = node_limit_ * static_cast<std::uint32_t>(average_values());
  pool_ = reinterpret_cast<std::int64_t*>(memory_ + ((node_limit_ * sizeof(Node) + 63) & ~std::size_t{63}));
  touched_ = reinterpret_cast<std::uint32_t*>(pool_ + pool_limit_);
  index_region_ = touched_ + node_limit_;
  opened_nodes_ = {nodes_, pool_};
  opened_pool_ = {pool_, touched_};
  opened_touched_ = {touched_, index_region_};
  opened_index_ = {index_region_, memory_ + bytes};
  if (!open_for_one_more() || !opened_index_.reach(index_region_ + first_index_size)) {
    destroy();
    return false;
  }
  index_ = index_region_;
  index_mask_ = first_index_size - 1;
  nodes_[0].kind = NodeKind::Root;
  node_count_ = 1;
  pool_count_ = 1;  // offset 0 means "no values"
  // (arena full) exists from the start, since there is no room for it later.
  constexpr auto full = static_cast<std::uint64_t>(SpecialPath::ArenaFull);
  add(0, NodeKind::Special, full, find_slot(0, NodeKind::Special, full));
  return true;
}

/// Opens memory for one more node and for the reserved nodes, which must not need memory later.
bool CallTree::open_for_one_more() {
  const std::size_t nodes = std::min(std::size_t{node_count_} + 1 + reserve_nodes, std::size_t{node_limit_});
  const std::size_t values = std::min(pool_count_ + max_values() * (reserve_nodes + 1), std::size_t{pool_limit_});
  return opened_nodes_.reach(nodes_ + nodes) && opened_pool_.reach(pool_ + values) &&
         opened_touched_.reach(touched_ + nodes);
}

void CallTree::destroy() {
  if (memory_) platform::unmap_pages(memory_, reserved());
  memory_ = nullptr;
}

std::uint32_t* CallTree::find_slot(std::uint32_t parent, NodeKind kind, std::uint64_t key) {
  const std::uint32_t first = hash_of(parent, kind, key) & index_mask_;
  bool doubtful = false;
  std::uint32_t at = first;
  while (const std::uint32_t id = index_[at]) {
    const Node& n = nodes_[id];
    if (n.key == key && n.parent == parent && n.kind == kind) {
      if (n.confirmed == platform::module_generation() || !is_address(kind)) return &index_[at];
      doubtful = true;
    }
    at = (at + 1) & index_mask_;
  }
  return doubtful ? find_confirmed_slot(first, parent, kind, key) : &index_[at];
}

/// The slot of the node with this key that means the code which is at the address now. Others were made when another
/// module was at this address, and are other call paths. The code is looked up once per generation of the module map,
/// since a program may load and unload thousands of modules.
std::uint32_t* CallTree::find_confirmed_slot(std::uint32_t first, std::uint32_t parent, NodeKind kind,
                                             std::uint64_t key) {
  const std::uint32_t generation = platform::module_generation();
  const bool stays = !platform::is_unloading();  // asked after the generation, before the code
  const platform::CodeLife life = platform::code_at(static_cast<std::uintptr_t>(key));
  std::uint32_t at = first;
  while (const std::uint32_t id = index_[at]) {
    Node& n = nodes_[id];
    if (n.key == key && n.parent == parent && n.kind == kind && life.first <= n.generation && n.generation < life.end) {
      if (stays) n.confirmed = generation;
      break;
    }
    at = (at + 1) & index_mask_;
  }
  return &index_[at];
}

bool CallTree::grow_index() {
  const std::size_t size = std::size_t{index_mask_} + 1;
  std::uint32_t* bigger = index_ + size;
  if (!opened_index_.reach(bigger + 2 * size)) return false;
  const auto mask = static_cast<std::uint32_t>(2 * size - 1);
  for (std::uint32_t i = 0; i < 2 * size; ++i) bigger[i] = 0;  // a jump may have left it half filled
  for (std::uint32_t id = 1; id < node_count_; ++id) {
    const Node& n = nodes_[id];
    std::uint32_t at = hash_of(n.parent, n.kind, n.key) & mask;
    while (bigger[at]) at = (at + 1) & mask;
    bigger[at] = id;
  }
  in_order();
  index_ = bigger;
  in_order();
  index_mask_ = mask;
  return true;
}

void CallTree::mend() {
  // An index is as large as all earlier ones together plus the first size.
  index_mask_ = static_cast<std::uint32_t>(index_ - index_region_) + first_index_size - 1;
  while (touched_count_ > 0 && nodes_[touched_[touched_count_ - 1]].touched != stamp_) --touched_count_;
}

NodeId CallTree::add(std::uint32_t parent, NodeKind kind, std::uint64_t key, std::uint32_t* slot) {
  const std::uint32_t id = node_count_;
  const std::uint32_t now = platform::module_generation();
  const bool stays = !platform::is_unloading();
  const std::uint32_t generation = is_address(kind) ? platform::code_at(static_cast<std::uintptr_t>(key)).now : now;
  nodes_[id] = {key, parent, 0, generation, 0, stays ? now : never_confirmed, kind};
  in_order();
  ++node_count_;
  in_order();
  *slot = id;
  return NodeId{id};
}

NodeId CallTree::child(NodeId parent_id, NodeKind kind, std::uint64_t key, bool& full) {
  auto parent = static_cast<std::uint32_t>(parent_id);
  std::uint32_t* slot = find_slot(parent, kind, key);
  if (*slot) return NodeId{*slot};
  bool room = node_count_ + reserve_nodes < node_limit_ && pool_count_ + max_values() * reserve_nodes < pool_limit_;
  if (room && (node_count_ + 1) * 2 > index_mask_) {
    room = grow_index();
    slot = find_slot(parent, kind, key);
  }
  if (room && open_for_one_more()) return add(parent, kind, key, slot);

  full = true;
  std::uint32_t* special = find_slot(0, NodeKind::Special, static_cast<std::uint64_t>(SpecialPath::ArenaFull));
  if (kind != NodeKind::Region) return NodeId{*special};
  slot = find_slot(*special, kind, key);
  if (*slot) return NodeId{*slot};
  return add(*special, kind, key, slot);
}

std::int64_t* CallTree::values(NodeId id) {
  Node& n = nodes_[static_cast<std::uint32_t>(id)];
  if (n.touched != stamp_) [[unlikely]] {
    if (!n.values) {
      const std::uint32_t offset = pool_count_;  // `child` and its reserve see to it that there is room
      pool_count_ = offset + static_cast<std::uint32_t>(2 * width(n.kind));
      in_order();
      n.values = offset;
      in_order();
    }
    touch(id);
  }
  return pool_ + n.values;
}

std::int64_t* CallTree::outside_values(NodeId id) {
  return values(id) + width(nodes_[static_cast<std::uint32_t>(id)].kind);
}

const std::int64_t* CallTree::outside_values_of(const Node& n) const {
  return n.values ? pool_ + n.values + width(n.kind) : nullptr;
}

void CallTree::count_outside() {
  for (const std::uint32_t id : touched()) {
    const std::size_t count = width(nodes_[id].kind);
    std::int64_t* row = pool_ + nodes_[id].values;
    for (std::size_t i = 0; i < count; ++i) {
      row[count + i] += row[i];
      row[i] = 0;
    }
  }
  new_stamp();
}

void CallTree::start_anew() {
  for (const std::uint32_t id : touched()) {
    std::int64_t* row = pool_ + nodes_[id].values;
    for (std::size_t i = 0; i < width(nodes_[id].kind); ++i) row[i] = 0;
  }
  new_stamp();
}

void CallTree::new_stamp() {
  if (++stamp_ != 0) {
    in_order();
    touched_count_ = 0;
    return;
  }
  touched_count_ = 0;
  for (std::uint32_t id = 0; id < node_count_; ++id) nodes_[id].touched = 0;  // all stamps were used up
  stamp_ = 1;
}

std::size_t CallTree::bytes_in_use() const {
  const auto index_bytes =
      reinterpret_cast<const std::byte*>(index_ + index_mask_ + 1) - reinterpret_cast<const std::byte*>(index_region_);
  return node_count_ * sizeof(Node) + pool_count_ * sizeof(std::int64_t) + static_cast<std::size_t>(index_bytes);
}

}  // namespace refrain::measurement
