#include "offline/database/native_run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "format/profile_file.hpp"
#include "offline/database/digest.hpp"
#include "offline/experiment/folder.hpp"
#include "offline/run/iteration_metrics.hpp"
#include "offline/run/iterations.hpp"

namespace refrain::database {
namespace {

namespace fs = std::filesystem;

/// When the executable was last written, if the present file may be the one that ran.
std::optional<std::int64_t> compiled_us(const std::string& executable, std::optional<std::int64_t> start_us) {
  std::error_code error;
  const auto written = fs::last_write_time(executable, error);
  if (error) return std::nullopt;
  const auto since = std::chrono::file_clock::to_sys(written).time_since_epoch();
  const std::int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(since).count();
  if (start_us && us > *start_us + 1'000'000) return std::nullopt;
  return us;
}

class NativeRun : public RunSource {
 public:
  NativeRun(const std::shared_ptr<const experiment::Experiment>& experiment, const analysis::CallTree& tree,
            const std::vector<NodeWaiting>& waiting)
      : experiment_(experiment), run_(run_of(*experiment, tree)) {
    run_.add_found();
    values_.emplace(run_);
    const experiment::Manifest& manifest = experiment->manifest();
    facts_.executable = manifest.executable;
    facts_.program = fs::path(manifest.executable).filename().string();
    if (facts_.program.empty()) facts_.program = "unknown";
    for (const auto& module : experiment->definitions().modules)
      if (module.path == manifest.executable) facts_.build_id = module.build_id;
    facts_.version = facts_.build_id.empty() ? "unknown" : facts_.build_id;
    facts_.experiment = experiment::full_name(experiment->directory());
    facts_.source = "refrain";
    if (const auto seconds = manifest.started_s()) facts_.start_us = *seconds * 1'000'000;
    facts_.compiled_us = compiled_us(manifest.executable, facts_.start_us);
    facts_.processes = manifest.ranks;
    facts_.complete = experiment->definitions().complete;
    for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
      const analysis::TreeNode& node = tree.nodes[i];
      RunNode row;
      // Nodes that only the time rules define are not functions.
      const bool is_function = !node.name.starts_with('(') || node.kind == run::PathKind::User;
      row.kind = is_function ? node.kind : run::PathKind::Other;
      row.parent = node.parent - 1;
      row.name = node.name;
      row.is_marked = node.marked;
      row.error_s = node.standard_error_s;
      row.exclusive_error_s = node.exclusive_error_s;
      if (const auto of = tree.function_errors.find({node.kind, node.name}); of != tree.function_errors.end())
        row.function_error_s = of->second.inclusive_s;
      if (i < waiting.size()) {
        row.wait = waiting[i].wait;
        row.wait_confidence = waiting[i].confidence;
        row.wait_kind = waiting[i].kind;
        row.wait_by_rank.assign(waiting[i].by_rank.begin(), waiting[i].by_rank.end());
      }
      nodes_.push_back(std::move(row));
    }
    metrics_ = run_.metrics().list();
    for (std::size_t place = 0; place < experiment->ranks().size(); ++place) {
      const auto rank = experiment->rank(place, experiment::Depth::Run);
      for (std::size_t i = 0; rank && i < rank->locations.size(); ++i) {
        const experiment::Location& location = rank->locations[i];
        locations_.push_back({rank->rank, location.thread, location.name, run::tells_waiting(*rank, location)});
        places_.push_back({place, i});
      }
    }
  }

  std::string digest() const override { return digest_of_experiment(experiment_->directory()); }

  void for_each_node(std::size_t location, const TakeNode& take) override { for_each_node_of(location, {}, take); }

  void for_each_node_of(std::size_t location, const run::UnitRef& unit, const TakeNode& take) override {
    // Node 0 of the tree is its root.
    values_->for_each_node(static_cast<std::int32_t>(locations_[location].rank),
                           static_cast<std::int32_t>(locations_[location].thread), unit,
                           [&](std::uint32_t node, std::span<const double> values) { take(node - 1, values); });
  }

  std::vector<run::UnitRef> units(std::size_t location) override {
    const experiment::Location* of = open(location);
    // A location that cannot be divided is shown as a whole.
    if (of == nullptr || of->units.empty()) return {{}};
    std::vector<run::UnitRef> units{{run::UnitRef::Outside}};
    for (const experiment::Unit& unit : of->units) {
      if (unit.loop < 0) continue;
      const auto loop = static_cast<std::size_t>(unit.loop);
      if (loop >= of->loops.size() || unit.cluster < 0 ||
          std::cmp_greater_equal(unit.cluster, of->loops[loop].clusters.size()))
        return {{}};
      units.push_back({run::UnitRef::Cluster, loop, unit.cluster});
    }
    std::ranges::sort(units);
    // Only a damaged file has two sums of one cluster.
    if (std::ranges::adjacent_find(units) != units.end()) return {{}};
    return units;
  }

  std::vector<RunLoop> loops_of(std::size_t location) override {
    std::vector<RunLoop> loops;
    if (const experiment::Location* of = open(location))
      for (const experiment::Loop& loop : of->loops)
        loops.push_back({loop_named(loop.name), loop.iterations, loop.thinning.level > 0});
    return loops;
  }

  std::int64_t iterations(std::size_t location) override {
    const experiment::Location* of = open(location);
    std::int64_t sum = 0;
    if (of != nullptr)
      for (const experiment::Loop& loop : of->loops) sum += loop.iterations;
    return sum;
  }

  void for_each_iteration(std::size_t location, const std::function<void(const RunCluster&)>& take_cluster,
                          const std::function<void(const RunIteration&)>& take) override {
    const experiment::Location* of = open(location);
    if (of == nullptr) return;
    for (std::size_t l = 0; l < of->loops.size(); ++l) {
      const std::size_t loop = loop_named(of->loops[l].name);
      const run::IterationProfiles profiles(experiment_->definitions(), *open_, *of, l);
      constexpr std::array names{"wall", "mpi", "user"};
      std::array<run::IterationValue, names.size()> values;
      for (std::size_t m = 0; m < names.size(); ++m) values[m] = run::value_of_metric(profiles, names[m]);
      const auto value = [&](std::size_t m, std::int64_t number, std::int32_t cluster,
                             std::span<const std::int64_t> row) {
        return values[m] ? values[m](number, cluster, row) : unknown;
      };
      for (std::size_t c = 0; c < of->loops[l].clusters.size(); ++c) {
        const experiment::Cluster& cluster = of->loops[l].clusters[c];
        const experiment::Unit* sums = profiles.cluster_unit(static_cast<std::int32_t>(c));
        take_cluster({loop, static_cast<std::int64_t>(c), cluster.members, cluster.first, cluster.last,
                      sums == nullptr || cluster.members == 0
                          ? unknown
                          : profiles.seconds(static_cast<double>(sums->wall)) / static_cast<double>(cluster.members)});
      }
      run::for_each_iteration(of->loops[l],
                              [&](std::int64_t number, std::int32_t cluster, std::span<const std::int64_t> row) {
                                take({loop, number, cluster, value(0, number, cluster, row),
                                      value(1, number, cluster, row), value(2, number, cluster, row)});
                              });
    }
  }

 private:
  const experiment::Location* open(std::size_t location) {
    const auto& place = places_[location];
    if (!open_ || open_place_ != place.place) open_ = experiment_->rank(place.place, experiment::Depth::Whole);
    open_place_ = place.place;
    if (!open_ || place.location >= open_->locations.size()) return nullptr;
    const experiment::Location& of = open_->locations[place.location];
    for (const experiment::Loop& loop : of.loops) loop_named(loop.name);
    return &of;
  }
  std::size_t loop_named(const std::string& name) {
    const auto at = std::ranges::find(loops_, name);
    if (at != loops_.end()) return static_cast<std::size_t>(at - loops_.begin());
    loops_.push_back(name);
    return loops_.size() - 1;
  }

  std::shared_ptr<const experiment::Experiment> experiment_;
  run::Run run_;
  std::optional<run::ValueReader> values_;
  struct Place {
    std::size_t place, location;  ///< indices in Experiment::ranks() and Rank::locations
  };
  std::vector<Place> places_;
  experiment::RankHandle open_;
  std::size_t open_place_ = 0;
};

}  // namespace

std::unique_ptr<RunSource> native_run(const std::shared_ptr<const experiment::Experiment>& experiment,
                                      const analysis::CallTree& tree, const std::vector<NodeWaiting>& waiting) {
  return std::make_unique<NativeRun>(experiment, tree, waiting);
}

std::string digest_of_experiment(const fs::path& directory) {
  // Neither an analysis that is stored later (analysis-*.refrain) nor packing makes it another run.
  Digest digest;
  std::error_code error;
  for (const std::string& name : experiment::files_in(directory, error)) {
    if (name != format::manifest_name &&
        !((name.starts_with("profile") || name.starts_with("part-")) && name.ends_with(".refrain")))
      continue;
    const std::string named = name + '\0';
    digest.add(std::as_bytes(std::span(named)));
    const experiment::InputFile file(directory / name);
    file.for_each_piece([&](std::span<const std::byte> bytes) { digest.add(bytes); });
  }
  return digest.text();
}

}  // namespace refrain::database
