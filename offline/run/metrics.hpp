#pragma once
/// The one table of the metrics that call paths have at a location: times by the time rules, with those of MPI by class
/// of function; counts; what marks of the program have; what the user has asked for; what tools have found.

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
  Bounds,   ///< integers between bounds, where older versions have not counted them
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

/// Those of marks: how often they were begun, and their times with everything inside. They have no place among
/// the exclusive values of call paths, and no list shows them.
inline constexpr std::array mark_metrics{format::MetricId::MarkVisits, format::MetricId::MarkTime,
                                         format::MetricId::MarkOffCpu, format::MetricId::MarkWaited};

/// Further columns of call paths that no list shows: the part of the time in calls in which the thread did not run, and
/// the weights of samples.
inline constexpr std::array unlisted_metrics{format::MetricId::CallOffCpu, format::MetricId::Weight};

/// Children add up to their parent where both are times.
struct Metric {
  enum From : std::uint8_t { Rules, Columns, Marks, AskedFor, Found };

  std::string name;
  std::string unit;  ///< "s", "B", "1"
  int parent = -1;   ///< -1: a root
  std::string help;
  Adds adds = Adds::Exact;
  From from = Rules;
  std::size_t number = 0;  ///< among those from there
  double scale = 1;        ///< of its integers in its unit: 1e9 for nanoseconds
  bool is_listed = true;

  /// The name with its unit, as CSV and JSON have it: wall_s.
  std::string column() const { return unit == "s" ? name + "_s" : name; }
  double in_unit(Integer value) const { return static_cast<double>(value) / scale; }
  double in_unit(const Quantity& of) const { return in_unit(of.value); }
  /// Not known of parts of what a location did.
  bool is_of_run_only() const { return from == Found; }
};

class Metrics {
 public:
  /// Those that are in every experiment.
  Metrics();
  /// The names that every experiment has a metric of: of what is listed, but for those of REFRAIN_METRICS.
  static std::vector<std::string> names();

  std::size_t size() const { return metrics_.size(); }
  const Metric& operator[](std::size_t metric) const { return metrics_[metric]; }
  /// Nothing when there is none of the name. `mpi_calls` of iterations are `visits` here.
  std::optional<std::size_t> find(std::string_view name) const;
  std::size_t of(format::MetricId metric) const;
  /// The numbers of those that lists show.
  std::vector<std::size_t> listed() const;
  /// These, with parents by their places there.
  std::vector<Metric> list() const;

  /// Ranks have lists of their own: a metric that a rank was asked for is added when it is new.
  void ask_for(const experiment::ExtraMetric& metric);
  /// Its place in asked_for().
  std::optional<std::size_t> find_asked_for(std::string_view name) const;
  /// In the order of their numbers, from asked_for_begin() on.
  const std::vector<experiment::ExtraMetric>& asked_for() const { return asked_for_; }
  static std::size_t asked_for_begin();
  /// Known of the whole run; to be added last. One of a name that there is already is left out.
  void add(std::vector<experiment::SavedMetric> found);
  const std::vector<experiment::SavedMetric>& found() const { return found_; }

 private:
  std::vector<Metric> metrics_;
  std::vector<experiment::ExtraMetric> asked_for_;
  std::vector<experiment::SavedMetric> found_;
};

/// The unit that values of a unit of a file are shown in: "s", "B" or "1".
const char* shown_unit(std::string_view unit);
/// What integers of that unit are divided by for it; ticks have become nanoseconds.
double scale_of(std::string_view unit);
/// The metric that the time in an MPI function is of.
TimeMetric class_of_mpi(std::string_view function);

}  // namespace refrain::run
