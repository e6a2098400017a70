#include <cmath>
#include <fmt/format.h>
#include <string_view>

#include "offline/explorer/advice.hpp"
#include "offline/explorer/loop_parts.hpp"
#include "offline/explorer/loop_summary.hpp"

namespace refrain::explorer {
namespace {

constexpr std::size_t most_curve_metrics = 16, most_path_curves = 30;
/// Maximum number of floats, one for each place and bin: 16 MiB.
constexpr std::size_t most_curve_values = std::size_t{1} << 22;

/// Number of values of `bytes_of_value` bytes that fit into this share of the bytes that one loop may take.
std::size_t room(const LoopInput& input, double share, double bytes_of_value) {
  const auto loops = static_cast<double>(shown_loops(input.view));
  return static_cast<std::size_t>(share * static_cast<double>(input.bytes) / loops / bytes_of_value);
}

/// A metric of iterations.
struct CurveMetric {
  std::string name, unit;
  std::shared_ptr<const report::IterationSource> source = {};  ///< null: values come from the profiles

  run::IterationValue of(const run::OpenLoop& open) const {
    if (source) return source->of(*open.profiles, open.location->thread, nullptr);
    return value_of_metric(*open.profiles, name);
  }
};

/// The usual metrics come first, then all others in small loops, or only those of REFRAIN_METRICS in large ones.
/// Patterns of waiting come last.
std::vector<CurveMetric> curve_metrics(const LoopInput& input, const report::LoopGroup& group) {
  constexpr std::string_view usual[] = {"wall", "mpi", "user", "cpu", "mpi_calls", "bytes_sent", "bytes_received"};
  std::vector<CurveMetric> metrics;
  for (const std::string_view name : usual)
    if (const auto at = std::ranges::find(input.view.metrics, name, &run::Metric::name); at != input.view.metrics.end())
      metrics.push_back({at->name, at->unit});
  const std::vector<std::string> own = run::iteration_metric_names();
  for (const run::Metric& of : input.view.metrics) {
    const bool is_asked_for = std::ranges::find(own, of.name) == own.end();
    if (std::ranges::find(usual, of.name) == std::end(usual) && (is_asked_for || is_small(group)) &&
        metrics.size() < most_curve_metrics)
      metrics.push_back({of.name, of.unit});
  }
  for (const PatternSource& pattern : input.patterns) metrics.push_back({pattern.name, "s", pattern.source});
  return metrics;
}

/// The series of one location, by metric.
struct PlaceSeries {
  std::size_t number = 0;
  std::vector<BinnedPlace> curves, maps;
};
struct RankSeries {
  explicit RankSeries(std::int64_t iterations) : job(iterations) {}
  JobBuilder job;
  std::vector<PlaceSeries> places;
};

/// Reads the series of locations; several threads may use one object at a time.
class SeriesReader {
 public:
  SeriesReader(const std::vector<CurveMetric>& metrics, const Bins& bins, const Bins& columns)
      : metrics_(metrics), bins_(bins), columns_(columns) {}

  void add(std::size_t number, const run::OpenLoop& open, RankSeries& to) const {
    PlaceSeries& series = to.places.emplace_back();
    series.number = number;
    series.curves.resize(metrics_.size(), BinnedPlace(bins_));
    series.maps.resize(std::min(metrics_.size(), metrics_with_map), BinnedPlace(columns_));
    const Bins& groups = to.job.groups();
    BinCursor bin_of(bins_), column_of(columns_), group_of(groups);
    std::vector<JobBuilder::Times> times(groups.count);
    std::vector<run::IterationValue> values;
    for (const CurveMetric& metric : metrics_) values.push_back(metric.of(open));
    std::vector<double> now(values.size());
    // Names are not looked up in each iteration: there may be a hundred million.
    const auto place_in = [&](std::string_view name) {
      return static_cast<std::size_t>(std::ranges::find(metrics_, name, &CurveMetric::name) - metrics_.begin());
    };
    const std::size_t wall = place_in("wall"), mpi = place_in("mpi"), user = place_in("user");
    const auto value = [&](std::size_t at) { return at < now.size() ? now[at] : NAN; };
    for_each_present(open, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
      const std::size_t bin = bin_of.of(i), column = column_of.of(i), group = group_of.of(i);
      for (std::size_t m = 0; m < values.size(); ++m) {
        now[m] = values[m] ? values[m](i, cluster, row) : NAN;
        series.curves[m].add(bin, now[m]);
        if (m < series.maps.size()) series.maps[m].add(column, now[m]);
      }
      if (group < times.size())
        times[group].add(value(wall), value(mpi), value(user), i - static_cast<std::int64_t>(group) * groups.width);
    });
    to.job.add_place(number, times);
  }
  std::size_t bytes() const {
    constexpr std::size_t bytes_of_bin = sizeof(double) + sizeof(std::int64_t) + sizeof(float);
    return bytes_of_bin * (metrics_.size() * bins_.count + metrics_with_map * columns_.count);
  }

 private:
  const std::vector<CurveMetric>& metrics_;
  Bins bins_, columns_;
};

/// The node of the marked loop of this name with most time; 0: none, as when an MPI call begins the iterations.
std::uint32_t node_of_loop(const analysis::CallTree& tree, const std::string& name) {
  std::uint32_t best = 0;
  for (std::uint32_t node = 1; node < tree.nodes.size(); ++node)
    if (const auto& of = tree.nodes[node]; of.marked && of.name == name)
      if (best == 0 || of.inclusive_s > tree.nodes[best].inclusive_s) best = node;
  return best;
}

}  // namespace

std::size_t most_bins(const LoopInput& input, const report::LoopGroup& group) {
  constexpr double share = 0.07, bytes = 4 * 4;  // of four curves
  const std::size_t rows = curve_metrics(input, group).size() + most_path_curves;
  return std::min(std::clamp<std::size_t>(room(input, share, bytes * static_cast<double>(rows)), 64, 2048),
                  std::max<std::size_t>(most_curve_values / std::max<std::size_t>(group.locations.size(), 1), 1));
}

JobIterations add_metric_curves(const LoopInput& input, const report::LoopGroup& group, const MapSize& map_size,
                                Loop& loop, Run& run) {
  const std::size_t places = group.locations.size();
  const std::vector<CurveMetric> metrics = curve_metrics(input, group);
  if (const std::size_t shown = metrics.size() - input.patterns.size(), all = input.view.metrics.size(); shown < all)
    run.lacks.push_back({"iterations", fmt::format("{}: {} of {} metrics are not in the file by iteration (refrain "
                                                   "report --iterations --metric NAME).",
                                                   group.name, all - shown, all)});
  const Bins bins(group.iterations, most_bins(input, group)), columns(group.iterations, map_size.columns);
  std::vector<CurveBuilder> curves(metrics.size(), CurveBuilder(bins, places));
  std::vector<MapBuilder> maps(std::min(metrics.size(), metrics_with_map),
                               MapBuilder(columns, places, map_size.rows, map_size.code_step));
  const SeriesReader reader(metrics, bins, columns);
  const RankSeries empty(group.iterations);
  JobBuilder job(group.iterations);
  const std::size_t locations_of_rank = places / std::max<std::size_t>(input.experiment->ranks().size(), 1) + 1;
  const std::size_t bytes_of_rank =
      locations_of_rank * reader.bytes() + sizeof(JobBuilder::Times) * job.groups().count + job.bytes();
  for_each_rank_of(
      input, group, {}, has_few_locations(group) ? experiment::Depth::Whole : experiment::Depth::Loops, bytes_of_rank,
      empty, [&](std::size_t number, const run::OpenLoop& open, RankSeries& made) { reader.add(number, open, made); },
      [&](const RankSeries& made) {
        job.add(made.job);
        for (const PlaceSeries& of : made.places) {
          for (std::size_t m = 0; m < curves.size(); ++m) curves[m].add(of.curves[m]);
          for (std::size_t m = 0; m < maps.size(); ++m) maps[m].add(of.number, of.maps[m]);
        }
      });
  loop.bins = static_cast<std::int64_t>(bins.count);
  loop.width = bins.width;
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    Curves done = curves[m].finish();
    done.metric = title_of(metrics[m].name);
    done.unit = metrics[m].unit;
    if (m < maps.size()) {
      Map& map = loop.maps.emplace_back(maps[m].finish());
      map.metric = done.metric;
      map.unit = done.unit;
    } else if (std::ranges::none_of(done.greatest, [](float value) { return value > 0; })) {
      continue;  // all values are 0, or none is known
    }
    loop.curves.push_back(std::move(done));
  }
  if (!loop.maps.empty() && loop.maps[0].places_in_row > 1)
    run.lacks.push_back({"iterations", fmt::format("{}: {} threads are put together in each row of the map (--size).",
                                                   group.name, loop.maps[0].places_in_row)});
  JobIterations iterations = job.finish();
  iterations.classes = analysis::job_classes(iterations.all);
  return iterations;
}

void add_loops(const LoopInput& input, ValueTable& table, Run& run) {
  const std::vector<report::LoopGroup>& groups = input.view.groups;
  std::vector<MapOf> maps;
  for (const report::LoopGroup& group : std::span(groups).first(std::min(groups.size(), most_loops)))
    maps.push_back({group.locations.size(), group.iterations});
  const std::vector<MapSize> sizes = map_sizes(maps, input.bytes);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    Loop loop;
    loop.name = groups[i].name;
    loop.node = node_of_loop(input.tree, groups[i].name);
    loop.iterations = groups[i].iterations;
    for (const run::LoopPlace& of : groups[i].locations) loop.locations.emplace_back(of.rank, of.thread);
    const JobIterations iterations = add_metric_curves(input, groups[i], sizes[i], loop, run);
    add_units(input, groups[i], iterations, loop, table, run);
    if (groups[i].kept_every > 1)
      run.lacks.push_back({"iterations", fmt::format("{}: from iteration {} on the log keeps one of 2 iterations, at "
                                                     "the end one of {}; the others are shown with the mean of theirs.",
                                                     groups[i].name, groups[i].thinned_from, groups[i].kept_every)});
    run.loops.push_back(std::move(loop));
  }
  if (groups.size() > most_loops)
    run.lacks.push_back(
        {"iterations", fmt::format("{} further loops are not in the file.", groups.size() - most_loops)});
}

}  // namespace refrain::explorer
