// OTF2 archives.
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

#include "offline/explorer/advice.hpp"
#include "offline/explorer/foreign.hpp"
#include "offline/explorer/page.hpp"
#include "offline/explorer/path_trie.hpp"
#include "offline/explorer/places.hpp"
#include "offline/explorer/value_table.hpp"
#include "offline/patterns/path_names.hpp"

namespace refrain::explorer {
namespace {

enum OwnMetric : std::size_t { Wall, Mpi, User, Calls, first_pattern };

/// Nanoseconds and calls at each call path of a location, without what is called there.
struct PathTimes {
  std::map<std::uint32_t, std::int64_t> ns, calls;  ///< by path of the trace; no_path: outside of all regions
};

std::vector<PathTimes> times_of(const trace::Trace& trace) {
  struct Open {
    std::vector<std::uint32_t> paths;
    std::int64_t since_ns = 0;
  };
  std::vector<PathTimes> times(trace.locations().size());
  std::vector<Open> open(times.size());
  auto reader = trace.read();
  while (const trace::Event* event = reader.next()) {
    Open& here = open[event->location];
    PathTimes& to = times[event->location];
    const auto spend = [&] {
      if (!here.paths.empty()) to.ns[here.paths.back()] += event->time_ns - here.since_ns;
      here.since_ns = event->time_ns;
    };
    if (event->type == trace::Type::Enter) {
      spend();
      here.paths.push_back(event->path);
      ++to.calls[event->path];
    } else if (event->type == trace::Type::Leave && !here.paths.empty()) {
      spend();
      here.paths.pop_back();
    }
  }
  return times;
}

/// Nodes of the file by path of the trace.
class Nodes {
 public:
  explicit Nodes(const trace::Trace& trace) : trace_(trace) {}
  std::uint32_t of(std::uint32_t path) {
    if (path == trace::no_path) return 0;
    if (const auto at = known_.find(path); at != known_.end()) return at->second;
    std::vector<std::uint32_t> way;  // no recursion: archives are anybody's
    for (std::uint32_t at = path; at != trace::no_path && !known_.contains(at) && way.size() < deepest;
         at = trace_.parent_of(at))
      way.push_back(at);
    for (auto at = way.rbegin(); at != way.rend(); ++at) {
      const trace::RegionOfTrace& region = trace_.region(*at);
      const std::uint32_t parent = trace_.parent_of(*at);
      const auto above = known_.find(parent);
      known_[*at] =
          trie_.below(above == known_.end() ? 0 : above->second, region.name,
                      region.is_mpi() ? run::PathKind::Mpi : run::PathKind::User, region.role == trace::Role::Loop);
    }
    return known_[path];
  }
  const PathTrie& trie() const { return trie_; }

 private:
  static constexpr std::size_t deepest = 100'000;
  const trace::Trace& trace_;
  PathTrie trie_;
  std::map<std::uint32_t, std::uint32_t> known_;
};

void add_places(const trace::Trace& trace, Run& run, std::vector<std::uint32_t>& place_of) {
  std::vector<Thread> threads;
  std::set<std::int32_t> ranks;
  for (const trace::LocationOfTrace& of : trace.locations()) {
    threads.push_back({of.host, of.rank, of.thread, 0, 0});
    ranks.insert(of.rank);
  }
  Grouping grouping = group_places(threads, threads.size());
  run.places = std::move(grouping.places);
  place_of = std::move(grouping.place_of);
  run.ranks = static_cast<std::int64_t>(ranks.size());
}

}  // namespace

Run run_of_archive(const trace::Trace& trace, const std::function<void(double part)>& progress) {
  Run run;
  run.name = trace.archive()->name();
  run.source = "otf2";
  std::vector<std::uint32_t> place_of;
  add_places(trace, run, place_of);
  run.facts = {
      {"Archive", run.name}, {"Ranks", std::to_string(run.ranks)}, {"Locations", std::to_string(run.places.size())}};
  run.lacks.push_back({"iterations", "Archives have no iterations here; refrain analyze shows one at a time."});
  run.metrics = {{"wall", "Time", "s", -1, "time in all regions", {}},
                 {"mpi", "MPI", "s", Wall, "time in functions of MPI", {}},
                 {"user", "User code", "s", Wall, "time in all other regions", {}},
                 {"visits", "Visits", "1", -1, "how often a region was entered", {}}};

  const std::vector<PathTimes> times = times_of(trace);
  const patterns::PathNames names(trace);
  patterns::Request request;
  const auto end_ns = static_cast<double>(std::max<std::int64_t>(trace.end_ns(), 1));
  request.progress = [&](std::int64_t time_ns) { progress(static_cast<double>(time_ns) / end_ns); };
  const patterns::Analysis analysis = patterns::analyse(trace, names.naming(), request);
  const auto advice = advice_of(embedded_patterns);
  std::vector<const patterns::PatternResult*> shown;
  for (const patterns::PatternResult& of : analysis.patterns) {
    if (of.is_class || of.cells.empty() || of.all.ns <= 0) continue;
    const auto parent = std::ranges::find(run.metrics, of.about.parent, &Metric::name);
    Metric metric{of.about.name,
                  title_of(of.about.name),
                  "s",
                  parent == run.metrics.end() ? int{Mpi} : static_cast<int>(parent - run.metrics.begin()),
                  of.about.title,
                  {},
                  true,
                  true,
                  Metric::Exact};
    if (const auto at = advice.find(metric.name); at != advice.end()) metric.advice = at->second.advice;
    run.metrics.push_back(std::move(metric));
    shown.push_back(&of);
    if (of.confidence < 1)
      run.lacks.push_back({"trees", fmt::format("{}: all parts of {:.0f} % of the operations are known.",
                                                run.metrics.back().title, 100 * of.confidence)});
  }

  Nodes nodes(trace);
  for (const PathTimes& of : times)
    for (const auto& [path, ns] : of.ns) nodes.of(path);
  for (const auto* of : shown)
    for (const auto& cell : of->cells) nodes.of(cell.node);
  auto [in_order, place] = nodes.trie().in_preorder();
  run.nodes = std::move(in_order);
  ValueTable table(run.metrics.size(), run.nodes.size(), run.places.size());
  constexpr double s_per_ns = 1e-9;
  for (std::size_t location = 0; location < times.size(); ++location) {
    for (const auto& [path, ns] : times[location].ns)
      table.add(0, run.nodes[place[nodes.of(path)]].kind == run::PathKind::Mpi ? Mpi : User, place[nodes.of(path)],
                place_of[location], static_cast<double>(ns) * s_per_ns);
    for (const auto& [path, calls] : times[location].calls)
      table.add(0, Calls, place[nodes.of(path)], place_of[location], static_cast<double>(calls));
  }
  for (std::size_t i = 0; i < shown.size(); ++i)
    for (const auto& cell : shown[i]->cells)
      table.add(0, first_pattern + i, place[nodes.of(cell.node)], place_of[cell.location], cell.ns * s_per_ns);
  std::vector<std::uint32_t> all(run.metrics.size());
  for (std::uint32_t m = 0; m < all.size(); ++m) all[m] = m;
  table.finish(all, run);
  return run;
}

}  // namespace refrain::explorer
