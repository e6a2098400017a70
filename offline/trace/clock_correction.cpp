#include "offline/trace/clock_correction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "statistics/statistics.hpp"

namespace refrain::trace {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
/// A crystal's frequency changes by about this much with temperature.
constexpr double bend_of_crystals = 1e-7;
/// Damaged files may contain any time: 2^60 ns are 36 years.
constexpr double most_added = 1.15e18;
constexpr double least_half = 1;  // nanosecond
constexpr std::size_t most_points_of_hull = 16;
/// The path keeps so far away from both sides: between points it is a straight line, and clocks are not.
constexpr double share_for_margin = 0.25;

std::size_t points_for(std::size_t clocks) {
  constexpr std::size_t all = std::size_t{1} << 18, neighbours = 16;
  return std::clamp<std::size_t>(all / (clocks * neighbours), 16, 512) + 1;
}

using Point = std::pair<double, double>;

/// Height of `middle` above the line from `left` to `right`.
double height(const Point& left, const Point& middle, const Point& right) {
  const double length = right.first - left.first;
  if (length <= 0) return middle.second - std::max(left.second, right.second);
  const double share = (middle.first - left.first) / length;
  return middle.second - (left.second + (right.second - left.second) * share);
}

void add_to_hull(std::vector<Point>& hull, Point point) {
  auto at = hull.end();
  while (at != hull.begin() && std::prev(at)->first > point.first) --at;
  if (at != hull.begin() && at != hull.end() && height(*std::prev(at), point, *at) <= 0) return;
  auto place = at - hull.begin();
  hull.insert(at, point);
  while (place >= 2 && height(hull[place - 2], hull[place - 1], hull[place]) <= 0) hull.erase(hull.begin() + --place);
  const auto size = [&] { return static_cast<std::ptrdiff_t>(hull.size()); };
  while (place + 2 < size() && height(hull[place], hull[place + 1], hull[place + 2]) <= 0)
    hull.erase(hull.begin() + place + 1);
  if (hull.size() <= most_points_of_hull) return;
  std::size_t least = 1;
  for (std::size_t i = 2; i + 1 < hull.size(); ++i)
    if (height(hull[i - 1], hull[i], hull[i + 1]) < height(hull[least - 1], hull[least], hull[least + 1])) least = i;
  hull.erase(hull.begin() + static_cast<std::ptrdiff_t>(least));
}

/// A symmetric system of equations with two more diagonals on each side of the main one.
struct Equations {
  std::vector<double> main, next, second, right;
  explicit Equations(std::size_t n) : main(n), next(n), second(n), right(n) {}

  /// The product of the matrix and `x`.
  std::vector<double> product(const std::vector<double>& x) const {
    std::vector<double> sums(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      sums[i] += main[i] * x[i];
      if (i + 1 < x.size()) sums[i] += next[i] * x[i + 1], sums[i + 1] += next[i] * x[i];
      if (i + 2 < x.size()) sums[i] += second[i] * x[i + 2], sums[i + 2] += second[i] * x[i];
    }
    return sums;
  }

  /// Solves by L D L^T.
  std::vector<double> solution() && {
    const std::size_t n = main.size();
    std::vector<double>& x = right;
    for (std::size_t i = 0; i < n; ++i) {
      const double of_next = next[i] / main[i], of_second = second[i] / main[i];
      if (i + 1 < n) {
        main[i + 1] -= of_next * next[i];
        next[i + 1] -= of_next * second[i];
        x[i + 1] -= of_next * x[i];
      }
      if (i + 2 < n) {
        main[i + 2] -= of_second * second[i];
        x[i + 2] -= of_second * x[i];
      }
      next[i] = of_next, second[i] = of_second;
    }
    for (std::size_t i = n; i-- > 0;) {
      x[i] /= main[i];
      if (i + 1 < n) x[i] -= next[i] * x[i + 1];
      if (i + 2 < n) x[i] -= second[i] * x[i + 2];
    }
    return std::move(right);
  }
};

double eighth_power(double x) {
  const double square = x * x, fourth = square * square;
  return fourth * fourth;
}

/// Minimizes the sum of (second difference / bend)^2, of the pulls to the middle, and of weight x violation^2. This sum
/// is convex, and quadratic as long as the same bounds are violated: Newton's method with a search along each step.
class Smoother {
 public:
  Smoother(std::span<const Corridor> corridor, std::span<const PathBound> bounds, double bend)
      : corridor_(corridor), bounds_(bounds), shares_(bounds.size()), constant_(corridor.size()) {
    find_scales();
    find_shares();
    const double stiffness = 1 / (bend * bend);
    std::vector<double> pulls(corridor.size());
    for (std::size_t i = 0; i < corridor.size(); ++i)
      if (const Corridor& of = corridor[i]; of.has_both() && of.half() > 0)
        // Twice the width, a 256th of the pull: late messages in one direction pull to one side, however many they are.
        pulls[i] = eighth_power(typical_ / std::max(of.half(), narrowest_)) / (typical_ * typical_);
    // Where nothing pulls, prefer a straight line, so weakly that it decides only what nothing else does.
    const auto [begin, slope] = line(pulls);
    const double rest = std::max(1e-9 / (typical_ * typical_), 1e-13 * stiffness);
    for (std::size_t i = 0; i < corridor.size(); ++i) {
      constant_.main[i] += rest + pulls[i];
      constant_.right[i] += rest * (begin + slope * static_cast<double>(i));
      if (pulls[i] > 0) constant_.right[i] += pulls[i] * (corridor[i].low + corridor[i].half());
      if (i + 2 >= corridor.size()) continue;
      constant_.main[i] += stiffness, constant_.main[i + 1] += 4 * stiffness, constant_.main[i + 2] += stiffness;
      constant_.next[i] -= 2 * stiffness, constant_.next[i + 1] -= 2 * stiffness;
      constant_.second[i] += stiffness;
    }
  }

  std::vector<double> path() && {
    constexpr int levels = 4;
    path_ = Equations(constant_).solution();
    double weight = 1 / (narrowest_ * narrowest_);
    for (int level = 0; level < levels; ++level, weight *= 100) {
      double most = 0;
      for (const PathBound& of : bounds_) most = std::max(most, std::abs(violation(of, value(path_, of))));
      if (most < narrowest_ / 1000) break;
      descend(weight);
    }
    return std::move(path_);
  }

 private:
  void find_scales() {
    std::vector<double> halves;
    for (const Corridor& of : corridor_)
      if (of.has_both() && of.half() > 0) halves.push_back(of.half());
    if (halves.empty()) return;
    constexpr double half = 0.5, least_share = 1.0 / 30;  // narrower corridors stem from an error
    typical_ = std::max(statistics::quantile(halves, half), least_half);
    narrowest_ = std::max({std::ranges::min(halves), typical_ * least_share, least_half});
  }

  /// All bounds at one point and side together weigh as much as one.
  void find_shares() {
    std::vector<std::uint32_t> count(2 * corridor_.size());
    const auto each = [&](const PathBound& of, const auto& take) {
      if (of.low > -unbounded) take(count[2 * of.point]);
      if (of.high < unbounded) take(count[2 * of.point + 1]);
    };
    for (const PathBound& of : bounds_) each(of, [](std::uint32_t& of_side) { ++of_side; });
    for (std::size_t i = 0; i < bounds_.size(); ++i)
      each(bounds_[i], [&](std::uint32_t of_side) { shares_[i] = std::max(shares_[i], 1.0 / of_side); });
  }

  /// Start and slope of the line nearest to what pulls; 0 if that is less than two points.
  std::pair<double, double> line(std::span<const double> pulls) const {
    double sum = 0, at = 0, middle = 0, squares = 0, products = 0;
    for (std::size_t i = 0; i < pulls.size(); ++i) {
      if (pulls[i] <= 0) continue;
      const double x = static_cast<double>(i), y = corridor_[i].low + corridor_[i].half();
      const double dx = x - at, dy = y - middle;
      sum += pulls[i];
      at += dx * pulls[i] / sum;
      middle += dy * pulls[i] / sum;
      squares += pulls[i] * dx * (x - at);
      products += pulls[i] * dx * (y - middle);
    }
    if (!(squares > 0) || !std::isfinite(products / squares)) return {0, 0};
    const double slope = products / squares;
    return {middle - slope * at, slope};
  }

  static double value(const std::vector<double>& path, const PathBound& of) {
    return path[of.point] + (path[of.point + 1] - path[of.point]) * of.share;
  }
  /// Positive: above the upper side; negative: below the lower side; 0: within both.
  double violation(const PathBound& of, double value) const {
    const Corridor& there = corridor_[of.share < 0.5 ? of.point : of.point + 1];
    const double margin = there.has_both() ? std::clamp(there.half(), 0.0, narrowest_) * share_for_margin : 0;
    if (value < of.low + margin) return value - of.low - margin;
    return value > of.high - margin ? value - of.high + margin : 0;
  }

  void descend(double weight) {
    constexpr int steps = 30;
    for (int step = 0; step < steps; ++step) {
      Equations equations = constant_;
      for (std::size_t i = 0; i < bounds_.size(); ++i) {
        const PathBound& of = bounds_[i];
        const double now = value(path_, of), beyond = violation(of, now);
        if (beyond == 0) continue;
        const double here = 1 - of.share, there = of.share, target = now - beyond, own = weight * shares_[i];
        equations.main[of.point] += own * here * here;
        equations.main[of.point + 1] += own * there * there;
        equations.next[of.point] += own * here * there;
        equations.right[of.point] += own * here * target;
        equations.right[of.point + 1] += own * there * target;
      }
      std::vector<double> direction = std::move(equations).solution();
      double longest = 0;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        direction[i] -= path_[i];
        longest = std::max(longest, std::abs(direction[i]));
      }
      const double length = best_length(direction, weight);
      for (std::size_t i = 0; i < direction.size(); ++i) path_[i] += length * direction[i];
      if (!(longest * length > narrowest_ * 1e-3)) return;
    }
  }

  /// The length, at most 1, at which the derivative along the direction is 0.
  double best_length(const std::vector<double>& direction, double weight) const {
    const std::vector<double> there = constant_.product(direction);
    double begin = 0, growth = 0;
    const std::vector<double> here = constant_.product(path_);
    for (std::size_t i = 0; i < direction.size(); ++i) {
      begin += direction[i] * (here[i] - constant_.right[i]);
      growth += direction[i] * there[i];
    }
    const auto derivative = [&](double length) {
      double sum = begin + length * growth;
      for (std::size_t i = 0; i < bounds_.size(); ++i) {
        const double change = value(direction, bounds_[i]);
        sum += weight * shares_[i] * change * violation(bounds_[i], value(path_, bounds_[i]) + length * change);
      }
      return sum;
    };
    // The derivative grows from a negative value to a positive one, in straight pieces.
    double low = 0, high = 1, at_low = derivative(0), at_high = derivative(1);
    if (at_high <= 0 || at_low >= 0) return 1;
    const double small = -1e-6 * at_low;
    constexpr int most_tries = 12;
    for (int i = 0; i < most_tries; ++i) {
      const double line = low - at_low * (high - low) / (at_high - at_low);
      const double length = i % 3 == 2 ? (low + high) / 2 : line;
      const double there_is = derivative(length);
      if (std::abs(there_is) <= small) return length;
      if (there_is > 0) high = length, at_high = there_is;
      else low = length, at_low = there_is;
    }
    return low - at_low * (high - low) / (at_high - at_low);
  }

  std::span<const Corridor> corridor_;
  std::span<const PathBound> bounds_;
  std::vector<double> shares_;  ///< share of the weight, by bound
  Equations constant_;          ///< the part that does not depend on bounds
  /// Half the width of corridors: the median and the minimum.
  double typical_ = 1000, narrowest_ = 1000;
  std::vector<double> path_;
};

}  // namespace

ClockCurve::ClockCurve(std::vector<double> values, double begin, double step)
    : values_(std::move(values)), begin_(begin), step_(step) {}

bool Corridor::has_both() const { return low > -unbounded && high < unbounded; }
double Corridor::half() const { return (high - low) / 2; }

std::vector<double> smoothest_path(std::span<const Corridor> corridor, std::span<const PathBound> bounds, double bend) {
  return Smoother(corridor, bounds, bend).path();
}

ClockCorrection::ClockCorrection(std::size_t clocks, std::int64_t begin_ns, std::int64_t end_ns)
    : begin_(static_cast<double>(begin_ns)), points_(points_for(std::max<std::size_t>(clocks, 1))), clocks_(clocks) {
  const double duration = static_cast<double>(end_ns) - begin_;
  // Steps take at least a millisecond: shorter ones contain too few messages for two sides.
  points_ = static_cast<std::size_t>(std::clamp(duration / 1e6, 2.0, static_cast<double>(points_ - 1))) + 1;
  step_ = std::max(duration / static_cast<double>(points_ - 1), 1e6);
  for (OfClock& of : clocks_) {
    of.values.assign(points_, 0);
    of.errors.assign(points_, unbounded);
    of.measured.assign(points_, {-unbounded, unbounded});
  }
  if (!clocks_.empty()) clocks_[0].errors.assign(points_, 0);
}

std::size_t ClockCorrection::point_of(double ns) const {
  return static_cast<std::size_t>(std::clamp((ns - begin_) / step_ + 0.5, 0.0, static_cast<double>(points_ - 1)));
}

std::pair<std::size_t, double> ClockCorrection::place_of(double ns) const {
  const double place = std::clamp((ns - begin_) / step_, 0.0, static_cast<double>(points_ - 1));
  const std::size_t before = std::min(static_cast<std::size_t>(place), points_ - 2);
  return {before, place - static_cast<double>(before)};
}

double ClockCorrection::value_at(const OfClock& of, double ns) const {
  const auto [before, share] = place_of(ns);
  return of.values[before] + (of.values[before + 1] - of.values[before]) * share;
}

void ClockCorrection::add_measured(std::uint32_t clock, double at_ns, double error_ns) {
  Corridor& of = clocks_[clock].measured[point_of(at_ns)];
  of.low = std::max(of.low, -error_ns);
  of.high = std::min(of.high, error_ns);
}

void ClockCorrection::add(std::uint32_t before_clock, std::int64_t before_ns, std::uint32_t after_clock,
                          std::int64_t after_ns) {
  if (before_clock == after_clock) return;
  const double before = static_cast<double>(before_ns), after = static_cast<double>(after_ns);
  // The first clock needs no correction, so the time on the other clock counts.
  const double at = before_clock > after_clock ? before : after;
  constexpr std::size_t most_pairs = std::size_t{1} << 14;
  auto hulls = hulls_.find({before_clock, after_clock});
  if (hulls == hulls_.end()) {
    if (hulls_.size() >= most_pairs) return;
    hulls = hulls_.try_emplace({before_clock, after_clock}, points_).first;
  }
  ++bounds_;
  add_to_hull(hulls->second[point_of(at)], {at, before - after});
}

template <class Take>
void ClockCorrection::for_each_bound(std::uint32_t clock, bool before, const Take& take) const {
  const OfClock& own = clocks_[clock];
  for (const std::uint32_t other : own.others) {
    const OfClock& of = clocks_[other];
    if (before && of.order >= own.order) continue;
    for (const bool is_low : {true, false}) {
      const auto hulls = hulls_.find(is_low ? Ordered{other, clock} : Ordered{clock, other});
      if (hulls == hulls_.end()) continue;
      for (std::size_t i = 0; i < points_; ++i)
        for (const auto& [at, least] : hulls->second[i]) {
          const double value = value_at(of, at);
          take(i, at, is_low, is_low ? value + least : value - least, of.errors[i]);
        }
    }
  }
}

/// Within a step, bounds are compared along the current path.
std::vector<Corridor> ClockCorrection::corridor_of(std::uint32_t clock, bool before, bool with_errors) const {
  const OfClock& own = clocks_[clock];
  std::vector<Corridor> corridor = own.measured;
  for_each_bound(clock, before, [&](std::size_t i, double at, bool is_low, double bound, double error) {
    const double here = bound + own.values[i] - value_at(own, at);
    if (!with_errors) error = 0;
    if (is_low) corridor[i].low = std::max(corridor[i].low, here - error);
    else corridor[i].high = std::min(corridor[i].high, here + error);
  });
  return corridor;
}

/// The first round assumes that the path is level within a step; later rounds move bounds to the step's point along the
/// slope found before.
void ClockCorrection::place(std::uint32_t clock, bool before) {
  constexpr int rounds = 3;
  const double bend = std::max(bend_of_crystals * step_, 0.1);
  std::vector<PathBound> bounds;
  for (std::size_t i = 0; i < points_; ++i)
    if (const Corridor& of = clocks_[clock].measured[i]; of.has_both())
      bounds.push_back({std::min(i, points_ - 2), i < points_ - 1 ? 0.0 : 1.0, of.low, of.high});
  for_each_bound(clock, before, [&](std::size_t, double at, bool is_low, double bound, double) {
    const auto [point, share] = place_of(at);
    bounds.push_back({point, share, is_low ? bound : -unbounded, is_low ? unbounded : bound});
  });
  std::vector<double>& values = clocks_[clock].values;
  for (int round = 0; round < rounds; ++round) {
    values = smoothest_path(corridor_of(clock, before, false), bounds, bend);
    for (double& value : values) value = std::isfinite(value) ? std::clamp(value, -most_added, most_added) : 0;
    // Time never runs backwards.
    for (std::size_t i = 1; i < points_; ++i) values[i] = std::max(values[i], values[i - 1] - step_ / 2);
  }
}

/// Between two points the truth changes by no more than the steepest change of the path plus the drift of crystals.
void ClockCorrection::find_errors(std::uint32_t clock) {
  OfClock& of = clocks_[clock];
  std::vector<Corridor> corridor = corridor_of(clock, true, true);
  double most = bend_of_crystals * step_;
  for (std::size_t i = 1; i < points_; ++i)
    most = std::max(most, std::abs(of.values[i] - of.values[i - 1]) + bend_of_crystals * step_);
  const auto narrow = [&](Corridor& to, const Corridor& from) {
    to = {std::max(to.low, from.low - most), std::min(to.high, from.high + most)};
  };
  for (std::size_t i = 1; i < points_; ++i) narrow(corridor[i], corridor[i - 1]);
  for (std::size_t i = points_ - 1; i-- > 0;) narrow(corridor[i], corridor[i + 1]);
  for (std::size_t i = 0; i < points_; ++i)
    of.errors[i] = std::max(std::abs(corridor[i].high - of.values[i]), std::abs(of.values[i] - corridor[i].low));
}

void ClockCorrection::solve() {
  for (const auto& [pair, hulls] : hulls_)
    for (const auto& [own, other] : {pair, Ordered{pair.second, pair.first}})
      if (auto& others = clocks_[own].others; std::ranges::find(others, other) == others.end()) others.push_back(other);
  std::vector<std::uint32_t> order;
  if (clocks_.empty()) return;
  clocks_[0].order = 0;
  order.push_back(0);
  for (std::size_t next = 0; next < order.size(); ++next)
    for (const std::uint32_t other : clocks_[order[next]].others)
      if (clocks_[other].order == no_order) {
        clocks_[other].order = order.size();
        order.push_back(other);
      }
  const std::span<const std::uint32_t> all_but_first(order.begin() + 1, order.end());
  // First place each clock by those placed already, then a few times by all of its neighbours.
  for (const std::uint32_t clock : all_but_first) {
    place(clock, true);
    find_errors(clock);
  }
  const int rounds = clocks_.size() > 2 ? 4 : 0;
  for (int round = 0; round < rounds; ++round)
    for (const std::uint32_t clock : all_but_first) place(clock, false);
  for (const std::uint32_t clock : all_but_first) find_errors(clock);
}

ClockCurve ClockCorrection::curve(std::uint32_t clock) const {
  const OfClock& of = clocks_[clock];
  if (clock == 0 || of.order == no_order) return {};
  return {of.values, begin_, step_};
}

double ClockCorrection::uncertainty(std::uint32_t clock) const {
  if (clock == 0) return 0;
  const OfClock& of = clocks_[clock];
  const double largest = of.order == no_order ? unbounded : *std::ranges::max_element(of.errors);
  return largest < most_added ? largest : -1;
}

}  // namespace refrain::trace
