#include "offline/experiment/loops_reader.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "format/kept_iterations.hpp"
#include "offline/experiment/clean_text.hpp"

namespace refrain::experiment {
namespace {

/// Reads the metrics of whole iterations with which the iterations of a rank were logged. They are found by name later
/// (offline/run/iterations.hpp), whatever metrics this program knows.
std::vector<OverallMetric> read_overall(SectionReader& in) {
  std::vector<OverallMetric> metrics;
  const std::size_t count = in.count(3);
  in.check();
  if (count > format::max_overall) in.refuse("more metrics than any version has");
  for (std::size_t i = 0; i < count; ++i) {
    OverallMetric metric;
    metric.name = clean_text(present_name(in.name(NameKind::Metric)));
    metric.unit = clean_text(in.text());
    const auto precision = in.fixed<std::uint8_t>();
    in.check();
    if (precision > static_cast<std::uint8_t>(format::Precision::NotKept)) in.refuse("an unknown precision");
    metric.precision = static_cast<format::Precision>(precision);
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

std::int64_t iteration_number(SectionReader& in) {
  const std::uint64_t value = in.varint();
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) in.fail();
  return in.failed() ? 0 : static_cast<std::int64_t>(value);
}

Loop read_loop(SectionReader& in, const std::vector<OverallMetric>& metrics) {
  Loop loop;
  loop.name = clean_text(in.name(NameKind::Region));
  loop.iterations = iteration_number(in);
  loop.metrics = metrics;
  for (std::size_t n = in.count(7); n > 0 && !in.failed(); --n) {
    Cluster cluster;
    cluster.label = static_cast<std::uint32_t>(in.varint());
    cluster.class_index = static_cast<std::uint32_t>(in.varint());
    cluster.overflow = in.fixed<std::uint8_t>() != 0;
    for (std::int64_t* value : {&cluster.members, &cluster.first, &cluster.last, &cluster.exemplar})
      *value = iteration_number(in);
    cluster.minimum.reserve(metrics.size());
    cluster.maximum.reserve(metrics.size());
    cluster.squares.reserve(metrics.size());
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      cluster.minimum.push_back(in.signed_varint());
      cluster.maximum.push_back(in.signed_varint());
      cluster.squares.push_back(finite(in));
    }
    loop.clusters.push_back(std::move(cluster));
  }
  in.check();
  return loop;
}

float slope(SectionReader& in) {
  const auto value = std::bit_cast<float>(in.fixed<std::uint32_t>());
  if (!std::isfinite(value)) in.refuse("a slope that is no number");
  return value;
}

/// The columns of MPI call paths in the file: our column for each, and the metrics that it scales with.
struct FileColumns {
  std::vector<ColumnPlace> own;
  std::vector<ScalesWith> scales_with;
};

ClassSlopes read_class_slopes(SectionReader& in, const FileColumns& columns, const ProfileDefinitions& definitions,
                              const Rank& rank) {
  ClassSlopes slopes;
  slopes.class_index = static_cast<std::uint32_t>(in.varint());
  std::vector<std::uint64_t> masks;
  const std::size_t rows = in.count(2);
  in.check();
  std::uint64_t path = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t step = in.varint();
    masks.push_back(in.varint());
    in.check();
    if (row > 0 && step == 0) in.refuse("a call path twice in one class");
    if (step >= rank.paths.size() - std::min<std::uint64_t>(path, rank.paths.size()))
      in.refuse("slopes of a call path that is not there");
    path += step;
    if (definitions.paths[rank.paths[path]].kind != NodeKind::Region) in.refuse("slopes of what is no MPI call");
    slopes.paths.push_back({rank.paths[path]});
  }
  for (std::size_t c = 0; c < columns.own.size(); ++c) {
    const int own = columns.own[c].own;
    for (std::size_t row = 0; row < rows; ++row)
      if (masks[row] >> c & 1)
        if (const float value = slope(in); own >= 0) slopes.paths[row].first[own] = value;
    if (columns.scales_with[c].second < 0) continue;
    for (std::size_t row = 0; row < rows; ++row)
      if (masks[row] >> c & 1)
        if (const float value = slope(in); own >= 0) slopes.paths[row].second[own] = value;
  }
  std::sort(slopes.paths.begin(), slopes.paths.end(),
            [](const PathSlopes& a, const PathSlopes& b) { return a.path < b.path; });
  return slopes;
}

}  // namespace

void read_loops(SectionReader& in, Rank& rank) {
  const std::vector<OverallMetric> metrics = read_overall(in);
  const std::uint64_t spilled = in.varint();
  const std::size_t locations = in.count(1);
  in.check();
  if (locations != rank.locations.size()) in.refuse("loops of other locations");
  std::vector<std::vector<Loop>> read(locations);
  for (auto& of_location : read) {
    for (std::size_t n = in.count(5); n > 0 && !in.failed(); --n) of_location.push_back(read_loop(in, metrics));
    in.check();
  }
  in.finish();
  for (std::size_t l = 0; l < locations; ++l)
    for (const Unit& unit : rank.locations[l].units)
      if (unit.loop >= 0 && (static_cast<std::size_t>(unit.loop) >= read[l].size() || unit.cluster < 0 ||
                             static_cast<std::size_t>(unit.cluster) >= read[l][unit.loop].clusters.size()))
        in.refuse("there are totals of clusters that are not here");
  for (std::size_t l = 0; l < locations; ++l) rank.locations[l].loops = std::move(read[l]);
  rank.spilled_bytes = spilled;
}

void read_single_iterations(SectionReader& in, Rank& rank) {
  struct OfLoop {
    std::array<PassedSum, 2> passed;
    Thinning thinning;
    std::vector<SlowIteration> slowest;
  };
  const std::size_t locations = in.count(1);
  in.check();
  if (locations != rank.locations.size()) in.refuse("single iterations of other locations");
  std::vector<OfLoop> read;  // one location after the other
  for (const Location& location : rank.locations) {
    const std::size_t loops = in.count(11);
    in.check();
    if (loops != location.loops.size()) in.refuse("single iterations of other loops");
    for (std::size_t i = 0; i < loops; ++i) {
      OfLoop& of = read.emplace_back();
      for (PassedSum& sum : of.passed) {
        sum.count = iteration_number(in);
        for (std::int64_t* value : {&sum.wall, &sum.cpu_ns, &sum.off_ns}) *value = in.signed_varint();
      }
      of.thinning.from = iteration_number(in);
      const std::uint64_t level = in.varint();
      if (level > format::highest_level) in.refuse("of too few iterations");
      of.thinning.level = static_cast<unsigned>(level);
      for (std::size_t n = in.count(2); n > 0 && !in.failed(); --n) {
        SlowIteration& slow = of.slowest.emplace_back();
        slow.number = iteration_number(in);
        slow.wall = in.signed_varint();
      }
      in.check();
    }
  }
  in.finish();
  auto next = read.begin();
  for (Location& location : rank.locations)
    for (Loop& loop : location.loops) {
      loop.passed = next->passed;
      loop.thinning = next->thinning;
      loop.slowest = std::move(next->slowest);
      ++next;
    }
}

void read_slopes(SectionReader& in, const ProfileDefinitions& definitions, const Schema& schema, Rank& rank) {
  const auto metric = [&] {
    const std::uint64_t number = in.varint();
    if (number > format::max_overall) in.refuse("follows a metric that is not there");
    return static_cast<std::int32_t>(number) - 1;
  };
  FileColumns columns{schema.columns[static_cast<std::size_t>(NodeKind::Region)], {}};
  const std::size_t count = in.count(2);
  in.check();
  if (count != columns.own.size() || count > 64) in.refuse("slopes of other columns than call paths have");
  std::vector<ScalesWith> scales_with(format::columns_of(NodeKind::Region));
  for (std::size_t c = 0; c < count; ++c) {
    ScalesWith& of = columns.scales_with.emplace_back();
    of.first = metric();
    of.second = metric();
    if (columns.own[c].own >= 0) scales_with[static_cast<std::size_t>(columns.own[c].own)] = of;
  }
  const std::size_t locations = in.count(1);
  in.check();
  if (locations != rank.locations.size()) in.refuse("slopes of other locations");
  std::vector<std::vector<ClassSlopes>> read;  // by loop, one location after the other
  for (const Location& location : rank.locations) {
    const std::size_t loops = in.count(1);
    in.check();
    if (loops != location.loops.size()) in.refuse("slopes of other loops");
    for (const Loop& loop : location.loops) {
      auto& slopes = read.emplace_back();
      for (std::size_t n = in.count(2); n > 0 && !in.failed(); --n)
        slopes.push_back(read_class_slopes(in, columns, definitions, rank));
      in.check();
      for (const ScalesWith& of : scales_with)
        if (std::max(of.first, of.second) >= static_cast<std::int32_t>(loop.metrics.size()))
          in.refuse("follows a metric that is not there");
    }
  }
  in.finish();
  auto next = read.begin();
  for (Location& location : rank.locations)
    for (Loop& loop : location.loops) {
      loop.slopes = std::move(*next++);
      loop.scales_with = scales_with;
    }
}

}  // namespace refrain::experiment
