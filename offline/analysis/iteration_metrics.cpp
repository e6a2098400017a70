#include "offline/analysis/iteration_metrics.hpp"

#include <algorithm>
#include <stdexcept>

#include "format/overall.hpp"
#include "offline/analysis/iterations.hpp"

namespace refrain::analysis {

IterationMetric metric_of(const std::string& name, std::string_view unit) {
  if (unit == "ticks" || unit == "ns") return {name, Quantity::Seconds, name + "_s"};
  return {name, unit == "B" ? Quantity::Bytes : Quantity::Count, name};
}

double divisor_of(std::string_view unit) { return unit == "ns" ? 1e9 : 1; }

namespace {

struct CallpathMetric {
  const char *name, *unit;
  double (*value)(const IterationProfiles::PathTotals&);  ///< times in ticks
};
using PathTotals = IterationProfiles::PathTotals;
using format::MetricId;

template <MetricId metric>
double of_mpi(const PathTotals& totals) {
  return totals.of(metric);
}

/// A column of the file, and what the time rules make of it together with those before.
void add_metric(std::vector<IterationMetric>& metrics, const std::string& name, std::string_view unit,
                format::Precision precision) {
  if (precision == format::Precision::NotKept || name == "own") return;
  metrics.push_back(metric_of(name, unit));
  if (name == "mpi") metrics.push_back(metric_of("user", "ticks"));
  if (name == "cpu") metrics.push_back(metric_of("refrain", "ticks"));
}

constexpr CallpathMetric callpath_table[] = {
    {"wall", "ticks", [](const PathTotals& t) { return t.of(MetricId::Time) + t.user_ticks + t.other_ticks; }},
    {"mpi", "ticks", of_mpi<MetricId::Time>},
    {"user", "ticks", [](const PathTotals& t) { return t.user_ticks; }},
    {"mpi_calls", "1", of_mpi<MetricId::Visits>},
    {"messages_sent", "1", of_mpi<MetricId::MessagesSent>},
    {"bytes_sent", "B", of_mpi<MetricId::BytesSent>},
    {"messages_received", "1", of_mpi<MetricId::MessagesReceived>},
    {"bytes_received", "B", of_mpi<MetricId::BytesReceived>},
    {"messages_completed", "1", of_mpi<MetricId::MessagesCompleted>},
    {"bytes_completed", "B", of_mpi<MetricId::BytesCompleted>},
    {"bytes_read", "B", of_mpi<MetricId::BytesRead>},
    {"bytes_written", "B", of_mpi<MetricId::BytesWritten>},
    {"samples", "1", [](const PathTotals& t) { return t.samples; }},
};

}  // namespace

std::vector<IterationMetric> iteration_metrics(const experiment::Loop& loop) {
  std::vector<IterationMetric> metrics;
  for (const auto& metric : loop.metrics) add_metric(metrics, metric.name, metric.unit, metric.precision);
  return metrics;
}

std::vector<std::string> iteration_metric_names() {
  std::vector<IterationMetric> metrics;
  for (const auto& metric : format::overall_table) add_metric(metrics, metric.name, metric.unit, metric.precision);
  std::vector<std::string> names;
  for (const auto& metric : metrics) names.push_back(metric.name);
  return names;
}

std::vector<IterationMetric> callpath_metrics(const experiment::ProfileDefinitions& profile) {
  std::vector<IterationMetric> metrics;
  for (const CallpathMetric& metric : callpath_table) metrics.push_back(metric_of(metric.name, metric.unit));
  for (const experiment::ExtraMetric& metric : profile.extra_metrics)
    metrics.push_back(metric_of(metric.name, metric.unit));
  return metrics;
}

IterationValue value_of_metric(const IterationProfiles& profiles, std::string_view metric) {
  const experiment::Loop& loop = profiles.loop();
  const int index = overall_index(loop, metric);
  const double second = profiles.constants().ticks_per_second;
  if (index >= 0) {
    const auto column = static_cast<std::size_t>(index);
    const std::string& unit = loop.metrics[column].unit;
    const double divisor = unit == "ticks" ? second : divisor_of(unit);
    return [column, divisor](std::int64_t, std::int32_t, std::span<const std::int64_t> row) {
      return static_cast<double>(row[column]) / divisor;
    };
  }
  const bool user = metric == "user";
  if (!user && metric != "refrain") throw std::invalid_argument("no metric of iterations: " + std::string(metric));
  return [&profiles, user, second](std::int64_t, std::int32_t cluster, std::span<const std::int64_t> row) {
    const UnitTimes times =
        apply_time_rules(profiles.totals_of(cluster, row), profiles.profile().paths, profiles.constants());
    return static_cast<double>(user ? times.user : times.refrain) / second;
  };
}

IterationValue value_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric) {
  const auto& extra = profiles.profile().extra_metrics;
  for (std::size_t m = 0; m < extra.size(); ++m)
    if (extra[m].name == metric)
      return [divisor = divisor_of(extra[m].unit), value = profiles.extra().selected(selection, m)](
                 std::int64_t, std::int32_t cluster, std::span<const std::int64_t> row) mutable {
        return value(cluster, row) / divisor;
      };
  const auto* const at = std::find_if(std::begin(callpath_table), std::end(callpath_table),
                                      [&](const auto& m) { return m.name == metric; });
  if (at == std::end(callpath_table)) throw std::invalid_argument("no metric of call paths: " + std::string(metric));
  const double divisor = std::string_view(at->unit) == "ticks" ? profiles.constants().ticks_per_second : 1;
  const bool samples = metric == "samples";
  return [at, divisor, samples, &profiles, &selection, selected = IterationProfiles::Selected(profiles, selection)](
             std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
    if (samples)
      if (const auto* recorded = profiles.recorded_samples(iteration)) {
        double sum = 0;
        for (const SampledPath& path : *recorded)
          sum +=
              path.path < selection.paths.size() && selection.paths[path.path] ? static_cast<double>(path.samples) : 0;
        return sum;
      }
    return at->value(selected.in(iteration, cluster, row)) / divisor;
  };
}

IterationValue error_of_callpaths(const IterationProfiles& profiles, const PathSelection& selection,
                                  std::string_view metric) {
  if (metric != "user" && metric != "wall") return nullptr;
  return [divisor = profiles.constants().ticks_per_second, selected = IterationProfiles::Selected(profiles, selection)](
             std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
    return selected.in(iteration, cluster, row).user_error_ticks / divisor;
  };
}

}  // namespace refrain::analysis
