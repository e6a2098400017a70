#pragma once
/// What the explorer keeps of the iterations of a loop: curves over places, maps, and what tells classes of iterations
/// apart. The values of one place are put together by themselves, which threads can do at a time; then places are added
/// in their order. Single values are not held.
///
/// Memory: 16 MiB for each metric, and 16 bytes for each cell of a map, whatever the numbers of iterations and places.

#include <cmath>
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

/// Bins of iterations that ascend, without a division for each of them.
class BinCursor {
 public:
  explicit BinCursor(const Bins& bins) : bins_(bins), end_(bins.width) {}
  std::size_t of(std::int64_t iteration) {
    if (iteration >= end_) {
      bin_ = bins_.of(iteration);
      end_ = (iteration / bins_.width + 1) * bins_.width;
    }
    return bin_;
  }

 private:
  Bins bins_;
  std::size_t bin_ = 0;
  std::int64_t end_;  ///< of the iterations in the bin
};

/// Values of one metric at one place, by bin.
struct BinnedPlace {
  explicit BinnedPlace(const Bins& bins);
  void add(std::size_t bin, double value) {
    if (bin >= sum.size() || !std::isfinite(value)) return;
    sum[bin] += value;
    ++count[bin];
    const auto single = static_cast<float>(value);
    if (!(peak[bin] >= single)) peak[bin] = single;
  }

  std::vector<double> sum;
  std::vector<std::int64_t> count;
  std::vector<float> peak;
};

/// Means of the bins at every place, from which least, median and greatest follow.
class CurveBuilder {
 public:
  CurveBuilder(const Bins& bins, std::size_t places);
  /// As often as there are places, or less. `weight`: of how many places it is one, for the median.
  void add(const BinnedPlace& place, double weight = 1);
  /// `name` and the like are the caller's.
  Curves finish();

 private:
  float median_of(std::size_t bin);

  Bins bins_;
  std::size_t places_, place_ = 0;
  std::vector<float> means_;     ///< by bin and place
  std::vector<double> weights_;  ///< by place
  bool is_weighted_ = false;     ///< they differ
  std::vector<float> peak_;
};

class MapBuilder {
 public:
  /// `code_step`: that values are rounded to in the file.
  MapBuilder(const Bins& columns, std::size_t places, std::size_t most_rows, unsigned code_step = 1);
  void add(std::size_t place, const BinnedPlace& values);
  Map finish();

 private:
  Bins columns_;
  unsigned code_step_;
  std::int64_t places_in_row_;
  std::size_t rows_;
  std::vector<float> sum_, peak_;
  std::vector<std::uint32_t> count_;
};

/// The iterations of the job, or groups of `width` of them where they are very many, and their classes.
struct JobIterations {
  std::int64_t width = 1;
  std::vector<analysis::JobIteration> all;
  std::vector<std::int64_t> count;     ///< by group: iterations, as often as places were in them
  std::vector<std::int64_t> of_peaks;  ///< by group: the iteration that took longest at any place; -1: none
  analysis::JobClasses classes = {};
};

/// Puts iterations of a whole job together from its places.
class JobBuilder {
 public:
  /// One of the groups at one place.
  struct Times {
    double wall = 0, mpi = 0, user = 0;  ///< sums, in seconds
    std::int64_t count = 0;
    float peak = 0;                   ///< of wall time
    std::uint32_t place_of_peak = 0;  ///< in the group
    void add(double wall_s, double mpi_s, double user_s, std::int64_t place_in_group = 0);
  };
  explicit JobBuilder(std::int64_t iterations);
  const Bins& groups() const { return groups_; }
  /// By group. `place`: which one it is.
  void add_place(std::uint64_t place, std::span<const Times> times);
  /// Places that were added to another one of the same job.
  void add(const JobBuilder& others);
  /// Without classes.
  JobIterations finish();
  std::size_t bytes() const {
    return groups_.count * (sizeof(sums_[0]) + sizeof(count_[0]) + sizeof(places_of_[0]) + sizeof(peaks_[0]));
  }

 private:
  Bins groups_;
  std::vector<analysis::JobIteration> sums_;
  std::vector<std::int64_t> count_;
  std::vector<std::uint32_t> places_of_;  ///< by group
  std::uint32_t places_ = 0;
  analysis::PlaceSigns signs_;  ///< of all places
  struct Peak {
    float wall = -1;
    std::uint32_t place = 0;  ///< in the group
  };
  std::vector<Peak> peaks_;
};

}  // namespace refrain::explorer
