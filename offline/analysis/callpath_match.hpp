#pragma once
/// Finds call paths by names as people write them.

#include <string>
#include <string_view>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/run/iteration_profile.hpp"

namespace refrain::analysis {

struct CallPathMatch {
  std::vector<std::uint32_t> nodes;  ///< nodes of the tree, none below another one
  run::PathSelection selection;      ///< these nodes and everything below them
};

/// `wanted`: function names from caller to callee, separated by slashes: the last names of a call path, or a single
/// name. Parameters may be left out. `root`: the name of the root, which may precede the other names, or stand alone if
/// no other node has it, and then selects everything. The separators of tables work like slashes: the ";" of CSV, the
/// " > " of patterns. `nodes` is empty if nothing matches.
CallPathMatch match_callpath(const CallTree& tree, std::string_view wanted, std::string_view root = "");

/// By archive path: whether it leads to one of these nodes or below it. A path without a node does not.
std::vector<bool> paths_below(const CallTree& tree, const std::vector<std::uint32_t>& nodes);

/// Names of functions in the tree that resemble the last name of `wanted`, the most similar first, at most `count`. A
/// function with exactly that name is returned with the path that leads to it.
std::vector<std::string> similar_functions(const CallTree& tree, std::string_view wanted, std::size_t count);

}  // namespace refrain::analysis
