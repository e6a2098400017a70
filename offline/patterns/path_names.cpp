#include "offline/patterns/path_names.hpp"

#include <algorithm>

#include "offline/symbols/experiment_names.hpp"

namespace refrain::patterns {

PathNames::PathNames(const trace::Trace& trace, const analysis::CallTreeOptions& options)
    : archive_(trace.archive() ? &trace : nullptr) {
  name_nodes();
  if (archive_) return;
  analysis::Symbolizer symbolizer;
  symbols::use_names(trace.experiment(), symbolizer, {.progress = options.progress});
  tree_ = analysis::build_call_tree(trace.experiment(), symbolizer, options);
  find_time_rules();
}

PathNames::PathNames(const analysis::CallTree& tree) {
  name_nodes();
  tree_.nodes = tree.nodes;
  tree_.node_of = tree.node_of;
  find_time_rules();
}

void PathNames::name_nodes() {
  naming_.node_of = [this](std::uint32_t path) { return node_of(path); };
  naming_.names_of = [this](std::uint32_t node) { return names_of(node); };
}

void PathNames::find_time_rules() {
  // The profile distinguishes waiting for a core from being blocked; events and samples do not.
  naming_.not_on_cpu = node_for(run::not_on_cpu_name);
  naming_.blocked = node_for(run::blocked_name);
}

/// The node of a path that only the time rules define; created if the profile has no time of it.
std::uint32_t PathNames::node_for(const char* name) {
  const auto at = std::ranges::find(tree_.nodes, name, &analysis::TreeNode::name);
  const auto node = static_cast<std::uint32_t>(at - tree_.nodes.begin());
  if (at != tree_.nodes.end()) return node;
  analysis::TreeNode made;
  made.name = name;
  made.kind = run::PathKind::Other;
  made.parent = 0;
  tree_.nodes[0].children.push_back(node);
  tree_.nodes.push_back(std::move(made));
  return node;
}

std::uint32_t PathNames::node_of(std::uint32_t path) const {
  if (archive_) return path;
  return path < tree_.node_of.size() ? tree_.node_of[path] : 0;
}

std::vector<std::string> PathNames::names_of(std::uint32_t node) const {
  if (!archive_) return analysis::path_to(tree_, node);
  std::vector<std::string> names;
  for (std::uint32_t path = node; path != trace::no_path && names.size() < trace::PathTree::deepest;
       path = archive_->parent_of(path))
    names.push_back(archive_->region_of(path));
  return {names.rbegin(), names.rend()};
}

}  // namespace refrain::patterns
