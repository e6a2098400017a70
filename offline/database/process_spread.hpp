#pragma once
/// How the processes of a run differ.

#include <cmath>
#include <cstdint>
#include <vector>

#include "offline/database/run_source.hpp"

namespace refrain::database {

/// Least, largest, mean and deviation over processes, and which processes have the extremes.
struct OverProcesses {
  double count = 0, sum = 0, squares = 0, least = 0, most = 0;
  std::int64_t least_of = 0, most_of = 0;

  void add(double value, std::int64_t process) {
    if (count == 0 || value < least) {
      least = value;
      least_of = process;
    }
    if (count == 0 || value > most) {
      most = value;
      most_of = process;
    }
    ++count;
    sum += value;
    squares += value * value;
  }
  /// Those that have not had a row have nothing.
  void add_idle(const std::vector<std::int64_t>& processes, const std::vector<bool>& has) {
    for (std::size_t i = 0; i < processes.size(); ++i)
      if (i >= has.size() || !has[i]) add(0, processes[i]);
  }
  double mean() const { return count > 0 ? sum / count : unknown; }
  double deviation() const { return count > 0 ? std::sqrt(std::max(squares / count - mean() * mean(), 0.0)) : unknown; }
};

}  // namespace refrain::database
