#include "offline/explorer/anonymous.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>

namespace refrain::explorer {
namespace {

/// Words in the order in which names come: a hash could be looked up.
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

/// What says nothing of the program.
bool is_public(const Node& node) {
  return node.name.empty() || node.kind == run::PathKind::Other ||
         (node.kind == run::PathKind::Mpi && node.name.starts_with("MPI_")) ||
         (node.name.starts_with('(') && node.name.ends_with(')')) || node.name == "main";
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
    // Sentences hold names anywhere: the rule says what kind it is.
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
