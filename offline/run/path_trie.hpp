#pragma once
/// Merges the call paths of one or several runs by name, in any order; then gives the nodes in preorder.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "offline/run/nodes.hpp"

namespace refrain::run {

/// Parents come before children; node 0 is the root.
struct PathNode {
  std::int32_t parent = -1;
  std::string name;
  PathKind kind = PathKind::User;
  bool marked = false;
};

class PathTrie {
 public:
  PathTrie() : nodes_(1) {}
  /// The number of the node below `parent`, which is added if it is new. Numbers do not change; 0 is the root.
  std::uint32_t below(std::uint32_t parent, const std::string& name, PathKind kind, bool marked = false) {
    const auto [at, is_new] =
        index_.try_emplace({parent, name, kind, marked}, static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) {
      nodes_.push_back({{static_cast<std::int32_t>(parent), name, kind, marked}, {}});
      nodes_[parent].children.push_back(at->second);
    }
    return at->second;
  }
  std::size_t size() const { return nodes_.size(); }
  /// The nodes in preorder, and the index of each number among them.
  std::pair<std::vector<PathNode>, std::vector<std::uint32_t>> in_preorder() const {
    std::pair<std::vector<PathNode>, std::vector<std::uint32_t>> result;
    auto& [nodes, place] = result;
    place.resize(nodes_.size());
    std::vector<std::uint32_t> open{0};
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      place[at] = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back(nodes_[at].node);
      if (at != 0)
        nodes.back().parent = static_cast<std::int32_t>(place[static_cast<std::size_t>(nodes.back().parent)]);
      open.insert(open.end(), nodes_[at].children.rbegin(), nodes_[at].children.rend());
    }
    return result;
  }

 private:
  struct Placed {
    PathNode node;
    std::vector<std::uint32_t> children;
  };
  std::vector<Placed> nodes_;
  std::map<std::tuple<std::uint32_t, std::string, PathKind, bool>, std::uint32_t> index_;
};

}  // namespace refrain::run
