#pragma once
/// How the clocks of a job's machines ran between two measurements, derived from what events prove. A message is sent
/// before it is received, so each message bounds the difference of two clocks from one side, and messages in the other
/// direction bound it from the other side. Between both sides is a corridor; the correction is the smoothest path in
/// it. It is added to times that a straight line has already made comparable (job_clocks.hpp).
///
/// Time is divided into steps of equal length, and the correction is a straight line within each. A step keeps only the
/// bounds that can bound a straight line (their convex hull), at most 16 for each pair of machines and direction:
/// memory does not grow with the number of bounds.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace refrain::trace {

/// What to add to a time, in nanoseconds: linear between equidistant points, and constant outside.
class ClockCurve {
 public:
  ClockCurve() = default;
  /// `values`: one at `begin`, and one after every `step` from there on; `step` > 0.
  ClockCurve(std::vector<double> values, double begin, double step);
  bool empty() const { return values_.empty(); }
  /// Shifts the curve to another origin of time.
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

/// The range of a path at one point.
struct Corridor {
  double low, high;  ///< infinite: no bound on that side; low > high: bounds contradict each other
  bool has_both() const;
  double half() const;  ///< half of its width
};
/// The range of a path between two points, or at one.
struct PathBound {
  std::size_t point;  ///< the point before; another one follows
  double share;       ///< of the way to the next point, 0 to 1
  double low, high;   ///< infinite: no bound on that side
};
/// The path that bends least within the bounds. `corridor`: the same bounds, at the points. Where the corridor is
/// narrow, its middle is the most likely value of the clock, as messages take about the same time in both directions; a
/// wide corridor says little but its two sides. The path keeps away from the sides, by an eighth of the width or of the
/// narrowest corridor's width, whichever is less. Where bounds contradict each other, each side is violated by about
/// the same amount. `bend`: the deviation from a straight line over three points that counts as much as the distance
/// from the middle of a typical corridor to its side.
std::vector<double> smoothest_path(std::span<const Corridor> corridor, std::span<const PathBound> bounds, double bend);

class ClockCorrection {
 public:
  /// Clocks are numbered from 0; the first one is right. Corrects times from `begin_ns` to `end_ns`.
  ClockCorrection(std::size_t clocks, std::int64_t begin_ns, std::int64_t end_ns);

  /// The clock was measured at `at_ns`: there it is right up to the error.
  void add_measured(std::uint32_t clock, double at_ns, double error_ns);
  /// One event came before another, whatever the two clocks say.
  void add(std::uint32_t before_clock, std::int64_t before_ns, std::uint32_t after_clock, std::int64_t after_ns);
  /// Call after all bounds were added.
  void solve();

  /// Number of bounds between different clocks.
  std::uint64_t bounds() const { return bounds_; }
  /// The correction of a clock; empty: nothing to correct.
  ClockCurve curve(std::uint32_t clock) const;
  /// Maximum distance of the truth from the correction, relative to the first clock. Where nothing bounds the clock,
  /// this assumes that it drifts by no more than 10^-7 of the time in addition to the steepest change of the
  /// correction. Negative: not known.
  double uncertainty(std::uint32_t clock) const;

 private:
  /// (time, minimum of the difference of two clocks), in order of time.
  using Hull = std::vector<std::pair<double, double>>;
  using Ordered = std::pair<std::uint32_t, std::uint32_t>;  ///< the difference is second minus first
  struct OfClock {
    std::vector<double> values, errors;
    std::vector<Corridor> measured;
    std::vector<std::uint32_t> others;  ///< clocks that it has bounds with
    std::size_t order = no_order;       ///< position in the order in which clocks are reached from the first
  };
  static constexpr std::size_t no_order = ~std::size_t{0};

  std::size_t point_of(double ns) const;
  /// The point before `ns`, and the share of the way to the next one.
  std::pair<std::size_t, double> place_of(double ns) const;
  double value_at(const OfClock& of, double ns) const;
  /// Visits what events prove about a clock, given the current values of all others; `before`: only of those that are
  /// reached earlier. `take` gets the point, the time, whether the bound is a lower one, the bound, and the other
  /// clock's error.
  template <class Take>
  void for_each_bound(std::uint32_t clock, bool before, const Take& take) const;
  /// `with_errors`: widened by the errors of the other clocks.
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
