#include "measurement/follower_queue.hpp"

#include "measurement/boundaries.hpp"

namespace refrain::measurement {

namespace {

bool is_empty(const Node& node, const std::int64_t* values) {
  for (std::size_t i = 0; i < CallTree::width(node.kind); ++i)
    if (values[i] != 0) return false;
  return true;
}

/// Calls f(id, node, values) for the call paths with values in the unit in progress.
template <class F>
void for_each_path_in_progress(const Location& l, F&& f) {
  for (const std::uint32_t id : l.tree.touched()) {
    const Node& node = l.tree.node(NodeId{id});
    const std::int64_t* values = l.tree.values_of(node);
    if (!is_empty(node, values)) f(id, node, values);
  }
}

}  // namespace

void FollowerQueue::put_words(const void* words, std::size_t count, std::uint64_t& at) {
  for (std::size_t i = 0; i < count; ++i, ++at)
    std::memcpy(&words_[at % capacity], static_cast<const char*>(words) + 8 * i, 8);
}

bool FollowerQueue::put(const Location& l, FollowedUnit unit) {
  const bool with_paths = unit.of != outside_of_iterations;
  unit.words = sizeof unit / 8;
  if (with_paths)
    for_each_path_in_progress(
        l, [&](std::uint32_t, const Node& node, const std::int64_t*) { unit.words += 1 + CallTree::width(node.kind); });
  std::uint64_t at = written_.load(std::memory_order_relaxed);
  const std::uint64_t used = at - read_.load(std::memory_order_acquire);
  if (used + unit.words > capacity / 2) followers_due.store(0, std::memory_order_relaxed);
  if (used + unit.words > capacity) return false;
  put_words(&unit, sizeof unit / 8, at);
  if (with_paths)
    for_each_path_in_progress(l, [&](std::uint32_t id, const Node& node, const std::int64_t* values) {
      const FollowedPath path{id, node.kind};
      put_words(&path, 1, at);
      put_words(values, CallTree::width(node.kind), at);
    });
  written_.store(at, std::memory_order_release);
  return true;
}

const FollowedUnit* FollowerQueue::oldest() {
  const std::uint64_t read = read_.load(std::memory_order_relaxed);
  if (read == written_.load(std::memory_order_acquire)) return nullptr;
  const std::uint64_t words = words_[read % capacity];
  if (!item_.resize(words)) return nullptr;
  for (std::uint64_t i = 0; i < words; ++i) item_[i] = words_[(read + i) % capacity];
  return reinterpret_cast<const FollowedUnit*>(item_.data());
}

}  // namespace refrain::measurement
