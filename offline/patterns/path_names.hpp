#pragma once
/// What the call paths of a trace are called: those of an archive are its regions; those of an experiment are named by
/// its call tree, in which paths of one name are one node.

#include "offline/analysis/call_tree.hpp"
#include "offline/patterns/analysis.hpp"

namespace refrain::patterns {

class PathNames {
 public:
  /// The trace must outlive it. Reads symbols and the totals of an experiment, of which the tree is made.
  explicit PathNames(const trace::Trace& trace, const analysis::CallTreeOptions& options = {});
  /// The tree of an experiment that was made before; copies its nodes.
  explicit PathNames(const analysis::CallTree& tree);
  PathNames(const PathNames&) = delete;
  PathNames& operator=(const PathNames&) = delete;

  const Naming& naming() const { return naming_; }
  /// Of an experiment. Its last nodes may be of paths that only events have.
  const analysis::CallTree& tree() const { return tree_; }
  std::uint32_t node_of(std::uint32_t path) const;
  /// From the root.
  std::vector<std::string> names_of(std::uint32_t node) const;

 private:
  void name_nodes();
  void find_time_rules();
  std::uint32_t node_for(const char* name);

  const trace::Trace* archive_ = nullptr;  ///< of an archive
  analysis::CallTree tree_;
  Naming naming_;
};

}  // namespace refrain::patterns
