#include "offline/patterns/path_names.hpp"

#include <algorithm>

namespace refrain::patterns {

PathNames::PathNames(const trace::Trace& trace, const analysis::CallTreeOptions& options)
    : trace_(trace),
      naming_{[this](std::uint32_t path) { return node_of(path); },
              [this](std::uint32_t node) { return names_of(node); }} {
  if (trace.archive()) return;
  tree_ = analysis::build_call_tree(trace.experiment(), symbolizer_, options);
  const auto at = std::ranges::find(tree_.nodes, analysis::not_on_cpu_name, &analysis::TreeNode::name);
  if (at != tree_.nodes.end()) naming_.not_on_cpu = static_cast<std::uint32_t>(at - tree_.nodes.begin());
}

std::uint32_t PathNames::node_of(std::uint32_t path) const {
  if (trace_.archive()) return path;
  return path < tree_.node_of.size() ? tree_.node_of[path] : 0;
}

std::vector<std::string> PathNames::names_of(std::uint32_t node) const {
  if (!trace_.archive()) return analysis::path_to(tree_, node);
  std::vector<std::string> names;
  for (std::uint32_t path = node; path != trace::no_path && names.size() < trace::PathTree::deepest;
       path = trace_.parent_of(path))
    names.push_back(trace_.region_of(path));
  return {names.rbegin(), names.rend()};
}

}  // namespace refrain::patterns
