#include "offline/query/runs.hpp"

#include <algorithm>
#include <utility>

#include "offline/experiment/clean_text.hpp"
#include "offline/run/path_trie.hpp"

namespace refrain::query {

using database::RunNode;
using experiment::clean_text;
using run::PathKind;
using run::UnitRef;

Runs::Runs(std::vector<Run> runs) : runs_(std::move(runs)) {
  unite_paths();
  unite_metrics();
  list_locations();
}

void Runs::unite_paths() {
  run::PathTrie trie;
  for (const Run& run : runs_) {
    std::vector<std::int64_t>& of_run = path_of_.emplace_back();
    for (const RunNode& node : run.source->nodes()) {
      const std::int64_t above = node.parent < 0 ? 0 : of_run[static_cast<std::size_t>(node.parent)];
      of_run.push_back(trie.below(static_cast<std::uint32_t>(above), clean_text(node.name), node.kind, node.is_marked));
    }
  }
  auto [nodes, place] = trie.in_preorder();
  // The root is not a path.
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    run::PathNode& of = nodes[i];
    Path& path = paths_.emplace_back();
    path.parent = std::int64_t{of.parent} - 1;
    path.last = static_cast<std::int64_t>(i) - 1;
    path.name = std::move(of.name);
    path.kind = of.kind;
    path.is_marked = of.marked;
    if (path.parent >= 0) path.depth = paths_[static_cast<std::size_t>(path.parent)].depth + 1;
  }
  for (std::vector<std::int64_t>& of_run : path_of_)
    for (std::int64_t& path : of_run) path = std::int64_t{place[static_cast<std::size_t>(path)]} - 1;
  for (std::size_t i = paths_.size(); i-- > 0;)
    if (paths_[i].parent >= 0) {
      Path& parent = paths_[static_cast<std::size_t>(paths_[i].parent)];
      parent.last = std::max(parent.last, paths_[i].last);
    }

  std::map<std::pair<std::string, bool>, std::int64_t> functions;
  for (Path& path : paths_) {
    const std::int64_t around = path.parent < 0 ? -1 : paths_[static_cast<std::size_t>(path.parent)].function;
    if (path.kind == PathKind::Other) continue;
    if (path.is_marked && around >= 0) {
      path.function = around;
      continue;
    }
    const bool is_mpi = path.kind == PathKind::Mpi;
    const auto [at, is_new] = functions.try_emplace({path.name, is_mpi}, static_cast<std::int64_t>(functions_.size()));
    if (is_new) functions_.push_back({path.name, is_mpi});
    path.function = at->second;
  }
}

void Runs::unite_metrics() {
  std::map<std::string, int> known;
  const auto add = [&](run::Metric metric) {
    const auto [at, is_new] = known.try_emplace(metric.name, static_cast<int>(metrics_.size()));
    if (is_new) metrics_.push_back(std::move(metric));
    return at->second;
  };
  for (const Run& run : runs_) {
    std::vector<std::int64_t>& of_run = metric_of_.emplace_back();
    for (const run::Metric& metric : run.source->metrics()) {
      const auto parent = static_cast<std::size_t>(metric.parent);
      const int above = metric.parent >= 0 && parent < of_run.size() ? static_cast<int>(of_run[parent]) : -1;
      of_run.push_back(add({clean_text(metric.name), clean_text(metric.unit), above, clean_text(metric.help)}));
    }
  }
  const auto mpi = known.find("mpi");
  wait_ = add({wait_metric, "s", mpi == known.end() ? -1 : mpi->second,
               "time in MPI in which the process has waited for others"});
}

void Runs::list_locations() {
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    first_location_.push_back(static_cast<std::int64_t>(locations_.size()));
    for (std::size_t i = 0; i < source(run).locations().size(); ++i) locations_.push_back({run, i});
  }
}

void Runs::read_loops() {
  if (are_loops_read_) return;
  loops_.clear();
  units_.clear();
  loop_of_.clear();
  for (std::size_t id = 0; id < locations_.size(); ++id) {
    const auto [run, place] = locations_[id];
    const auto location = static_cast<std::int64_t>(id);
    std::vector<std::int64_t> loops;
    const std::vector<database::RunLoop> here = source(run).loops_of(place);
    for (const database::RunLoop& loop : here) {
      const auto [at, is_new] = loop_of_.try_emplace({run, loop.name}, static_cast<std::int64_t>(loops_.size()));
      if (is_new) loops_.push_back({run, clean_text(source(run).loops()[loop.name])});
      Loop& of = loops_[static_cast<std::size_t>(at->second)];
      of.iterations = std::max(of.iterations, loop.iterations);
      loops.push_back(at->second);
    }
    const std::vector<UnitRef> units = units_of({run, place});
    for (std::size_t i = 0; i < units.size(); ++i) {
      Unit& unit = units_.emplace_back(Unit{unit_id(location, i), location});
      if (units[i].of != UnitRef::Cluster) continue;
      unit.loop = loops[units[i].loop];
      unit.cluster = units[i].number;
    }
  }
  are_loops_read_ = true;
}

std::vector<UnitRef> Runs::units_of(const Place& place) const {
  std::vector<UnitRef> units = source(place.run).units(place.location);
  if (std::ranges::any_of(units, [](const UnitRef& unit) { return unit.of == UnitRef::Run; }) ||
      std::cmp_greater(units.size(), units_of_location))
    units.clear();
  return units;
}

const std::vector<Loop>& Runs::loops() {
  read_loops();
  return loops_;
}

const std::vector<Unit>& Runs::units() {
  read_loops();
  return units_;
}

std::int64_t Runs::loop_of(std::size_t run, std::size_t loop) {
  read_loops();
  return loop_of_.at({run, loop});
}

}  // namespace refrain::query
