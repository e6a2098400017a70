#include "offline/run/metrics.hpp"

#include <utility>

#include "format/mpi_functions.hpp"

namespace refrain::run {
namespace {

/// The times, a tree below `wall`. Times in MPI functions are divided by class (format/mpi_classes.def).
struct TimeRow {
  const char *name, *parent, *help;
  Adds adds = Adds::Exact;
};
const TimeRow times[] = {
    {"wall", "", "wall time", Adds::Samples},
    {"mpi", "wall", "time in MPI functions"},
    {"mpi_point_to_point", "mpi", "sending, receiving, probing"},
    {"mpi_completion", "mpi", "starting and completing requests"},
    {"mpi_collective", "mpi", "collective operations"},
    {"mpi_one_sided", "mpi", "one-sided operations and their synchronisation"},
    {"mpi_io", "mpi", "files"},
    {"mpi_other", "mpi", "all other MPI functions"},
    {"user", "wall", "user code", Adds::Samples},
    {"not_on_cpu", "user", "time in user code in which the thread did not run", Adds::Bounds},
    {"waited_for_core", "not_on_cpu", "time in user code in which the thread was ready to run and had no core"},
    {"blocked", "not_on_cpu", "time in user code in which the thread slept or waited for a lock, a file or a page"},
    {"refrain", "wall", "Refrain's own bookkeeping"},
    {"measurement_off", "wall", "stopped by the program (MPI_Pcontrol)"}};
static_assert(std::size(times) == time_metrics);

}  // namespace

const char* shown_unit(std::string_view unit) {
  return unit == "ticks" || unit == "ns" || unit == "s" ? "s" : unit == "B" ? "B" : "1";
}
double scale_of(std::string_view unit) { return unit == "ticks" || unit == "ns" ? 1e9 : 1; }

TimeMetric class_of_mpi(std::string_view function) {
  constexpr TimeMetric metrics[] = {
#define MPI_CLASS(name, call_class, role, exchange, metric, ...) metric,
#include "format/mpi_classes.def"
#undef MPI_CLASS
  };
  const format::MpiFunction* known = format::find_mpi_function(function);
  return known ? metrics[static_cast<std::size_t>(known->of)] : mpi_other;
}

std::vector<std::string> Metrics::names() {
  const Metrics all;
  std::vector<std::string> names;
  for (const Metric& metric : all.list()) names.push_back(metric.name);
  return names;
}

Metrics::Metrics() {
  for (std::size_t m = 0; m < time_metrics; ++m) {
    const auto parent = std::ranges::find(metrics_, times[m].parent, &Metric::name);
    metrics_.push_back({times[m].name, "s", parent == metrics_.end() ? -1 : static_cast<int>(parent - metrics_.begin()),
                        times[m].help, times[m].adds, Metric::Rules, m, 1e9});
  }
  const auto add = [&](format::MetricId metric, Metric::From from, bool is_listed) {
    const format::MetricRow& row = format::row_of(metric);
    metrics_.push_back({row.name, shown_unit(row.unit), -1, row.help, Adds::Exact, from,
                        static_cast<std::size_t>(metric), scale_of(row.unit), is_listed});
  };
  for (const format::MetricId metric : counted_metrics) add(metric, Metric::Columns, true);
  add(format::MetricId::OffCpuMpi, Metric::Columns, true);
  for (const format::MetricId metric : mark_metrics) add(metric, Metric::Marks, false);
  add(format::MetricId::Weight, Metric::Columns, false);
}

std::optional<std::size_t> Metrics::find(std::string_view name) const {
  if (name == format::row_of(format::MetricId::Visits).total_name) name = format::row_of(format::MetricId::Visits).name;
  const auto at =
      std::ranges::find_if(metrics_, [&](const Metric& metric) { return metric.is_listed && metric.name == name; });
  if (at == metrics_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - metrics_.begin());
}

std::size_t Metrics::of(format::MetricId metric) const {
  const auto at = std::ranges::find_if(metrics_, [&](const Metric& one) {
    return (one.from == Metric::Columns || one.from == Metric::Marks) && one.number == static_cast<std::size_t>(metric);
  });
  return static_cast<std::size_t>(at - metrics_.begin());
}

std::vector<std::size_t> Metrics::listed() const {
  std::vector<std::size_t> numbers;
  for (std::size_t m = 0; m < metrics_.size(); ++m)
    if (metrics_[m].is_listed) numbers.push_back(m);
  return numbers;
}

std::vector<Metric> Metrics::list() const {
  const std::vector<std::size_t> numbers = listed();
  std::vector<Metric> shown;
  for (const std::size_t m : numbers) {
    Metric& metric = shown.emplace_back(metrics_[m]);
    if (metric.parent >= 0)
      metric.parent = static_cast<int>(std::ranges::lower_bound(numbers, static_cast<std::size_t>(metric.parent)) -
                                       numbers.begin());
  }
  return shown;
}

std::size_t Metrics::asked_for_begin() {
  return time_metrics + counted_metrics.size() + mark_metrics.size() + 2;  // OffCpuMpi and the weight
}

std::optional<std::size_t> Metrics::find_asked_for(std::string_view name) const {
  const auto at = std::ranges::find(asked_for_, name, &experiment::ExtraMetric::name);
  if (at == asked_for_.end()) return std::nullopt;
  return static_cast<std::size_t>(at - asked_for_.begin());
}

void Metrics::ask_for(const experiment::ExtraMetric& metric) {
  if (find_asked_for(metric.name)) return;
  metrics_.push_back({metric.name, shown_unit(metric.unit), -1, "asked for by REFRAIN_METRICS", Adds::Exact,
                      Metric::AskedFor, asked_for_.size(), scale_of(metric.unit)});
  asked_for_.push_back(metric);
}

void Metrics::add(std::vector<experiment::SavedMetric> found) {
  for (experiment::SavedMetric& metric : found) {
    if (find(metric.name)) continue;
    metrics_.push_back({metric.name, "s", static_cast<int>(find(metric.parent).value_or(mpi)), metric.help,
                        metric.is_sampled ? Adds::Estimate : Adds::Exact, Metric::Found, found_.size(), 1e9});
    // Sorted by location, because values are looked up location by location.
    const auto place = [](const auto& row) { return std::pair(row.rank, row.thread); };
    std::ranges::stable_sort(metric.values, {}, place);
    std::ranges::stable_sort(metric.locations, {}, place);
    std::ranges::stable_sort(metric.replicates, {}, &experiment::SavedMetric::Replicated::rank);
    found_.push_back(std::move(metric));
  }
}

}  // namespace refrain::run
