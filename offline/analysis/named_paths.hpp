#pragma once
/// Call paths by name: finds the nodes of a tree for the addresses of an experiment (call_tree.hpp has the rules).

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "offline/analysis/call_tree.hpp"

namespace refrain::analysis {

/// Whether a function is the body of an OpenMP parallel construct, by the names that GCC, LLVM and Intel give it.
bool is_parallel_body(std::string_view function);
/// Whether a node belongs to the OpenMP runtime, by its name alone.
bool is_openmp_runtime(std::string_view name);

/// Whether call trees recognise a function by its name: start-up code, the Fortran layers of MPI, and the objects of
/// Refrain's marks.
bool is_told_by_name(std::string_view function);

/// Finds the tree node of every call path.
class NamedPaths {
 public:
  /// The arguments must outlive it.
  NamedPaths(const experiment::ProfileDefinitions& definitions, Symbolizer& symbolizer, const CallTreeOptions& options);

  void place_all();
  std::uint32_t node_of(std::uint32_t path) const { return places_[path].node; }
  /// A node below the root that no call path leads to.
  std::uint32_t pseudo_node(const char* name, run::PathKind kind) { return child(0, name, kind, {}); }
  std::size_t size() const { return nodes_.size(); }
  std::vector<TreeNode> take_nodes() { return std::move(nodes_); }

 private:
  enum class StartUp : std::uint8_t { Outside, LibcMain, CallsMain, Done };  ///< how far a path is on the way to main
  struct Place {
    std::uint32_t node = 0;
    StartUp stage = StartUp::Outside;
    std::uint32_t mark_site = 0;  ///< of a mark: path of its call site; the next path is in the same activation
  };
  struct Site {
    std::string module, file;
    int line = 0;
    std::uint64_t address = 0;
    auto operator<=>(const Site&) const = default;
  };

  std::uint32_t child(std::uint32_t parent, const std::string& name, run::PathKind kind, const Site& site,
                      bool marked = false, Runtime runtime = Runtime::None);
  Place place(const experiment::CallPath& path);
  void move_workers();
  std::vector<std::uint32_t> bodies_of_workers() const;
  std::uint32_t construct_of(std::uint32_t body, const std::vector<std::uint32_t>& same_bodies);
  const experiment::ProfileModule& module_of(const experiment::CallPath& path) const;
  std::size_t shared_with_mark(const std::vector<symbols::SourceFrame>& frames, std::uint32_t mark_site);
  Place place_frames(const experiment::CallPath& path, Place at, symbols::Lookup lookup);

  const experiment::ProfileDefinitions& profile_;
  Symbolizer& symbolizer_;
  const CallTreeOptions& options_;
  std::vector<TreeNode> nodes_;
  std::vector<int> depths_;
  std::vector<Place> places_;
  std::map<std::tuple<std::uint32_t, std::string, run::PathKind, bool, Site>, std::uint32_t> index_;
};

}  // namespace refrain::analysis
