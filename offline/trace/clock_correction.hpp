#pragma once
/// How the clocks of a job's machines have run between two measurements, from what events prove: what has sent a
/// message came before what has received it, so each message bounds the difference of two clocks from one side, and
/// messages in the other direction from the other side. Between both sides is a corridor; the correction is the
/// smoothest path in it. It is added to times that a straight line has already made comparable (job_clocks.hpp).
///
/// Time is divided into steps of equal length, and the correction is a straight line in between. Of the bounds of a
/// step those stay that can bound a straight line (their convex hull), at most 16 for each pair of machines and
/// direction: memory does not grow with the number of bounds.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace refrain::trace {

/// What to add to a time, nanoseconds: straight lines between equally distant points, and constant outside.
class ClockCurve {
 public:
  ClockCurve() = default;
  /// `values`: at `begin`, and every `step` from there on; `step` > 0.
  ClockCurve(std::vector<double> values, double begin, double step);
  bool empty() const { return values_.empty(); }
  /// The same with another origin of time.
  void move(double by) { begin_ += by; }
  double at(double ns) const {
    if (values_.empty()) return 0;
    const double place = (ns - begin_) / step_;
    if (!(place > 0)) return values_.front();
    const auto last = values_.size() - 1;
    if (place >= static_cast<double>(last)) return values_.back();
    const auto before = static_cast<std::size_t>(place);
    return values_[before] + (values_[before + 1] - values_[before]) * (place - static_cast<double>(before));
  }

 private:
  std::vector<double> values_;
  double begin_ = 0, step_ = 1;
};

/// Where a path may be, at one point.
struct Corridor {
  double low, high;  ///< infinite: no bound on that side; low > high: bounds contradict each other
  bool has_both() const;
  double half() const;  ///< of its width
};
/// What a path may be between two points, or at one.
struct PathBound {
  std::size_t point;  ///< the one before; there is one after it
  double share;       ///< 0 to 1: of the way to the next point
  double low, high;   ///< infinite: no bound on that side
};
/// The path that bends least within the bounds. `corridor`: at the points, of the same bounds. Where it is narrow its
/// middle is what the clock was most likely, as messages take about the same time in both directions; a wide one tells
/// little but its two sides. The path stays away from them, by an eighth of the width or of that of the narrowest one.
/// Where bounds contradict each other each side is violated by about the same. `bend`: what the path may differ from a
/// straight line over three points before that counts as much as the distance to the middle of a typical corridor.
std::vector<double> smoothest_path(std::span<const Corridor> corridor, std::span<const PathBound> bounds, double bend);

class ClockCorrection {
 public:
  /// Clocks are numbered from 0; the first one is right. Of times from `begin_ns` to `end_ns`.
  ClockCorrection(std::size_t clocks, std::int64_t begin_ns, std::int64_t end_ns);

  /// At that time the clock was measured: it is right up to the error.
  void add_measured(std::uint32_t clock, double at_ns, double error_ns);
  /// One event came before another, whatever the two clocks say.
  void add(std::uint32_t before_clock, std::int64_t before_ns, std::uint32_t after_clock, std::int64_t after_ns);
  /// After all of them were added.
  void solve();

  /// Between different clocks.
  std::uint64_t bounds() const { return bounds_; }
  /// Empty: nothing to correct.
  ClockCurve curve(std::uint32_t clock) const;
  /// How far the truth may be from the correction, at most, to the first clock: where nothing bounds it, when it
  /// changes by no more than 10^-7 of the time beside what the correction does at its steepest. Negative: not known.
  double uncertainty(std::uint32_t clock) const;

 private:
  /// (time, what the difference of two clocks is at least), in order of time.
  using Hull = std::vector<std::pair<double, double>>;
  using Ordered = std::pair<std::uint32_t, std::uint32_t>;  ///< the difference is that of the second to the first
  struct OfClock {
    std::vector<double> values, errors;
    std::vector<Corridor> measured;
    std::vector<std::uint32_t> others;  ///< that it has bounds with
    std::size_t order = no_order;       ///< in which clocks are reached from the first
  };
  static constexpr std::size_t no_order = ~std::size_t{0};

  std::size_t point_of(double ns) const;
  /// The point before, and the share of the way to the next one.
  std::pair<std::size_t, double> place_of(double ns) const;
  double value_at(const OfClock& of, double ns) const;
  /// What events prove of a clock as all others are now; `before`: only those that are reached earlier. Takes the
  /// point, the time, whether the clock's value there is at least or at most so much, and the other clock's error.
  template <class Take>
  void for_each_bound(std::uint32_t clock, bool before, const Take& take) const;
  /// With the errors of the others it is wider.
  std::vector<Corridor> corridor_of(std::uint32_t clock, bool before, bool with_errors) const;
  void place(std::uint32_t clock, bool before);
  void find_errors(std::uint32_t clock);

  double begin_, step_;
  std::size_t points_;
  std::vector<OfClock> clocks_;
  std::map<Ordered, std::vector<Hull>> hulls_;
  std::uint64_t bounds_ = 0;
};

}  // namespace refrain::trace
