#pragma once
/// Names of the call paths of a trace: an archive names them by its regions, an experiment by its call tree, in which
/// paths with the same name are one node.

#include "offline/analysis/call_tree.hpp"
#include "offline/patterns/analysis.hpp"

namespace refrain::patterns {

class PathNames {
 public:
  /// The trace must outlive this object. For an experiment, reads symbols, and the totals to build the call tree from.
  explicit PathNames(const trace::Trace& trace, const analysis::CallTreeOptions& options = {});
  /// Uses the call tree of an experiment that was built before; copies its nodes.
  explicit PathNames(const analysis::CallTree& tree);
  PathNames(const PathNames&) = delete;
  PathNames& operator=(const PathNames&) = delete;

  const Naming& naming() const { return naming_; }
  /// For an experiment. The last nodes may be of paths that only events have.
  const analysis::CallTree& tree() const { return tree_; }
  std::uint32_t node_of(std::uint32_t path) const;
  /// From the root.
  std::vector<std::string> names_of(std::uint32_t node) const;

 private:
  void name_nodes();
  void find_time_rules();
  std::uint32_t node_for(const char* name);

  const trace::Trace* archive_ = nullptr;  ///< null for an experiment
  analysis::CallTree tree_;
  Naming naming_;
};

}  // namespace refrain::patterns
