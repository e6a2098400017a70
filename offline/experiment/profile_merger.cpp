#include "offline/experiment/profile_merger.hpp"

#include <algorithm>

#include "format/profile_file.hpp"
#include "offline/experiment/reader.hpp"

namespace refrain::experiment {

namespace {

template <class Row>
void sort_by_path(std::vector<Row>& rows) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.path < b.path; });
}

}  // namespace

ProfileMerger::ProfileMerger() { profile_.paths.push_back({0, NodeKind::Root, -1, 0}); }

std::int32_t ProfileMerger::module_number(const ProfileModule& module) {
  const bool by_id = !module.build_id.empty();
  const auto [at, is_new] = modules_.try_emplace({by_id, by_id ? module.build_id : module.path},
                                                 static_cast<std::int32_t>(profile_.modules.size()));
  if (is_new) profile_.modules.push_back(module);
  return at->second;
}

std::uint64_t ProfileMerger::region_number(const std::string& name) {
  const auto [at, is_new] = regions_.try_emplace(name, profile_.regions.size());
  if (is_new) profile_.regions.push_back(name);
  return at->second;
}

std::uint32_t ProfileMerger::path_number(const CallPath& path) {
  const auto [at, is_new] = paths_.try_emplace({path.parent, path.kind, path.module, path.offset},
                                               static_cast<std::uint32_t>(profile_.paths.size()));
  if (is_new) profile_.paths.push_back(path);
  return at->second;
}

std::size_t ProfileMerger::metric_number(const ExtraMetric& metric) {
  auto& all = profile_.extra_metrics;
  const auto at = std::find_if(all.begin(), all.end(), [&](const ExtraMetric& m) { return m.name == metric.name; });
  if (at != all.end()) return static_cast<std::size_t>(at - all.begin());
  all.push_back(metric);
  return all.size() - 1;
}

namespace {

/// Puts the metrics of `extra` into the places that `numbers` gives them among `width`, and its rows into order.
void renumber(ExtraValues& extra, const std::vector<std::size_t>& numbers, std::size_t width) {
  const auto widened = [&](auto from) {
    std::vector<std::int64_t> to(width, 0);
    for (std::size_t m = 0; m < extra.totals.size(); ++m) to[numbers[m]] = from(m);
    return to;
  };
  std::sort(extra.values.begin(), extra.values.end(),
            [](const PathValues& a, const PathValues& b) { return a.path < b.path; });
  std::vector<std::int64_t> columns;
  for (PathValues& row : extra.values) {
    const auto values = widened([&](std::size_t m) { return extra.of(row, m); });
    row.first = static_cast<std::uint32_t>(columns.size());
    columns.insert(columns.end(), values.begin(), values.end());
  }
  if (!extra.totals.empty()) extra.totals = widened([&](std::size_t m) { return extra.totals[m]; });
  extra.columns = std::move(columns);
}

}  // namespace

bool ProfileMerger::has_rank(std::int32_t rank) const {
  return std::any_of(profile_.ranks.begin(), profile_.ranks.end(), [&](const Rank& r) { return r.rank == rank; });
}

void ProfileMerger::add(Profile part, const std::string& name) {
  if (profile_.version.empty()) profile_.version = part.version;
  profile_.ranks_expected = std::max(profile_.ranks_expected, part.ranks_expected);

  std::vector<std::uint32_t> mapping{0};
  for (std::size_t i = 1; i < part.paths.size(); ++i) {
    CallPath path = part.paths[i];
    path.parent = mapping[path.parent];
    if (path.module >= 0) path.module = module_number(part.modules[static_cast<std::size_t>(path.module)]);
    if (format::is_named(path.kind)) path.offset = region_number(part.regions[path.offset]);
    mapping.push_back(path_number(path));
  }
  auto used = mapping;
  std::sort(used.begin(), used.end());
  if (std::adjacent_find(used.begin(), used.end()) != used.end())
    throw ReadError(name + ": a call path is defined twice");

  std::vector<std::size_t> metrics;
  for (const ExtraMetric& metric : part.extra_metrics) metrics.push_back(metric_number(metric));

  for (Rank& rank : part.ranks) {
    if (has_rank(rank.rank)) continue;
    for (std::uint32_t& path : rank.paths) path = mapping[path];
    for (Location& location : rank.locations)
      for (Loop& loop : location.loops)
        for (ClassSlopes& slopes : loop.slopes) {
          for (PathSlopes& of : slopes.paths) of.path = mapping[of.path];
          sort_by_path(slopes.paths);
        }
    for (Location& location : rank.locations)
      for (Unit& unit : location.units) {
        for (PathValues& value : unit.values) value.path = mapping[value.path];
        sort_by_path(unit.values);
        for (PathValues& value : unit.extra.values) value.path = mapping[value.path];
        renumber(unit.extra, metrics, profile_.extra_metrics.size());
      }
    for (Location& location : rank.locations)
      if (location.run) {
        RunTotals& run = *location.run;
        for (PathTotals& of : run.paths) of.path = mapping[of.path];
        sort_by_path(run.paths);
        for (PathValues& value : run.extra.values) value.path = mapping[value.path];
        std::vector<std::int64_t> no_path(run.extra.totals.empty() ? 0 : profile_.extra_metrics.size(), 0);
        for (std::size_t m = 0; m < run.extra_no_path.size(); ++m) no_path[metrics[m]] = run.extra_no_path[m];
        run.extra_no_path = std::move(no_path);
        renumber(run.extra, metrics, profile_.extra_metrics.size());
      }
    profile_.ranks.push_back(std::move(rank));
  }
}

Profile ProfileMerger::take() {
  std::sort(profile_.ranks.begin(), profile_.ranks.end(), [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
  return std::move(profile_);
}

}  // namespace refrain::experiment
