#include "offline/patterns/kept_nodes.hpp"

namespace refrain::patterns {
namespace {

/// The node without a call path, and the nodes of paths that only the time rules define; call paths follow.
enum KeptNode : std::uint32_t { no_node, not_on_cpu, blocked, first_path };

/// `change`: maps the number of a node to another one.
template <class Change>
void change_nodes(Analysis& analysis, const Change& change) {
  const auto all = [&](auto& rows) {
    for (auto& row : rows) row.node = change(row.node);
  };
  const auto activity = [&](NamedActivity& of) {
    if (of.before) of.before = change(*of.before);
    if (of.after) of.after = change(*of.after);
  };
  for (PatternResult& of : analysis.patterns) {
    all(of.by_node);
    all(of.cells);
    all(of.worst);
  }
  all(analysis.untold);
  if (analysis.causes)
    for (CauseResult& of : analysis.causes->all) {
      activity(of.activity);
      all(of.by_node);
    }
  if (analysis.critical_path)
    for (CriticalResult& of : analysis.critical_path->all) activity(of.activity);
}

}  // namespace

void to_kept_nodes(Analysis& analysis, std::size_t paths, const Naming& naming) {
  std::map<std::uint32_t, std::uint32_t> kept;
  for (std::uint32_t path = 0; path < paths; ++path) kept.try_emplace(naming.node_of(path), first_path + path);
  kept[0] = no_node;
  kept[naming.not_on_cpu] = not_on_cpu;
  kept[naming.blocked] = blocked;
  change_nodes(analysis, [&](std::uint32_t node) {
    const auto at = kept.find(node);
    return at == kept.end() ? std::uint32_t{no_node} : at->second;
  });
  analysis.headlines.clear();
}

void from_kept_nodes(Analysis& analysis, const Naming& naming) {
  change_nodes(analysis, [&](std::uint32_t node) -> std::uint32_t {
    if (node >= first_path) return naming.node_of(node - first_path);
    return node == not_on_cpu ? naming.not_on_cpu : node == blocked ? naming.blocked : 0;
  });
}

bool are_kept_nodes(Analysis& analysis, std::size_t paths) {
  bool are_good = true;
  change_nodes(analysis, [&](std::uint32_t node) {
    are_good &= node < first_path + paths;
    return node;
  });
  return are_good;
}

}  // namespace refrain::patterns
