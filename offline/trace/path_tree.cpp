#include "offline/trace/path_tree.hpp"

#include <mutex>

#include "offline/trace/event.hpp"

namespace refrain::trace {

std::uint32_t PathTree::child_of(std::uint32_t parent, std::uint32_t region) {
  const std::unique_lock lock(mutex_);
  if (parent < paths_.size() && paths_[parent].depth >= deepest) parent = paths_[parent].parent;
  const std::uint64_t key = std::uint64_t{parent} << 32 | region;
  const auto [at, is_new] = children_.try_emplace(key, static_cast<std::uint32_t>(paths_.size()));
  if (is_new) paths_.push_back({parent, region, parent < paths_.size() ? paths_[parent].depth + 1 : 1});
  return at->second;
}

PathTree::Path PathTree::operator[](std::uint32_t path) const {
  const std::shared_lock lock(mutex_);
  return path < paths_.size() ? paths_[path] : Path{no_path, 0, 0};
}

std::size_t PathTree::size() const {
  const std::shared_lock lock(mutex_);
  return paths_.size();
}

}  // namespace refrain::trace
