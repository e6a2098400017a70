#include "offline/analysis/severities.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "format/mpi_coverage.hpp"
#include "offline/analysis/iteration_profile.hpp"
#include "offline/analysis/iterations.hpp"
#include "offline/analysis/run_totals.hpp"

namespace refrain::analysis {
namespace {

using experiment::NodeKind;
using format::MetricId;

/// The times, below `time`. What MPI functions have is by their class in adapters/mpi/functions.table.
struct TimeMetric {
  const char *name, *parent, *help;
  std::vector<std::string_view> classes = {};  ///< of MPI functions; the last one of them has all others
};
const TimeMetric times[] = {
    {"time", "", "wall time"},
    {"mpi", "time", "time in MPI functions"},
    {"mpi_point_to_point", "mpi", "sending, receiving, probing", {"send", "receive", "sendrecv", "probe"}},
    {"mpi_completion", "mpi", "starting and completing requests", {"request", "request_start", "wait", "test"}},
    {"mpi_collective",
     "mpi",
     "collective operations",
     {"barrier", "collective_nxn", "collective_1xn", "collective_nx1", "collective_scan", "collective_neighbor"}},
    {"mpi_one_sided", "mpi", "one-sided operations and their synchronisation", {"rma", "rma_sync", "window"}},
    {"mpi_io", "mpi", "files", {"file", "file_io"}},
    {"mpi_other", "mpi", "all other MPI functions", {""}},
    {"user", "time", "user code"},
    {"not_on_cpu", "user", "user code in which the thread did not run"},
    {"refrain", "time", "Refrain's own bookkeeping"},
    {"measurement_off", "time", "stopped by the program (MPI_Pcontrol)"}};
constexpr std::size_t time_metrics = std::size(times), first_class = 2, last_class = 7, user_metric = 8;

std::string_view class_of(std::string_view function) {
  static const auto classes = [] {
    std::map<std::string_view, std::string_view> of;
    for (const auto& known : format::known_functions()) of[known.function] = known.operation;
    return of;
  }();
  const auto at = classes.find(function);
  return at == classes.end() ? std::string_view() : at->second;
}

/// Index of `times` for the time of an MPI function.
std::size_t class_metric(std::string_view function) {
  const std::string_view of = class_of(function);
  for (std::size_t m = first_class; m < last_class; ++m)
    if (std::ranges::find(times[m].classes, of) != times[m].classes.end()) return m;
  return last_class;
}

const char* display_unit(std::string_view unit) {
  return unit == "ticks" || unit == "ns" ? "s" : unit == "B" ? "B" : "1";
}

}  // namespace

const char* name_of(Known known) {
  constexpr const char* names[] = {"exact", "sampled", "reconstructed"};
  return names[static_cast<std::size_t>(known)];
}

Severities::Severities(std::shared_ptr<const experiment::Experiment> experiment, const CallTree& tree)
    : experiment_(std::move(experiment)), tree_(tree) {
  for (const TimeMetric& time : times) {
    const auto parent = std::ranges::find(metrics_, time.parent, &MetricNode::name);
    metrics_.push_back(
        {time.name, "s", parent == metrics_.end() ? -1 : static_cast<int>(parent - metrics_.begin()), time.help});
  }
  for (const MetricId metric : counted_metrics) {
    const auto& row = format::row_of(metric);
    metrics_.push_back({row.name, display_unit(row.unit), -1, row.help});
  }
  for (const auto& metric : tree.extra_metrics)
    metrics_.push_back({metric.name, display_unit(metric.unit), -1, "asked for by REFRAIN_METRICS"});

  first_.resize(tree.nodes.size());
  end_.resize(tree.nodes.size());
  std::vector<std::pair<std::uint32_t, bool>> open{{0, false}};
  std::uint32_t place = 0;
  while (!open.empty()) {
    const auto [node, leaving] = open.back();
    open.pop_back();
    if (leaving) {
      end_[node] = place;
      continue;
    }
    first_[node] = place++;
    open.push_back({node, true});
    for (const std::uint32_t child : tree.nodes[node].children) open.push_back({child, false});
  }
  for (const std::uint32_t child : tree.nodes[0].children)
    if (tree.nodes[child].kind == PathKind::Other || tree.nodes[child].name == mpi_without_path_name)
      top_[tree.nodes[child].name] = child;
}

std::optional<std::size_t> Severities::metric(std::string_view name) const {
  const auto at = std::ranges::find(metrics_, name, &MetricNode::name);
  if (at == metrics_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - metrics_.begin());
}

std::vector<SystemNode> Severities::system() const {
  std::vector<SystemNode> nodes{{SystemNode::Machine, "machine"}};
  std::map<std::string, int> hosts;
  for (std::size_t place = 0; place < experiment_->ranks().size(); ++place) {
    const auto rank = experiment_->rank(place, experiment::Depth::Run);
    if (!rank) continue;
    const auto [host, is_new] = hosts.try_emplace(rank->host, static_cast<int>(nodes.size()));
    if (is_new) nodes.push_back({SystemNode::Node, rank->host, 0});
    const int parent = static_cast<int>(nodes.size());
    nodes.push_back({SystemNode::Rank, "rank " + std::to_string(rank->rank), host->second, rank->rank});
    for (const auto& location : rank->locations)
      nodes.push_back({SystemNode::Thread, location.name, parent, rank->rank, location.thread});
  }
  return nodes;
}

experiment::RunTotals Severities::unit_totals(const experiment::Rank& rank, const experiment::Location& location,
                                              const UnitRef& unit, bool& exact) const {
  const auto& paths = experiment_->definitions().paths;
  if (unit.of == UnitRef::Run) return totals_of_run(rank, location, paths);
  std::vector<experiment::Unit> chosen;
  if (unit.of == UnitRef::Outside) {
    for (const auto& one : location.units)
      if (one.loop < 0) chosen.push_back(one);
  } else {
    if (unit.loop >= location.loops.size()) throw std::out_of_range("no loop of this number");
    const IterationProfiles profiles(experiment_->definitions(), rank, location, unit.loop);
    if (unit.of == UnitRef::Cluster) {
      const auto* sums = profiles.cluster_unit(static_cast<std::int32_t>(unit.number));
      if (sums == nullptr) throw std::out_of_range("no cluster of this number");
      chosen.push_back(*sums);
    } else {
      const bool found = with_iteration(profiles.loop(), unit.number,
                                        [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
                                          exact = profiles.is_exact(cluster);
                                          chosen.push_back(profiles.unit_of(i, cluster, row));
                                        });
      if (!found) throw std::out_of_range("no iteration of this number");
    }
  }
  return totals_of(chosen, rank, location, paths);
}

std::shared_ptr<const NodeValues> Severities::values(const LocationRef& of, const UnitRef& unit) const {
  {
    const std::lock_guard lock(mutex_);
    if (last_ && last_location_.place == of.place && last_location_.location == of.location &&
        last_unit_.of == unit.of && last_unit_.loop == unit.loop && last_unit_.number == unit.number)
      return last_;
  }
  auto values = std::make_shared<NodeValues>();
  if (of.place >= experiment_->ranks().size()) throw std::out_of_range("no rank at this place");
  values->rank =
      experiment_->rank(of.place, unit.of == UnitRef::Run ? experiment::Depth::Run : experiment::Depth::Whole);
  if (!values->rank) throw std::out_of_range("the rank cannot be read");
  if (of.location >= values->rank->locations.size()) throw std::out_of_range("no location of this number");
  const experiment::Location& location = values->rank->locations[of.location];
  values->totals = unit_totals(*values->rank, location, unit, values->exact);
  const experiment::RunTotals& totals = values->totals;
  for (std::size_t i = 0; i < totals.paths.size(); ++i)
    values->rows.push_back({tree_.node_of[totals.paths[i].path], i, totals.paths[i].ticks});
  const auto put = [&](const char* name, std::int64_t ticks) {
    const auto at = top_.find(name);
    if (ticks != 0) values->rows.push_back({at == top_.end() ? 0 : at->second, NodeValues::none, ticks});
  };
  const auto arena_full = static_cast<std::size_t>(format::Loss::ArenaFull);
  const bool lost = arena_full < location.losses.size() && location.losses[arena_full] > 0;
  put(not_on_cpu_name, totals.times.not_on_cpu);
  put(no_sample_name, totals.times.no_sample);
  put(lost ? arena_full_name : no_sample_name, totals.times.no_path);
  put(refrain_name, totals.times.refrain);
  put(stopped_name, totals.times.stopped);
  put(mpi_without_path_name, totals.times.mpi_no_path);
  std::ranges::stable_sort(values->rows, {}, &NodeValues::Row::node);
  const std::lock_guard lock(mutex_);
  last_ = values;
  last_location_ = of;
  last_unit_ = unit;
  return values;
}

/// Nothing: the row has none of it.
std::optional<double> Severities::value_of(std::size_t metric, const NodeValues& values,
                                           const NodeValues::Row& row) const {
  const bool by_rules = row.path == NodeValues::none;
  const auto kind =
      by_rules ? NodeKind::Special : experiment_->definitions().paths[values.totals.paths[row.path].path].kind;
  const std::string& name = tree_.nodes[row.node].name;
  const bool in_mpi = by_rules ? name == mpi_without_path_name : kind == NodeKind::Region;
  if (metric < time_metrics) {
    const std::string_view wanted = times[metric].name;
    bool has = wanted == "time";
    if (wanted == "mpi") has = in_mpi;
    else if (metric >= first_class && metric <= last_class) has = in_mpi && class_metric(name) == metric;
    else if (wanted == "refrain") has = by_rules && name == refrain_name;
    else if (wanted == "measurement_off") has = by_rules && name == stopped_name;
    else if (wanted == "not_on_cpu") has = by_rules && name == not_on_cpu_name;
    else if (metric == user_metric) has = !in_mpi && !(by_rules && (name == refrain_name || name == stopped_name));
    if (!has) return std::nullopt;
    return static_cast<double>(row.ticks) / values.rank->ticks_per_second;
  }
  if (by_rules) return std::nullopt;
  const auto& path = values.totals.paths[row.path];
  std::size_t m = metric - time_metrics;
  if (m < counted_metrics.size())
    return static_cast<double>(
        format::value_of(kind, std::span(values.totals.columns).subspan(path.first), counted_metrics[m]));
  m -= counted_metrics.size();
  const auto& asked_for = values.rank->extra_metrics;
  const auto own = std::ranges::find(asked_for, tree_.extra_metrics[m].name, &experiment::ExtraMetric::name);
  if (own == asked_for.end()) return std::nullopt;
  const experiment::ExtraValues& extra = values.totals.extra;
  const auto at = std::ranges::lower_bound(extra.values, path.path, {}, &experiment::PathValues::path);
  if (at == extra.values.end() || at->path != path.path) return std::nullopt;
  const std::int64_t value = extra.of(*at, static_cast<std::size_t>(own - asked_for.begin()));
  return static_cast<double>(value) / (own->unit == "ns" ? 1e9 : 1);
}

Severity Severities::of(std::size_t metric, std::uint32_t node, const LocationRef& location, const UnitRef& unit,
                        bool inclusive) const {
  const auto values = this->values(location, unit);
  Severity severity;
  double weight = 0, sampled = 0;
  for (const NodeValues::Row& row : values->rows) {
    const bool here = inclusive ? first_[row.node] >= first_[node] && first_[row.node] < end_[node] : row.node == node;
    if (!here) continue;
    const auto value = value_of(metric, *values, row);
    if (!value) continue;
    severity.value += *value;
    if (row.path == NodeValues::none) continue;
    const auto& path = values->totals.paths[row.path];
    const NodeKind kind = experiment_->definitions().paths[path.path].kind;
    if (!format::is_sampled(kind)) continue;
    sampled += *value;
    weight += static_cast<double>(
        format::value_of(kind, std::span(values->totals.columns).subspan(path.first), MetricId::Weight));
  }
  if (sampled > 0) severity.known = Known::Sampled;
  if (!values->exact && severity.known == Known::Exact) severity.known = Known::Reconstructed;
  const format::UnitTotals& totals = values->totals.totals;
  if (metric < time_metrics && weight > 0) {
    const auto all = static_cast<double>(totals.weight_user_ns);
    const double on_cpu = static_cast<double>(values->totals.times.user - values->totals.times.not_on_cpu) /
                          values->rank->ticks_per_second;
    severity.standard_error = on_cpu * standard_error_of_share(weight / all, all, totals.weight_user_squared);
  }
  return severity;
}

}  // namespace refrain::analysis
