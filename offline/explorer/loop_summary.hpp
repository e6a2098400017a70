#pragma once
/// Summaries of the iterations of a loop: curves over places, maps, and what distinguishes classes of iterations. The
/// values of each place are summarised separately, which several threads can do at a time; then places are added in
/// order. Single values are not stored.
///
/// Memory: 16 MiB for each metric, and 16 bytes for each cell of a map, whatever the numbers of iterations and places.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "offline/analysis/job_classes.hpp"
#include "offline/explorer/run.hpp"

namespace refrain::explorer {

/// Groups iterations into at most `most` bins.
struct Bins {
  Bins(std::int64_t iterations, std::size_t most);
  /// The bin of the iteration; `count`: it is in none.
  std::size_t of(std::int64_t iteration) const {
    const auto bin = static_cast<std::size_t>(iteration / width);
    return iteration < 0 || bin >= count ? count : bin;
  }
  std::int64_t width;  ///< iterations in a bin
  std::size_t count;
};

/// Finds the bins of ascending iterations without a division for each of them.
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
  std::int64_t end_;  ///< first iteration after the bin
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

/// Collects the means of the bins at every place and computes least, median and greatest from them.
class CurveBuilder {
 public:
  CurveBuilder(const Bins& bins, std::size_t places);
  /// To be called at most once for each place. `weight`: number of places that it represents, for the median.
  void add(const BinnedPlace& place, double weight = 1);
  /// The caller sets the metric, unit or node of the curves.
  Curves finish();

 private:
  float median_of(std::size_t bin);

  Bins bins_;
  std::size_t places_, place_ = 0;
  std::vector<float> means_;     ///< by bin and place
  std::vector<double> weights_;  ///< by place
  bool is_weighted_ = false;     ///< the weights differ
  std::vector<float> peak_;
};

class MapBuilder {
 public:
  /// `code_step`: step to which codes are rounded in the file.
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

/// The iterations of the job, or groups of `width` iterations when there are very many, and their classes.
struct JobIterations {
  std::int64_t width = 1;
  std::vector<analysis::JobIteration> all;
  std::vector<std::int64_t> count;     ///< by group: iterations, each counted once for each place that was in it
  std::vector<std::int64_t> of_peaks;  ///< by group: the iteration that took longest at any place; -1: none
  analysis::JobClasses classes = {};
};

/// Assembles the iterations of a whole job from its places.
class JobBuilder {
 public:
  /// Times of one group at one place.
  struct Times {
    double wall = 0, mpi = 0, user = 0;  ///< sums, in seconds
    std::int64_t count = 0;
    float peak = 0;                   ///< of wall time
    std::uint32_t place_of_peak = 0;  ///< index in the group
    void add(double wall_s, double mpi_s, double user_s, std::int64_t place_in_group = 0);
  };
  explicit JobBuilder(std::int64_t iterations);
  const Bins& groups() const { return groups_; }
  /// `times`: by group. `place`: identifies the place.
  void add_place(std::uint64_t place, std::span<const Times> times);
  /// Adds the places of another builder for the same job.
  void add(const JobBuilder& others);
  /// Leaves the classes empty.
  JobIterations finish();
  std::size_t bytes() const {
    return groups_.count * (sizeof(sums_[0]) + sizeof(count_[0]) + sizeof(places_of_[0]) + sizeof(peaks_[0]));
  }

 private:
  Bins groups_;
  std::vector<analysis::JobIteration> sums_;
  std::vector<std::int64_t> count_;
  std::vector<std::uint32_t> places_of_;  ///< number of places, by group
  std::uint32_t places_ = 0;
  analysis::PlaceSigns signs_;  ///< of all places
  struct Peak {
    float wall = -1;
    std::uint32_t place = 0;  ///< index in the group
  };
  std::vector<Peak> peaks_;
};

}  // namespace refrain::explorer
