#include "offline/explorer/anonymous.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <string_view>

namespace refrain::explorer {
namespace {

/// Words numbered in the order in which names come: a hash of a name could be looked up.
class Words {
 public:
  explicit Words(const char* kind) : kind_(kind) {}
  const std::string& of(const std::string& name) {
    return words_.try_emplace(name, fmt::format("{} {}", kind_, words_.size() + 1)).first->second;
  }

 private:
  const char* kind_;
  std::map<std::string, std::string> words_;
};

/// Whether Refrain gave the name. Parentheses do not tell: functions of unnamed namespaces have them at both ends, too.
bool is_ours(std::string_view name) {
  constexpr std::string_view further[] = {run::truncated_name, "(unknown)"};
  return std::ranges::find(run::pseudo_paths, name, &run::PseudoPath::name) != std::end(run::pseudo_paths) ||
         std::ranges::find(further, name) != std::end(further);
}

/// Whether the name of the node says nothing about the program.
bool is_public(const Node& node) {
  return node.name.empty() || node.kind == run::PathKind::Other ||
         (node.kind == run::PathKind::Mpi && node.name.starts_with("MPI_")) || is_ours(node.name) ||
         node.name == "main";
}

constexpr const char* kept_facts[] = {"Lasted",    "State",   "Ranks",    "Threads",
                                      "Locations", "Samples", "Not seen", "Measured by"};

}  // namespace

void make_anonymous(std::span<Run> runs) {
  Words functions("function"), marks("mark"), machines("machine");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Run& run = runs[i];
    run.name = runs.size() > 1 ? fmt::format("run {}", i + 1) : "a run";
    std::erase_if(run.facts,
                  [](const auto& fact) { return std::ranges::find(kept_facts, fact.first) == std::end(kept_facts); });
    for (Node& node : run.nodes)
      if (!is_public(node)) node.name = node.marked ? marks.of(node.name) : functions.of(node.name);
    for (Place& place : run.places) place.host = machines.of(place.host);
    for (Loop& loop : run.loops) loop.name = marks.of(loop.name);
    for (std::size_t unit = 0; unit < run.units.size(); ++unit)
      if (unit > 0)
        run.units[unit].name = fmt::format("{} {}", run.units[unit].kind == Unit::Class ? "class" : "iteration", unit);
    // Sentences may have names anywhere, so the rule, which says what kind of finding it is, replaces them.
    for (Told& told : run.findings) {
      told.text = told.rule;
      std::ranges::replace(told.text, '_', ' ');
      if (told.loop) told.loop = marks.of(*told.loop);
    }
    for (Property& property : run.properties)
      property.context = property.node ? run.nodes[*property.node].name : "the run";
    for (EfficiencyTree& of : run.efficiencies)
      if (!of.loop.empty()) of.loop = marks.of(of.loop);
    for (Lack& lack : run.lacks) lack.text = "A part was cut, or is not known (the reason holds names).";
  }
}

}  // namespace refrain::explorer
