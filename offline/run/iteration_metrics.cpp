#include "offline/run/iteration_metrics.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "offline/run/iterations.hpp"
#include "offline/run/metrics.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::run {

Metric metric_of(const std::string& name, std::string_view unit) { return {name, shown_unit(unit)}; }

namespace {

using format::MetricId;
using format::MetricRow;

constexpr const char* own_name = format::row_of(MetricId::Own).total_name;  ///< a part of `refrain`

/// Whether call paths have a value of the metric in one iteration, reconstructed or by the time rules.
constexpr bool callpaths_have(MetricId metric) {
  const MetricRow& row = format::row_of(metric);
  return metric == MetricId::Wall || metric == MetricId::User || metric == MetricId::Samples ||
         (row.kind == experiment::NodeKind::Region && row.total_name);
}

/// The value of the selected call paths in one iteration; times are in ticks.
double selected_value(const IterationProfiles::Selected& selected, MetricId metric, std::int64_t iteration,
                      std::int32_t cluster, std::span<const std::int64_t> row) {
  switch (metric) {
    case MetricId::Wall: {
      const auto beside = selected.beside_mpi(iteration, cluster, row);
      return selected.mpi(MetricId::Time, cluster, row) + beside.user_ticks + beside.other_ticks;
    }
    case MetricId::User: return selected.beside_mpi(iteration, cluster, row).user_ticks;
    case MetricId::Samples: return selected.beside_mpi(iteration, cluster, row).samples;
    default: return selected.mpi(metric, cluster, row);
  }
}

/// Ticks of a metric that the time rules derive from the totals of one iteration.
std::int64_t value_by_rules(const IterationProfiles& profiles, std::int64_t iteration, std::int32_t cluster,
                            std::span<const std::int64_t> row, MetricId metric) {
  const format::UnitTimes& times = profiles.undivided_times(iteration, cluster, row);
  switch (metric) {
    case MetricId::Refrain: return times.refrain;
    case MetricId::OffCpu: return std::max<std::int64_t>(times.wall - times.cpu, 0);
    case MetricId::WaitedForCore: return times.waited;
    case MetricId::Blocked: return times.blocked;
    default: throw std::invalid_argument("a metric without a rule");
  }
}

/// `value`, but NaN for an iteration without a cluster or whose cluster cannot be read: nothing divides its values.
IterationValue known_of_clusters(const IterationProfiles& profiles, const PathSelection& selection,
                                 IterationValue value) {
  if (std::ranges::find(selection.paths, true) == selection.paths.end()) return value;  // no call path of a cluster
  return [&profiles, value = std::move(value)](std::int64_t iteration, std::int32_t cluster,
                                               std::span<const std::int64_t> row) mutable {
    return profiles.cluster_unit(cluster) ? value(iteration, cluster, row) : std::numeric_limits<double>::quiet_NaN();
  };
}

bool is_part_of_off_cpu(std::string_view metric) {
  return metric == format::row_of(MetricId::WaitedForCore).total_name ||
         metric == format::row_of(MetricId::Blocked).total_name;
}

double unknown(std::int64_t, std::int32_t, std::span<const std::int64_t>) {
  return std::numeric_limits<double>::quiet_NaN();
}

const format::MetricRow* row_named(std::string_view total_name) {
  const auto* at = std::ranges::find_if(
      format::metric_table, [&](const MetricRow& row) { return row.total_name && total_name == row.total_name; });
  return at == std::end(format::metric_table) ? nullptr : at;
}

}  // namespace

std::vector<Metric> iteration_metrics(const experiment::Loop& loop) {
  std::vector<Metric> metrics;
  const auto logged = [&](std::string_view name) {
    const auto at = std::ranges::find(loop.metrics, name, &experiment::OverallMetric::name);
    return at != loop.metrics.end() && at->precision != format::Precision::NotKept ? &*at : nullptr;
  };
  const bool tells_waiting = logged(format::row_of(MetricId::WaitedForCore).total_name);
  const auto has_rule = [&](const MetricRow& row) {
    return row.source.from == format::MetricSource::Rules &&
           (tells_waiting || &row != &format::row_of(MetricId::Blocked));
  };
  for (const MetricRow& row : format::metric_table)
    if (row.total_name && row.total_name != own_name && (has_rule(row) || logged(row.total_name)))
      metrics.push_back(metric_of(row.total_name, row.unit));
  for (const auto& metric : loop.metrics)  // those of REFRAIN_METRICS, and those of later versions
    if (!row_named(metric.name) && metric.precision != format::Precision::NotKept)
      metrics.push_back(metric_of(metric.name, metric.unit));
  return metrics;
}

std::vector<std::string> iteration_metric_names() {
  std::vector<std::string> names;
  for (const MetricRow& row : format::metric_table)
    if (row.total_name && row.total_name != own_name &&
        (row.source.from == format::MetricSource::Rules || row.log != format::Precision::NotKept))
      names.push_back(row.total_name);
  return names;
}

std::vector<Metric> callpath_metrics(std::span<const experiment::ExtraMetric> asked_for) {
  std::vector<Metric> metrics;
  for (std::size_t m = 0; m < format::metric_count; ++m)
    if (const auto& row = format::metric_table[m]; callpaths_have(static_cast<MetricId>(m)))
      metrics.push_back(metric_of(row.total_name, row.unit));
  for (const experiment::ExtraMetric& metric : asked_for) metrics.push_back(metric_of(metric.name, metric.unit));
  return metrics;
}

bool is_untold(const IterationProfiles& profiles, const PathSelection* selection, std::string_view metric) {
  if (profiles.constants().run_delay_is_counted) return false;
  return selection && !selection->everything ? selection->waited || selection->blocked : is_part_of_off_cpu(metric);
}

IterationValue value_of_metric(const IterationProfiles& profiles, std::string_view metric) {
  const experiment::Loop& loop = profiles.loop();
  const int index = overall_index(loop, metric);
  const double second = profiles.constants().ticks_per_second;
  if (is_untold(profiles, nullptr, metric)) return unknown;
  const bool is_part = is_part_of_off_cpu(metric);
  if (index >= 0 && !is_part) {
    const auto column = static_cast<std::size_t>(index);
    const std::string& unit = loop.metrics[column].unit;
    const double divisor = unit == "ticks" ? second : scale_of(unit);
    return IterationValue::of_row(column, divisor);
  }
  const MetricRow* row = row_named(metric);
  if (!row || (row->source.from != format::MetricSource::Rules && !is_part)) return nullptr;
  const auto id = static_cast<MetricId>(row - format::metric_table);
  if (id == MetricId::User)  // takes half the time of applying all rules
    return [&profiles, second](std::int64_t, std::int32_t cluster, std::span<const std::int64_t> of) {
      const auto times = format::user_times(profiles.sums_for_undivided_times(cluster, of), profiles.constants());
      return static_cast<double>(times.user) / second;
    };
  return [&profiles, id, second](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> of) {
    return static_cast<double>(value_by_rules(profiles, iteration, cluster, of, id)) / second;
  };
}

IterationValue value_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric) {
  if (selection.everything) return value_of_metric(profiles, metric);
  if (is_untold(profiles, &selection, metric)) return unknown;
  const auto& extra = profiles.rank().extra_metrics;
  for (std::size_t m = 0; m < extra.size(); ++m)
    if (extra[m].name == metric)
      return known_of_clusters(profiles, selection,
                               [divisor = scale_of(extra[m].unit), value = profiles.extra().selected(selection, m)](
                                   std::int64_t, std::int32_t cluster, std::span<const std::int64_t> row) mutable {
                                 return value(cluster, row) / divisor;
                               });
  const MetricRow* row = row_named(metric);
  const auto id = static_cast<MetricId>(row ? row - format::metric_table : 0);
  if (!row || !callpaths_have(id)) throw std::invalid_argument("no metric of call paths: " + std::string(metric));
  if (id == MetricId::OffCpuMpi && !profiles.rank().off_cpu_of_calls_is_counted) return unknown;
  const double divisor =
      std::string_view(row->unit) == "ticks" ? profiles.constants().ticks_per_second : scale_of(row->unit);
  IterationValue divided =
      known_of_clusters(profiles, selection,
                        [id, divisor, selected = IterationProfiles::Selected(profiles, selection)](
                            std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
                          return selected_value(selected, id, iteration, cluster, row) / divisor;
                        });
  if (id != MetricId::Samples) return divided;
  // Samples that were recorded need no cluster.
  return [&profiles, &selection, divided = std::move(divided)](std::int64_t iteration, std::int32_t cluster,
                                                               std::span<const std::int64_t> row) {
    const auto* recorded = profiles.recorded_samples(iteration);
    if (!recorded) return divided(iteration, cluster, row);
    double sum = 0;
    for (const SampledPath& path : *recorded)
      sum += path.path < selection.paths.size() && selection.paths[path.path] ? static_cast<double>(path.samples) : 0;
    return sum;
  };
}

IterationValue error_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric) {
  if (selection.everything || (metric != "user" && metric != "wall")) return nullptr;
  const auto error = [divisor = profiles.constants().ticks_per_second,
                      selected = IterationProfiles::Selected(profiles, selection)](
                         std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
    return selected.beside_mpi(iteration, cluster, row).user_error_ticks / divisor;
  };
  return known_of_clusters(profiles, selection, error);
}

namespace {

/// Whether the time of any selected call path was divided by samples.
bool has_sampled(const IterationProfiles& profiles, const PathSelection& selection) {
  const auto& paths = profiles.profile().paths;
  for (std::size_t path = 0; path < std::min(paths.size(), selection.paths.size()); ++path)
    if (selection.paths[path] && format::is_sampled(paths[path].kind)) return true;
  return (selection.not_on_cpu && !profiles.constants().off_cpu_is_counted) || selection.no_sample;
}

}  // namespace

bool is_by_rules(const PathSelection& selection) {
  return !selection.everything && !selection.mpi_without_path &&
         std::ranges::find(selection.paths, true) == selection.paths.end();
}

IterationValue known_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric) {
  if (selection.everything) return [](auto...) { return static_cast<double>(Known::Exact); };
  const bool is_time = metric == "wall" || metric == "user", is_samples = metric == "samples";
  if (is_by_rules(selection) && is_time && !has_sampled(profiles, selection))
    return [](auto...) { return static_cast<double>(Known::Exact); };
  const bool sampled = is_time && has_sampled(profiles, selection);
  const IterationValue of_cluster = known_of_clusters(
      profiles, selection, [&profiles, sampled, is_samples](std::int64_t, std::int32_t cluster, auto) {
        if (sampled) return static_cast<double>(Known::Sampled);
        const bool has_it = profiles.cluster_unit(cluster) != nullptr;
        const bool whole =
            !has_it || (is_samples ? profiles.is_exact(cluster)
                                   : profiles.loop().clusters[static_cast<std::size_t>(cluster)].members == 1);
        return static_cast<double>(whole ? Known::Exact : Known::Reconstructed);
      });
  if (!is_samples) return of_cluster;
  return [&profiles, of_cluster](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
    return profiles.recorded_samples(iteration) ? static_cast<double>(Known::Exact)
                                                : of_cluster(iteration, cluster, row);
  };
}

}  // namespace refrain::run
