#pragma once
/// What the explorer keeps of the iterations of a loop: curves over places, maps, and what tells classes of iterations
/// apart. Values come place by place and are not held.
///
/// Memory: 16 MiB for each metric, and 16 bytes for each cell of a map, whatever the numbers of iterations and places.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "offline/analysis/job_classes.hpp"
#include "offline/explorer/run.hpp"

namespace refrain::explorer {

/// Values of some bins at every place, from which least, median and greatest follow.
class CurveBuilder {
 public:
  CurveBuilder(std::int64_t iterations, std::size_t places, std::size_t most_bins);
  std::int64_t width() const { return width_; }
  std::size_t bins() const { return bins_; }
  /// Iterations of one place, then end_place().
  void add(std::int64_t iteration, double value);
  void end_place();
  /// `name` and the like are the caller's.
  Curves finish();

 private:
  std::int64_t width_;
  std::size_t bins_, places_, place_ = 0;
  std::vector<double> sum_;
  std::vector<std::int64_t> count_;
  std::vector<float> means_;  ///< by bin and place
  std::vector<float> peak_;
};

class MapBuilder {
 public:
  MapBuilder(std::int64_t iterations, std::size_t places, std::size_t most_rows, std::size_t most_columns);
  void add(std::size_t place, std::int64_t iteration, double value);
  Map finish();

 private:
  std::int64_t width_, places_in_row_;
  std::size_t rows_, columns_;
  std::vector<float> sum_, peak_;
  std::vector<std::uint32_t> count_;
};

/// The iterations of a whole job, or groups of some that follow each other where they are very many.
class JobBuilder {
 public:
  explicit JobBuilder(std::int64_t iterations);
  std::int64_t width() const { return width_; }
  void add(std::size_t place, std::int64_t iteration, double wall, double mpi, double user);
  std::vector<analysis::JobIteration> finish();

 private:
  std::int64_t width_;
  std::size_t last_place_ = ~std::size_t{0};
  std::vector<analysis::JobIteration> sums_;
  std::vector<double> count_, of_place_, of_place_count_;
  void close_place();
};

}  // namespace refrain::explorer
