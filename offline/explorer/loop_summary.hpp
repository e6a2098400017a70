#pragma once
/// What the explorer keeps of the iterations of a loop: curves over places, maps, and what tells classes of iterations
/// apart. The values of one place are put together by themselves, which threads can do at a time; then places are added
/// in their order. Single values are not held.
///
/// Memory: 16 MiB for each metric, and 16 bytes for each cell of a map, whatever the numbers of iterations and places.

#include <cstdint>
#include <span>
#include <vector>

#include "offline/analysis/job_classes.hpp"
#include "offline/explorer/run.hpp"

namespace refrain::explorer {

/// How iterations are put together so that there are no more than so many bins.
struct Bins {
  Bins(std::int64_t iterations, std::size_t most);
  /// `count`: the iteration is in none.
  std::size_t of(std::int64_t iteration) const {
    const auto bin = static_cast<std::size_t>(iteration / width);
    return iteration < 0 || bin >= count ? count : bin;
  }
  std::int64_t width;  ///< iterations in a bin
  std::size_t count;
};

/// Values of one metric at one place, by bin.
struct BinnedPlace {
  explicit BinnedPlace(const Bins& bins);
  void add(std::size_t bin, double value);

  std::vector<double> sum;
  std::vector<std::int64_t> count;
  std::vector<float> peak;
};

/// Means of the bins at every place, from which least, median and greatest follow.
class CurveBuilder {
 public:
  CurveBuilder(const Bins& bins, std::size_t places);
  /// As often as there are places, or less.
  void add(const BinnedPlace& place);
  /// `name` and the like are the caller's.
  Curves finish();

 private:
  Bins bins_;
  std::size_t places_, place_ = 0;
  std::vector<float> means_;  ///< by bin and place
  std::vector<float> peak_;
};

class MapBuilder {
 public:
  MapBuilder(const Bins& columns, std::size_t places, std::size_t most_rows);
  void add(std::size_t place, const BinnedPlace& values);
  Map finish();

 private:
  Bins columns_;
  std::int64_t places_in_row_;
  std::size_t rows_;
  std::vector<float> sum_, peak_;
  std::vector<std::uint32_t> count_;
};

/// The iterations of a whole job, or groups of some that follow each other where they are very many.
class JobBuilder {
 public:
  /// One of the groups at one place.
  struct Times {
    double wall = 0, mpi = 0, user = 0;
    std::int64_t count = 0;
    void add(double wall_s, double mpi_s, double user_s);
  };
  explicit JobBuilder(std::int64_t iterations);
  const Bins& groups() const { return groups_; }
  /// By group.
  void add_place(std::span<const Times> times);
  /// Places that were added to another one of the same job.
  void add(const JobBuilder& others);
  std::vector<analysis::JobIteration> finish();

 private:
  Bins groups_;
  std::vector<analysis::JobIteration> sums_;
  std::vector<std::int64_t> count_;
};

}  // namespace refrain::explorer
