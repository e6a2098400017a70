#pragma once
/// Finds call paths by what people call them.

#include <string>
#include <string_view>
#include <vector>

#include "offline/analysis/call_tree.hpp"
#include "offline/run/iteration_profile.hpp"

namespace refrain::analysis {

struct CallPathMatch {
  std::vector<std::uint32_t> nodes;  ///< of the tree, none below another one
  run::PathSelection selection;      ///< they and everything below them
};

/// `wanted` is function names from caller to callee with slashes between them: the last names of a call path, or one
/// name alone. Parameters may be left out. `root`: the name of the root, which may stand before the others, or alone
/// when nothing else has it; that is everything. What tables have between the names is as good as slashes: the ";" of
/// CSV, the " > " of patterns. No match: `nodes` is empty.
CallPathMatch match_callpath(const CallTree& tree, std::string_view wanted, std::string_view root = "");

/// By path of the archive: it leads to one of these nodes or below it; what is in no node does not.
std::vector<bool> paths_below(const CallTree& tree, const std::vector<std::uint32_t>& nodes);

/// Names of functions in the tree that resemble the last one of `wanted`, the most similar first, at most `count`. A
/// function that has just that name is named with what leads to it.
std::vector<std::string> similar_functions(const CallTree& tree, std::string_view wanted, std::size_t count);

}  // namespace refrain::analysis
