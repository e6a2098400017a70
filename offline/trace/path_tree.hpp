#pragma once
/// The call paths of an archive, made as regions are entered and shared by all locations.

#include <cstdint>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

namespace refrain::trace {

/// Memory grows with the number of call paths alone. Thread-safe.
class PathTree {
 public:
  struct Path {
    std::uint32_t parent;  ///< no_path: none
    std::uint32_t region;
    std::uint32_t depth;  ///< 1: no parent
  };

  /// The path that enters `region` from `parent`. At depth `deepest` it becomes a sibling of `parent`: a damaged
  /// archive may enter regions for ever.
  std::uint32_t child_of(std::uint32_t parent, std::uint32_t region);
  /// Path{no_path, 0, 0}: there is no such path.
  Path operator[](std::uint32_t path) const;
  std::size_t size() const;

  static constexpr std::uint32_t deepest = 4096;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<Path> paths_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  ///< by parent and region
};

}  // namespace refrain::trace
