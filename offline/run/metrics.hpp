#pragma once
/// The one table of the metrics that call paths have at a location: times by the time rules, with those of MPI by class
/// of function; counts; metrics of the program's marks; metrics that the user asked for; metrics that tools found.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/metrics.hpp"
#include "offline/experiment/kept_analysis.hpp"
#include "offline/experiment/profile.hpp"
#include "offline/run/quantities.hpp"

namespace refrain::run {

/// How values of a metric add up.
enum class Adds : std::uint8_t {
  Exact,    ///< integers
  Samples,  ///< integers, part of which samples have divided
  Bounds,   ///< integers with bounds, where older versions did not count them
  Estimate  ///< from a part of the run: values add, their errors are correlated
};

/// The metrics that are times, by their numbers.
enum TimeMetric : std::size_t {
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
  measurement_off,
  time_metrics
};

/// The metrics of call paths that are counted, in the order of format/metrics.def.
inline constexpr auto counted_metrics = [] {
  constexpr auto is_counted = [](const format::MetricRow& row) {
    return row.name && row.quantity == format::Quantity::Count &&
           (row.kind == format::NodeKind::Region || row.kind == format::NodeKind::Function);
  };
  std::array<format::MetricId, std::ranges::count_if(format::metric_table, is_counted)> metrics{};
  std::size_t n = 0;
  for (std::size_t i = 0; i < format::metric_count; ++i)
    if (is_counted(format::metric_table[i])) metrics[n++] = static_cast<format::MetricId>(i);
  return metrics;
}();

/// The metrics of marks: how often a mark was begun, and its inclusive times. They are not exclusive values of call
/// paths, so no list shows them; nor does any list show the weights of samples.
inline constexpr std::array mark_metrics{format::MetricId::MarkVisits, format::MetricId::MarkTime,
                                         format::MetricId::MarkOffCpu, format::MetricId::MarkWaited};

/// Children add up to their parent where both are times.
struct Metric {
  enum From : std::uint8_t { Rules, Columns, Marks, AskedFor, Found };

  std::string name;
  std::string unit;  ///< "s", "B", "1"
  int parent = -1;   ///< -1: a root
  std::string help;
  Adds adds = Adds::Exact;
  From from = Rules;
  std::size_t number = 0;  ///< among the metrics of its source
  double scale = 1;        ///< integers per unit: 1e9 for nanoseconds
  bool is_listed = true;

  /// The name with its unit, as CSV and JSON have it: wall_s.
  std::string column() const { return unit == "s" ? name + "_s" : name; }
  double in_unit(Integer value) const { return static_cast<double>(value) / scale; }
  double in_unit(const Quantity& of) const { return in_unit(of.value); }
  /// Whether it is known only for the whole run of a location, not for parts of it.
  bool is_of_run_only() const { return from == Found; }
};

class Metrics {
 public:
  /// The metrics of every experiment.
  Metrics();
  /// The names of the listed metrics of every experiment, that is, without those of REFRAIN_METRICS.
  static std::vector<std::string> names();

  std::size_t size() const { return metrics_.size(); }
  const Metric& operator[](std::size_t metric) const { return metrics_[metric]; }
  /// The number of the listed metric of this name, if there is one. `mpi_calls` of iterations is `visits` here.
  std::optional<std::size_t> find(std::string_view name) const;
  std::size_t of(format::MetricId metric) const;
  /// The numbers of the listed metrics.
  std::vector<std::size_t> listed() const;
  /// The listed metrics; `parent` is an index in this list.
  std::vector<Metric> list() const;

  /// Adds a metric of REFRAIN_METRICS of one rank if it is new: each rank may have a list of its own.
  void ask_for(const experiment::ExtraMetric& metric);
  /// The index in asked_for().
  std::optional<std::size_t> find_asked_for(std::string_view name) const;
  /// The metrics of REFRAIN_METRICS in the order of their numbers, which start at asked_for_begin().
  const std::vector<experiment::ExtraMetric>& asked_for() const { return asked_for_; }
  static std::size_t asked_for_begin();
  /// Adds metrics of the whole run, after all others. A metric whose name exists already is left out.
  void add(std::vector<experiment::SavedMetric> found);
  const std::vector<experiment::SavedMetric>& found() const { return found_; }

 private:
  std::vector<Metric> metrics_;
  std::vector<experiment::ExtraMetric> asked_for_;
  std::vector<experiment::SavedMetric> found_;
};

/// The unit in which values in a unit of the file are shown: "s", "B" or "1".
const char* shown_unit(std::string_view unit);
/// The divisor from integers in a unit of the file to shown_unit(); ticks have already become nanoseconds.
double scale_of(std::string_view unit);
/// The metric that includes the time in an MPI function.
TimeMetric class_of_mpi(std::string_view function);

}  // namespace refrain::run
