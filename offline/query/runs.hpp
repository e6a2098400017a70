#pragma once
/// Several runs as one model: their call paths are merged by name into one tree, their metrics by name into one list.
/// Everything has a number, which is its id in the tables (schema.hpp).
///
/// Belongs to one thread. Names are clean text.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "offline/database/run_source.hpp"
#include "offline/findings/finding.hpp"

namespace refrain::query {

/// A run as it was read.
struct Run {
  std::shared_ptr<database::RunSource> source;
  std::vector<findings::Finding> findings = {};
};

/// The metric for the time that call paths waited for other processes.
inline constexpr const char* wait_metric = "wait";

struct Path {
  std::int64_t parent = -1, last = 0;  ///< in preorder: its descendants are the next ones up to `last`; -1: at the top
  std::int64_t depth = 1;
  std::string name;
  run::PathKind kind = run::PathKind::User;
  bool is_marked = false;
  std::int64_t function = -1;  ///< the function that contains it; -1: none
};

struct Function {
  std::string name;
  bool is_mpi = false;
};

/// A location, by its run and its index there.
struct Place {
  std::size_t run, location;
};

struct Loop {
  std::size_t run;
  std::string name;
  std::int64_t iterations = 0;  ///< maximum over the locations
};

struct Unit {
  std::int64_t id, location;
  std::int64_t loop = -1, cluster = -1;  ///< -1: time outside of loops
};

class Runs {
 public:
  explicit Runs(std::vector<Run> runs);

  const std::vector<Run>& runs() const { return runs_; }
  database::RunSource& source(std::size_t run) const { return *runs_[run].source; }
  const std::vector<Path>& paths() const { return paths_; }
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<run::Metric>& metrics() const { return metrics_; }
  const std::vector<Place>& locations() const { return locations_; }
  /// The first location of a run; the locations of a run are consecutive.
  std::int64_t first_location(std::size_t run) const { return first_location_[run]; }

  /// The path of a node of the run's source.
  std::int64_t path_of(std::size_t run, std::size_t node) const { return path_of_[run][node]; }
  /// The number of a metric of the run's source.
  std::int64_t metric_of(std::size_t run, std::size_t metric) const { return metric_of_[run][metric]; }
  /// The id of wait_metric.
  std::int64_t wait() const { return wait_; }

  /// A location with more units is not divided.
  static constexpr std::int64_t units_of_location = std::int64_t{1} << 16;
  /// RunSource::units() of a location; empty: it is not divided.
  std::vector<run::UnitRef> units_of(const Place& place) const;
  /// The id of a unit, by its index in the location: the units of a location are consecutive.
  static std::int64_t unit_id(std::int64_t location, std::size_t unit) {
    return location * units_of_location + static_cast<std::int64_t>(unit);
  }
  static std::int64_t location_of_unit(std::int64_t unit) { return unit / units_of_location; }

  /// loops() and units() read all locations, once.
  const std::vector<Loop>& loops();
  const std::vector<Unit>& units();
  /// The index in loops() of a loop in RunSource::loops().
  std::int64_t loop_of(std::size_t run, std::size_t loop);

 private:
  void unite_paths();
  void unite_metrics();
  void list_locations();
  void read_loops();

  std::vector<Run> runs_;
  std::vector<Path> paths_;
  std::vector<Function> functions_;
  std::vector<run::Metric> metrics_;
  std::vector<Place> locations_;
  std::vector<std::int64_t> first_location_;
  std::vector<std::vector<std::int64_t>> path_of_, metric_of_;  ///< by run
  std::int64_t wait_ = 0;
  bool are_loops_read_ = false;
  std::vector<Loop> loops_;
  std::vector<Unit> units_;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> loop_of_;
};

}  // namespace refrain::query
