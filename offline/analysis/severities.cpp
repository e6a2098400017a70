#include "offline/analysis/severities.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "format/mpi_functions.hpp"
#include "offline/analysis/iteration_metrics.hpp"
#include "offline/analysis/iteration_profile.hpp"
#include "offline/analysis/iterations.hpp"
#include "offline/analysis/run_totals.hpp"
#include "statistics/statistics.hpp"

namespace refrain::analysis {
namespace {

using experiment::NodeKind;
using format::MetricId;

/// The times, below `wall`. Those of MPI functions are by their class (format/mpi_classes.def).
struct TimeMetric {
  const char *name, *parent, *help;
};
const TimeMetric times[] = {
    {"wall", "", "wall time"},
    {"mpi", "wall", "time in MPI functions"},
    {"mpi_point_to_point", "mpi", "sending, receiving, probing"},
    {"mpi_completion", "mpi", "starting and completing requests"},
    {"mpi_collective", "mpi", "collective operations"},
    {"mpi_one_sided", "mpi", "one-sided operations and their synchronisation"},
    {"mpi_io", "mpi", "files"},
    {"mpi_other", "mpi", "all other MPI functions"},
    {"user", "wall", "user code"},
    {"not_on_cpu", "user", "time in user code in which the thread did not run"},
    {"waited_for_core", "not_on_cpu", "time in user code in which the thread was ready to run and had no core"},
    {"blocked", "not_on_cpu", "time in user code in which the thread slept or waited for a lock, a file or a page"},
    {"refrain", "wall", "Refrain's own bookkeeping"},
    {"measurement_off", "wall", "stopped by the program (MPI_Pcontrol)"}};
constexpr std::size_t time_metrics = std::size(times);
enum TimeMetricId : std::size_t {
  wall,
  mpi,
  mpi_point_to_point,
  mpi_completion,
  mpi_collective,
  mpi_one_sided,
  mpi_io,
  mpi_other,
  user,
  not_on_cpu,
  waited_for_core,
  blocked,
  refrain,
  measurement_off
};
static_assert(measurement_off + 1 == time_metrics);

/// Index of `times` for the time of an MPI function.
std::size_t metric_of_function(std::string_view function) {
  constexpr TimeMetricId metrics[] = {
#define MPI_CLASS(name, call_class, role, exchange, metric, ...) metric,
#include "format/mpi_classes.def"
#undef MPI_CLASS
  };
  const format::MpiFunction* known = format::find_mpi_function(function);
  return known ? metrics[static_cast<std::size_t>(known->of)] : mpi_other;
}

const char* display_unit(std::string_view unit) {
  return unit == "ticks" || unit == "ns" ? "s" : unit == "B" ? "B" : "1";
}

/// Rank and thread of a row of a saved metric.
template <class Row>
std::pair<std::int32_t, std::int32_t> place_of(const Row& row) {
  return {row.rank, row.thread};
}

}  // namespace

const char* name_of(Known known) {
  constexpr const char* names[] = {"exact", "sampled", "reconstructed"};
  return names[static_cast<std::size_t>(known)];
}

std::vector<std::string> severity_metric_names() {
  std::vector<std::string> names;
  for (const TimeMetric& time : times) names.push_back(time.name);
  for (const MetricId metric : counted_metrics) names.push_back(format::row_of(metric).name);
  return names;
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
  for (experiment::SavedMetric& metric : experiment_->saved_metrics()) {
    if (this->metric(metric.name)) continue;
    const auto parent = this->metric(metric.parent);
    metrics_.push_back({metric.name, "s", static_cast<int>(parent.value_or(mpi)), metric.help});
    // In the order of locations, which are asked for one by one.
    std::ranges::stable_sort(metric.values, {}, place_of<experiment::SavedMetric::Value>);
    std::ranges::stable_sort(metric.locations, {}, place_of<experiment::SavedMetric::OfLocation>);
    saved_.push_back(std::move(metric));
  }

  for (const TreeNode& node : tree.nodes)
    class_.push_back(static_cast<std::uint8_t>(node.kind == PathKind::Mpi ? metric_of_function(node.name) : 0));
  for (const std::uint32_t child : tree.nodes[0].children)
    for (std::size_t i = 0; i < pseudo_.size(); ++i)
      if (tree.nodes[child].kind == pseudo_paths[i].kind && tree.nodes[child].name == pseudo_paths[i].name)
        pseudo_[i] = child;
}

Severities::~Severities() = default;

std::optional<std::size_t> Severities::metric(std::string_view name) const {
  if (name == format::row_of(MetricId::Visits).total_name) name = format::row_of(MetricId::Visits).name;
  const auto at = std::ranges::find(metrics_, name, &MetricNode::name);
  if (at == metrics_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - metrics_.begin());
}

NodeSet Severities::select(std::span<const std::uint32_t> nodes, bool inclusive) const {
  NodeSet set;
  set.chosen_.resize(tree_.nodes.size());
  for (const std::uint32_t node : nodes)
    if (node < set.chosen_.size()) set.chosen_[node] = true;
  if (inclusive)  // parents come before their children
    for (std::size_t i = 1; i < set.chosen_.size(); ++i)
      if (set.chosen_[static_cast<std::size_t>(tree_.nodes[i].parent)]) set.chosen_[i] = true;
  set.all_ = inclusive && !set.chosen_.empty() && set.chosen_[0];
  return set;
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

/// A loop of a location, with the rank that holds it.
struct Severities::OpenLoop {
  experiment::RankHandle rank;
  const experiment::Location* location;
  std::size_t loop;
  IterationProfiles profiles;
};

std::vector<experiment::Unit> Severities::units_of_loop(const experiment::RankHandle& rank,
                                                        const experiment::Location& location, const UnitRef& unit,
                                                        bool& exact) const {
  if (unit.loop >= location.loops.size()) throw std::out_of_range("no loop of this number");
  const std::lock_guard lock(loop_mutex_);
  if (!open_loop_ || open_loop_->location != &location || open_loop_->loop != unit.loop)
    open_loop_.reset(
        new OpenLoop{rank, &location, unit.loop, {experiment_->definitions(), *rank, location, unit.loop}});
  const IterationProfiles& profiles = open_loop_->profiles;
  if (unit.of == UnitRef::Cluster) {
    const auto* sums = std::in_range<std::int32_t>(unit.number)
                           ? profiles.cluster_unit(static_cast<std::int32_t>(unit.number))
                           : nullptr;
    if (sums == nullptr) throw std::out_of_range("no cluster of this number");
    return {*sums};
  }
  std::vector<experiment::Unit> chosen;
  const auto take = [&](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
    exact = profiles.is_exact(cluster);
    chosen.push_back(profiles.unit_of(iteration, cluster, row));
  };
  if (!with_iteration(profiles.loop(), unit.number, take)) throw std::out_of_range("no iteration of this number");
  return chosen;
}

experiment::RunTotals Severities::unit_totals(const experiment::RankHandle& rank, const experiment::Location& location,
                                              const UnitRef& unit, bool& exact) const {
  const auto& paths = experiment_->definitions().paths;
  if (unit.of == UnitRef::Run) return totals_of_run(*rank, location, paths);
  if (unit.of != UnitRef::Outside) return totals_of(units_of_loop(rank, location, unit, exact), *rank, location, paths);
  if (location.units.empty() && location.run) throw std::out_of_range("the units of the location cannot be read");
  std::vector<experiment::Unit> outside;
  for (const auto& one : location.units)
    if (one.loop < 0) outside.push_back(one);
  return totals_of(outside, *rank, location, paths);
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
  values->totals = unit_totals(values->rank, location, unit, values->exact);
  const experiment::RunTotals& totals = values->totals;
  for (std::size_t i = 0; i < totals.paths.size(); ++i)
    values->rows.push_back({tree_.node_of[totals.paths[i].path], i, totals.paths[i].ticks});
  const auto of_no_path = pseudo_ticks(totals.times, location);
  for (std::size_t i = 0; i < pseudo_.size(); ++i)
    if (of_no_path[i] != 0) values->rows.push_back({pseudo_[i], NodeValues::none, of_no_path[i]});
  std::ranges::stable_sort(values->rows, {}, &NodeValues::Row::node);
  const std::lock_guard lock(mutex_);
  last_ = values;
  last_location_ = of;
  last_unit_ = unit;
  return values;
}

bool Severities::has_time(std::size_t metric, const NodeValues::Row& row, bool in_mpi) const {
  const bool by_rules = row.path == NodeValues::none;
  const std::string& name = tree_.nodes[row.node].name;
  switch (metric) {
    case wall: return true;
    case mpi: return in_mpi;
    case user: return !in_mpi && !(by_rules && (name == refrain_name || name == stopped_name));
    case not_on_cpu: return by_rules && is_off_cpu(name);
    case waited_for_core: return by_rules && name == waited_name;
    case blocked: return by_rules && name == blocked_name;
    case refrain: return by_rules && name == refrain_name;
    case measurement_off: return by_rules && name == stopped_name;
    default: return in_mpi && class_[row.node] == metric;
  }
}

double Severities::count_of(std::size_t metric, const NodeValues& values, const NodeValues::Row& row) const {
  const auto& path = values.totals.paths[row.path];
  std::size_t m = metric - time_metrics;
  if (m < counted_metrics.size())
    return static_cast<double>(format::value_of(experiment_->definitions().paths[path.path].kind,
                                                std::span(values.totals.columns).subspan(path.first),
                                                counted_metrics[m]));
  m -= counted_metrics.size();
  const auto& asked_for = values.rank->extra_metrics;
  const auto own = std::ranges::find(asked_for, tree_.extra_metrics[m].name, &experiment::ExtraMetric::name);
  const experiment::ExtraValues& extra = values.totals.extra;
  const auto at = std::ranges::lower_bound(extra.values, path.path, {}, &experiment::PathValues::path);
  if (own == asked_for.end() || at == extra.values.end() || at->path != path.path) return 0;
  const std::int64_t value = extra.of(*at, static_cast<std::size_t>(own - asked_for.begin()));
  return static_cast<double>(value) / divisor_of(own->unit);
}

/// What one row has of all metrics but the saved ones.
void Severities::add_row(const NodeValues& values, const NodeValues::Row& row, std::span<double> to) const {
  const bool by_rules = row.path == NodeValues::none;
  const bool in_mpi =
      by_rules ? tree_.nodes[row.node].name == mpi_without_path_name
               : experiment_->definitions().paths[values.totals.paths[row.path].path].kind == NodeKind::Region;
  const std::size_t first_saved = metrics_.size() - saved_.size();
  for (std::size_t m = 0; m < first_saved; ++m) {
    if (m >= time_metrics && !by_rules) to[m] += count_of(m, values, row);
    if (m < time_metrics && has_time(m, row, in_mpi))
      to[m] += static_cast<double>(row.ticks) / values.rank->ticks_per_second;
  }
}

void Severities::for_each_node(const LocationRef& location,
                               const std::function<void(std::uint32_t node, std::span<const double> values)>& take,
                               const UnitRef& unit) const {
  const auto values = this->values(location, unit);
  const std::pair place(values->rank->rank, values->rank->locations[location.location].thread);
  std::map<std::uint32_t, std::vector<double>> saved;  // by node
  for (std::size_t i = 0; i < saved_.size() && unit.of == UnitRef::Run; ++i)
    for (const auto& of :
         std::ranges::equal_range(saved_[i].values, place, {}, place_of<experiment::SavedMetric::Value>)) {
      auto& row = saved[of.path < 0 ? 0 : tree_.node_of[static_cast<std::size_t>(of.path)]];
      row.resize(saved_.size());
      row[i] += of.seconds;
    }
  std::vector<double> all;
  for (std::size_t i = 0; i < values->rows.size();) {
    const std::uint32_t node = values->rows[i].node;
    all.assign(metrics_.size(), 0);
    for (; i < values->rows.size() && values->rows[i].node == node; ++i) add_row(*values, values->rows[i], all);
    if (const auto at = saved.find(node); at != saved.end())
      std::ranges::copy(at->second, all.end() - static_cast<std::ptrdiff_t>(saved_.size()));
    take(node, all);
  }
}

Severity Severities::saved(std::size_t metric, const NodeSet& nodes, const experiment::Rank& rank,
                           const experiment::Location& location) const {
  const experiment::SavedMetric& from = saved_[metric - (metrics_.size() - saved_.size())];
  const std::pair place(rank.rank, location.thread);
  Severity severity;
  for (const auto& of : std::ranges::equal_range(from.values, place, {}, place_of<experiment::SavedMetric::Value>))
    if (nodes.has(of.path < 0 ? 0 : tree_.node_of[static_cast<std::size_t>(of.path)])) severity.value += of.seconds;
  if (!from.is_sampled) return severity;
  severity.known = Known::Sampled;
  severity.standard_error.reset();
  for (const auto& of :
       std::ranges::equal_range(from.locations, place, {}, place_of<experiment::SavedMetric::OfLocation>))
    if (nodes.all() && of.error_s >= 0) severity.standard_error = of.error_s;
  return severity;
}

std::vector<Severity> Severities::of(std::span<const std::size_t> metrics, const NodeSet& nodes,
                                     const LocationRef& location, const UnitRef& unit) const {
  const std::size_t first_saved = metrics_.size() - saved_.size();
  for (const std::size_t metric : metrics) {
    if (metric >= metrics_.size()) throw std::out_of_range("no metric of this number");
    if (metric >= first_saved && unit.of != UnitRef::Run)
      throw std::out_of_range("this metric is known of the whole run only");
  }
  const auto values = this->values(location, unit);
  const auto& paths = experiment_->definitions().paths;
  const double second = values->rank->ticks_per_second;
  std::vector<Severity> severities(metrics.size());
  double weight = 0, sampled = 0, all_sampled = 0;  // of the chosen call paths, and of all
  const bool is_counted = values->rank->off_cpu_is_counted;
  bool has_bounds = false;
  for (const NodeValues::Row& row : values->rows) {
    const bool by_rules = row.path == NodeValues::none;
    const NodeKind kind = by_rules ? NodeKind::Root : paths[values->totals.paths[row.path].path].kind;
    const bool is_sampled = format::is_sampled(kind);
    if (is_sampled) all_sampled += static_cast<double>(row.ticks);
    if (!nodes.has(row.node)) continue;
    const std::string& name = tree_.nodes[row.node].name;
    has_bounds |= by_rules && row.ticks > 0 && !is_counted && !has_standard_error(name);
    const bool in_mpi = by_rules ? name == mpi_without_path_name : kind == NodeKind::Region;
    if (is_sampled) {
      sampled += static_cast<double>(row.ticks);
      weight += static_cast<double>(format::value_of(
          kind, std::span(values->totals.columns).subspan(values->totals.paths[row.path].first), MetricId::Weight));
    }
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      Severity& severity = severities[m];
      if (metrics[m] >= first_saved) continue;
      if (metrics[m] >= time_metrics) {
        if (!by_rules) severity.value += count_of(metrics[m], *values, row);
      } else if (has_time(metrics[m], row, in_mpi)) {
        severity.value += static_cast<double>(row.ticks) / second;
        const bool divided = is_sampled || (by_rules && !is_exact(tree_.nodes[row.node].kind, name) &&
                                            !(is_counted && is_off_cpu(name)));
        if (divided) severity.known = Known::Sampled;
      }
    }
  }
  const format::UnitTotals& totals = values->totals.totals;
  const auto all_weight = static_cast<double>(totals.weight_user_ns);
  const double error = sampled > 0 && all_weight > 0
                           ? all_sampled / second *
                                 statistics::error_of_share(weight / all_weight, all_weight, totals.weight_user_squared)
                           : 0;
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    Severity& severity = severities[m];
    if (metrics[m] >= first_saved) {
      severity = saved(metrics[m], nodes, *values->rank, values->rank->locations[location.location]);
      continue;
    }
    // Of everything no time was divided but, by old versions, that between user code and what was not on a CPU.
    if (nodes.all() && (is_counted || metrics[m] != not_on_cpu)) severity.known = Known::Exact;
    if (!values->exact && severity.known == Known::Exact && !nodes.all()) severity.known = Known::Reconstructed;
    if ((metrics[m] == wall || metrics[m] == user) && !nodes.all()) severity.standard_error = error;
    if (has_bounds && (metrics[m] == not_on_cpu || (metrics[m] == wall && !nodes.all())))
      severity.standard_error.reset();
    if (metrics[m] == not_on_cpu && nodes.all())
      severity.bounds = {static_cast<double>(values->totals.times.not_on_cpu_low) / second,
                         static_cast<double>(values->totals.times.not_on_cpu_high) / second};
  }
  return severities;
}

}  // namespace refrain::analysis
