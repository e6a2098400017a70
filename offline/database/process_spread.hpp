#pragma once
/// How values differ between the processes of a run.

#include <cstdint>
#include <vector>

#include "offline/database/run_source.hpp"
#include "statistics/statistics.hpp"

namespace refrain::database {

/// Minimum, maximum, mean and deviation over processes, and the processes with the minimum and maximum.
struct OverProcesses {
  statistics::Moments moments;
  double least = 0, most = 0;
  std::int64_t least_of = 0, most_of = 0;

  void add(double value, std::int64_t process) {
    if (moments.count == 0 || value < least) {
      least = value;
      least_of = process;
    }
    if (moments.count == 0 || value > most) {
      most = value;
      most_of = process;
    }
    moments.add(value);
  }
  /// Adds 0 for each process without a row.
  void add_idle(const std::vector<std::int64_t>& processes, const std::vector<bool>& has) {
    for (std::size_t i = 0; i < processes.size(); ++i)
      if (i >= has.size() || !has[i]) add(0, processes[i]);
  }
  double mean() const { return moments.count > 0 ? moments.mean : unknown; }
  double deviation() const { return moments.count > 0 ? moments.deviation() : unknown; }
};

}  // namespace refrain::database
