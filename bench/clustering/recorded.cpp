#include "bench/clustering/recorded.hpp"

#include <algorithm>
#include <stdexcept>

#include "measurement/iterations.hpp"
#include "offline/experiment/experiment.hpp"
#include "tests/unit/record/whole_experiment.hpp"

namespace refrain::bench {

using namespace clustering;
using measurement::column_of;
using measurement::MetricId;
using measurement::NodeKind;

namespace {

/// The overall metrics that the other algorithms compare.
constexpr MetricId compared[] = {MetricId::Wall,        MetricId::Visits,        MetricId::Time,
                                 MetricId::Cpu,         MetricId::MessagesSent,  MetricId::MessagesReceived,
                                 MetricId::BytesSent,   MetricId::BytesReceived, MetricId::BytesRead,
                                 MetricId::BytesWritten};

enum Shapes : std::uint8_t { VisitedCall, UnvisitedCall, Function, Marked };

template <NodeKind kind>
std::vector<Column> columns() {
  constexpr auto columns = measurement::path_columns<kind>();
  return {columns.begin(), columns.end()};
}

/// The columns that the runtime records.
std::vector<ShapeTable> shapes() {
  const std::vector<Column> call = columns<NodeKind::Region>();
  std::vector<ShapeTable> out(4);
  out[VisitedCall] = {true, static_cast<std::uint8_t>(column_of(MetricId::Visits)), call};
  out[UnvisitedCall] = {false, no_column, call};
  out[Function] = {false, static_cast<std::uint8_t>(column_of(MetricId::Samples)), columns<NodeKind::Function>()};
  out[Marked] = {false, no_column, columns<NodeKind::Marked>()};
  return out;
}

std::uint8_t index_of(MetricId metric) { return static_cast<std::uint8_t>(format::logged_index(metric)); }

Shapes shape_of(NodeKind kind, const std::int64_t* values) {
  switch (kind) {
    case NodeKind::Region: return values[column_of(MetricId::Visits)] ? VisitedCall : UnvisitedCall;
    case NodeKind::Marked: return Marked;
    default: return Function;
  }
}

Sequence sequence_of(const experiment::Profile& profile, const experiment::Location& location,
                     const std::string& name) {
  const experiment::Loop& loop = location.loops.front();
  Sequence out;
  out.name = name;
  out.shapes = shapes();
  out.user_time_of = {index_of(MetricId::Wall), index_of(MetricId::Time), index_of(MetricId::Own)};
  if (loop.metrics.size() < format::logged_count) throw std::runtime_error(name + ": metrics are missing");
  for (std::size_t m = 0; m < loop.metrics.size(); ++m) {
    const bool own = m < format::logged_count;
    const auto& row = format::row_of(own ? format::logged_metrics[m] : MetricId::Wall);
    if (own && loop.metrics[m].name != row.total_name) throw std::runtime_error(name + ": metrics of another version");
    out.overall.push_back(own ? row.log : loop.metrics[m].precision);
    out.in_distance.push_back(!own || std::ranges::find(compared, format::logged_metrics[m]) != std::end(compared));
  }
  double weight = 0, squares = 0;
  for (const experiment::Unit& unit : location.units) {
    if (unit.loop != 0) continue;
    const experiment::Cluster& cluster = loop.clusters.at(static_cast<std::size_t>(unit.cluster));
    if (cluster.members != 1) throw std::runtime_error(name + ": iterations share a cluster");
    Sequence::Iteration it;
    it.number = static_cast<std::uint64_t>(cluster.first);
    it.overall = cluster.minimum;
    for (const experiment::PathValues& row : unit.values) {
      const NodeKind kind = profile.paths[row.path].kind;
      const std::int64_t* values = unit.columns.data() + row.first;
      it.path.push_back(row.path);
      it.shape.push_back(shape_of(kind, values));
      it.values.insert(it.values.end(), values, values + measurement::columns_of(kind));
    }
    weight += static_cast<double>(unit.weight_user_ns);
    squares += unit.weight_user_squared;
    out.iterations.push_back(std::move(it));
  }
  std::ranges::sort(out.iterations, {}, &Sequence::Iteration::number);
  out.tick_weight = weight > 0 ? squares / weight : 0;
  return out;
}

}  // namespace

std::vector<Sequence> recorded(const std::filesystem::path& experiment, const std::string& name) {
  const experiment::WholeExperiment read = experiment::read_experiment(experiment);
  std::vector<Sequence> out;
  const auto& ranks = read.profile.ranks;
  for (std::size_t r = 0; r < ranks.size(); r += std::max<std::size_t>(1, ranks.size() / 2)) {
    if (out.size() == 2) break;
    const experiment::Location& location = ranks[r].locations.front();
    if (location.loops.empty()) throw std::runtime_error(name + ": no loop");
    out.push_back(sequence_of(read.profile, location, name + "-" + std::to_string(ranks[r].rank)));
  }
  return out;
}

std::vector<Sequence> all_recorded(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) found.push_back(entry.path());
  std::ranges::sort(found);
  std::vector<Sequence> out;
  for (const auto& path : found) {
    if (std::filesystem::exists(path / "manifest.json")) {
      for (Sequence& s : recorded(path, path.filename())) out.push_back(std::move(s));
    } else if (path.extension() == ".seq") {
      Sequence s;
      if (!load(path, s)) throw std::runtime_error("cannot read " + path.string());
      out.push_back(std::move(s));
    }
  }
  return out;
}

}  // namespace refrain::bench
