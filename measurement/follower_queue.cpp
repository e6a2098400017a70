#include "measurement/follower_queue.hpp"

#include <algorithm>

namespace refrain::measurement {

namespace {

bool is_empty(const Node& node, const std::int64_t* values) {
  return std::all_of(values, values + CallTree::width(node.kind), [](std::int64_t value) { return value == 0; });
}

}  // namespace

bool FollowerQueue::put(const Location& l, QueuedUnit unit) {
  const std::uint64_t begin = written_.load(std::memory_order_relaxed);
  const std::uint64_t end = read_.load(std::memory_order_acquire) + capacity;
  std::uint64_t at = begin;
  bool fits = true;
  const auto put_words = [&](const void* words, std::size_t count) {
    fits = fits && at + count <= end;
    for (std::size_t i = 0; fits && i < count; ++i, ++at)
      std::memcpy(&words_[at % capacity], static_cast<const char*>(words) + 8 * i, 8);
  };
  put_words(&unit, sizeof unit / 8);
  if (unit.iteration != outside_of_iterations)
    for (const std::uint32_t id : l.tree.touched()) {
      const Node& node = l.tree.node(NodeId{id});
      const std::int64_t* values = l.tree.values_of(node);
      if (is_empty(node, values)) continue;
      const QueuedPath path{id, node.kind};
      put_words(&path, 1);
      put_words(values, CallTree::width(node.kind));
    }
  if (!fits || at > end - capacity / 2) followers_due.store(0, std::memory_order_relaxed);
  if (!fits) return false;  // the words are not published
  words_[begin % capacity] = at - begin;
  written_.store(at, std::memory_order_release);
  return true;
}

const QueuedUnit* FollowerQueue::oldest() {
  const std::uint64_t read = read_.load(std::memory_order_relaxed);
  if (read == written_.load(std::memory_order_acquire)) return nullptr;
  const std::uint64_t words = words_[read % capacity];
  if (!item_.resize(words)) return nullptr;
  for (std::uint64_t i = 0; i < words; ++i) item_[i] = words_[(read + i) % capacity];
  return reinterpret_cast<const QueuedUnit*>(item_.data());
}

}  // namespace refrain::measurement
