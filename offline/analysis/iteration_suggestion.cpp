#include "offline/analysis/iteration_suggestion.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "format/mpi_functions.hpp"
#include "offline/analysis/short_names.hpp"
#include "offline/run/totals.hpp"

namespace refrain::analysis {
namespace {

constexpr std::int64_t fewest_calls = 10;
constexpr double least_cover = 0.8;  ///< of the run

bool is_of_all(std::string_view function) {
  const format::MpiFunction* known = format::find_mpi_function(function);
  return known && format::is_collective(known->of) && known->form == format::MpiForm::Blocking;
}

bool is_of_class(const TreeNode& node, format::MpiClass wanted) {
  const format::MpiFunction* known = node.kind == run::PathKind::Mpi ? format::find_mpi_function(node.name) : nullptr;
  return known && known->of == wanted;
}
bool is_init(const TreeNode& node) { return is_of_class(node, format::MpiClass::init); }

/// Whether the time of a node is the launcher's, which is not part of the work of a short run.
bool is_of_launcher(const TreeNode& node) { return is_init(node) || is_of_class(node, format::MpiClass::finalize); }

/// The caller of a blocking collective operation, by a name that the setting takes; nothing: the node is no such
/// operation, or its caller has no such name.
std::optional<std::string> caller_of(const CallTree& tree, std::uint32_t node) {
  if (node == 0) return std::nullopt;  // not in the tree
  const auto caller = static_cast<std::uint32_t>(tree.nodes[node].parent);
  if (caller == 0 || tree.nodes[caller].kind != run::PathKind::User || !is_of_all(tree.nodes[node].name))
    return std::nullopt;
  std::string name = qualified_name(tree.nodes[caller].name);
  const bool is_name = name.find_first_of("[]()<>+ ") == name.npos;
  return is_name ? std::optional(std::move(name)) : std::nullopt;
}

/// An MPI function and its caller, by name: the setting counts such calls wherever they are in the tree.
using Place = std::pair<std::string, std::string>;

/// The graph of collective operations: which one followed which, and how long that took, as counted by the first thread
/// of a rank for its stretches (docs/events.md). The main loop is a cycle. An operation on no long cycle, such as one
/// that distributes input, is called only before or after the loop.
class Cycles {
 public:
  /// `init_ns`: time of the thread in MPI_Init.
  Cycles(const experiment::Rank& rank, const CallTree& tree, double init_ns) {
    if (!rank.events) return;
    double known = 0;
    for (const auto& stretch : rank.events->stretch_groups) {
      const double ns = 1e9 * run::seconds_of(rank, static_cast<double>(stretch.ticks));
      all_ += ns;
      const auto from = vertex_of(stretch.opened, tree), to = vertex_of(stretch.closed, tree);
      if (!from || !to) continue;
      edges_.push_back({*from, *to, ns});
      known += ns;
    }
    all_ = std::max(all_ - init_ns, known);
  }

  /// The part of the run that was spent on cycles through a place; nothing: not known.
  std::optional<double> share_of(const Place& place) const {
    const auto found = vertices_.find(place);
    if (found == vertices_.end() || !(all_ > 0)) return std::nullopt;
    const std::set<std::size_t> later = reached_from(found->second, false), sooner = reached_from(found->second, true);
    const auto is_on = [&](std::size_t vertex) { return later.contains(vertex) && sooner.contains(vertex); };
    double ns = 0;
    for (const Edge& edge : edges_)
      if (is_on(edge.from) && is_on(edge.to)) ns += edge.ns;
    return ns / all_;
  }

 private:
  struct Edge {
    std::size_t from, to;
    double ns;
  };

  /// Nothing: stretches of several call paths were counted together, or no operation opened the first one.
  std::optional<std::size_t> vertex_of(std::uint32_t path, const CallTree& tree) {
    if (path >= tree.node_of.size()) return std::nullopt;
    const std::uint32_t node = tree.node_of[path];
    const auto caller = caller_of(tree, node);
    const Place place = caller ? Place(tree.nodes[node].name, *caller) : Place("", std::to_string(node));
    return vertices_.try_emplace(place, vertices_.size()).first->second;
  }

  /// The vertices that can be reached by one or more edges.
  std::set<std::size_t> reached_from(std::size_t vertex, bool backwards) const {
    std::set<std::size_t> reached;
    std::vector<std::size_t> next{vertex};
    while (!next.empty()) {
      const std::size_t at = next.back();
      next.pop_back();
      for (const Edge& edge : edges_) {
        const auto [from, to] = backwards ? std::pair(edge.to, edge.from) : std::pair(edge.from, edge.to);
        if (from == at && reached.insert(to).second) next.push_back(to);
      }
    }
    return reached;
  }

  double all_ = 0;
  std::map<Place, std::size_t> vertices_;
  std::vector<Edge> edges_;
};

/// By node: its depth if its inclusive time covers the run, else 0. A call in a function that is only a part of the
/// run, such as one that reads input or multiplies vectors, begins no iteration of the main loop.
std::vector<int> depths_of_covering(const CallTree& tree) {
  double most_s = 0;  // of a root: helper threads have roots of their own
  for (const std::uint32_t child : tree.nodes[0].children)
    if (tree.nodes[child].kind == run::PathKind::User) most_s = std::max(most_s, tree.nodes[child].inclusive_s);
  for (const TreeNode& node : tree.nodes)
    if (is_of_launcher(node)) most_s -= node.exclusive_s;
  std::vector<int> depth(tree.nodes.size()), covering(tree.nodes.size());
  for (std::size_t node = 1; node < tree.nodes.size(); ++node) {
    depth[node] = depth[static_cast<std::size_t>(tree.nodes[node].parent)] + 1;
    const bool covers =
        tree.nodes[node].kind == run::PathKind::User && tree.nodes[node].inclusive_s >= least_cover * most_s;
    covering[node] = covers ? depth[node] : 0;
  }
  return covering;
}

}  // namespace

std::optional<IterationSuggestion> suggest_iterations(const experiment::Experiment& experiment, const CallTree& tree) {
  std::map<Place, std::int64_t> common;
  std::optional<Cycles> cycles;  // of the first rank: all ranks go through the same operations
  const run::Nodes nodes = columns_of(tree);
  const run::Metrics metrics;
  const run::Keys by_node = run::by_node(nodes);
  const run::Question question{
      .keys = &by_node, .metrics = {run::wall, metrics.of(format::MetricId::Visits)}, .has_errors = false};
  const auto is_first = [](std::int32_t, std::int32_t thread) { return thread == 0; };
  run::for_each_leaf(experiment, {{}, is_first}, [&](const run::Leaf& leaf) {
    const run::Answer of = answer_of(leaf, nodes, metrics, question);
    std::map<Place, std::int64_t> calls;
    double init_ns = 0;
    for (std::uint32_t node = 1; node < nodes.size(); ++node) {
      if (is_init(tree.nodes[node])) init_ns += 1e9 * of.exclusive_s(node, 0);
      if (const std::int64_t count = run::narrowed(of.exclusive(node, 1).value); count > 0)
        if (const auto caller = caller_of(tree, node)) calls[{tree.nodes[node].name, *caller}] += count;
    }
    if (!cycles) {
      cycles.emplace(leaf.rank, tree, init_ns);
      common = std::move(calls);
      return;
    }
    std::erase_if(common, [&](const auto& of_all) {
      const auto at = calls.find(of_all.first);
      return at == calls.end() || at->second != of_all.second;
    });
  });
  // The main loop is in the innermost function that covers the run.
  const std::vector<int> covering = depths_of_covering(tree);
  std::map<Place, int> depth;
  for (std::uint32_t node = 1; node < tree.nodes.size(); ++node)
    if (const auto caller = caller_of(tree, node)) {
      int& of = depth[{tree.nodes[node].name, *caller}];
      of = std::max(of, covering[static_cast<std::size_t>(tree.nodes[node].parent)]);
    }
  std::optional<IterationSuggestion> best;
  std::tuple<int, std::int64_t> most;
  for (const auto& [place, calls] : common) {
    if (calls < fewest_calls || depth[place] == 0) continue;
    if (cycles->share_of(place).value_or(1) < least_cover) continue;
    const std::tuple<int, std::int64_t> worth(depth[place], -calls);
    if (best && worth <= most) continue;
    most = worth;
    best = {place.first, place.second, calls};
  }
  return best;
}

}  // namespace refrain::analysis
