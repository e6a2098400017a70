#include "offline/trace/clock_correction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace refrain::trace {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
/// A crystal's frequency changes by that much with temperature.
constexpr double bend_of_crystals = 1e-7;
/// Damaged files have any times: 2^60 ns are 36 years.
constexpr double most_added = 1.15e18;
constexpr std::size_t most_points_of_hull = 16;
/// The path stays so far away from both sides: between points it is a straight line, and clocks are not.
constexpr double share_of_corridor = 0.75;

std::size_t points_for(std::size_t clocks) {
  constexpr std::size_t all = std::size_t{1} << 18, neighbours = 16;
  return std::clamp<std::size_t>(all / (clocks * neighbours), 16, 512) + 1;
}

using Point = std::pair<double, double>;

/// How far `middle` is above the line from one to the other.
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

/// What is wanted of a path at a point, and how much.
struct Pull {
  double target = 0, weight = 0;
};

/// Minimizes the sum of weight (x - target)^2 and of (second difference / bend)^2: a symmetric system with two
/// diagonals beside the main one, solved as L D L^T. `rest`: the weight of 0 everywhere.
std::vector<double> smoothed(std::span<const Pull> pulls, double rest, double bend) {
  const std::size_t n = pulls.size();
  const double stiffness = 1 / (bend * bend);
  std::vector<double> main(n), next(n), second(n), x(n);
  for (std::size_t i = 0; i < n; ++i) {
    main[i] = pulls[i].weight + rest;
    x[i] = pulls[i].weight * pulls[i].target;
  }
  for (std::size_t i = 0; i + 2 < n; ++i) {
    main[i] += stiffness, main[i + 1] += 4 * stiffness, main[i + 2] += stiffness;
    next[i] -= 2 * stiffness, next[i + 1] -= 2 * stiffness;
    second[i] += stiffness;
  }
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
  return x;
}

}  // namespace

ClockCurve::ClockCurve(std::vector<double> values, double begin, double step)
    : values_(std::move(values)), begin_(begin), step_(step) {}

bool Corridor::has_both() const { return low > -unbounded && high < unbounded; }

std::vector<double> smoothest_path(std::span<const Corridor> corridor, double bend) {
  constexpr double least_half = 1;  // nanosecond
  double narrowest = unbounded;
  std::vector<Pull> pulls(corridor.size());
  const auto half = [](const Corridor& of) { return (of.high - of.low) / 2; };
  for (std::size_t i = 0; i < corridor.size(); ++i) {
    if (!corridor[i].has_both()) continue;
    const double scale = std::max(std::abs(half(corridor[i])), least_half);
    narrowest = std::min(narrowest, scale);
    pulls[i] = {corridor[i].low + half(corridor[i]), 1 / (scale * scale)};
  }
  if (narrowest == unbounded) narrowest = 1000;
  // Where nothing pulls, the straight line that is corrected: so little that it decides only what nothing else does.
  const double rest = 1e-9 / (narrowest * narrowest) + 1e-12 / (bend * bend);
  std::vector<double> path(corridor.size());
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    if (std::ranges::any_of(pulls, [](const Pull& of) { return of.weight > 0; })) path = smoothed(pulls, rest, bend);
    bool is_inside = true;
    for (std::size_t i = 0; i < corridor.size(); ++i) {
      const Corridor& of = corridor[i];
      if (of.has_both()) {
        if (std::abs(path[i] - pulls[i].target) <= std::max(half(of), 0.0) * share_of_corridor) continue;
        pulls[i].weight *= 10;
      } else {
        if (path[i] >= of.low && path[i] <= of.high) continue;
        pulls[i].target = path[i] < of.low ? of.low : of.high;
        pulls[i].weight = std::max(pulls[i].weight * 10, 1 / (narrowest * narrowest));
      }
      is_inside = false;
    }
    if (is_inside) break;
  }
  for (std::size_t i = 0; i < corridor.size(); ++i) {
    const Corridor& of = corridor[i];
    const double margin = of.has_both() ? std::max(half(of), 0.0) * (1 - share_of_corridor) : 0;
    if (of.low <= of.high) path[i] = std::clamp(path[i], of.low + margin, std::max(of.low + margin, of.high - margin));
    else path[i] = of.low + half(of);
  }
  return path;
}

ClockCorrection::ClockCorrection(std::size_t clocks, std::int64_t begin_ns, std::int64_t end_ns)
    : begin_(static_cast<double>(begin_ns)), points_(points_for(std::max<std::size_t>(clocks, 1))), clocks_(clocks) {
  const double duration = static_cast<double>(end_ns) - begin_;
  // Steps of a millisecond at least: shorter ones hold too few messages for two sides.
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

double ClockCorrection::value_at(const OfClock& of, double ns) const {
  const double place = std::clamp((ns - begin_) / step_, 0.0, static_cast<double>(points_ - 1));
  const std::size_t before = std::min(static_cast<std::size_t>(place), points_ - 2);
  return of.values[before] + (of.values[before + 1] - of.values[before]) * (place - static_cast<double>(before));
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
  // The first clock needs no correction, so the time that counts is the other one's.
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

std::vector<Corridor> ClockCorrection::corridor_of(std::uint32_t clock, bool before, bool with_errors) const {
  const OfClock& own = clocks_[clock];
  std::vector<Corridor> corridor = own.measured;
  for (const std::uint32_t other : own.others) {
    const OfClock& of = clocks_[other];
    if (before && of.order >= own.order) continue;
    const auto narrow = [&](const Ordered& pair, bool is_low) {
      const auto hulls = hulls_.find(pair);
      if (hulls == hulls_.end()) return;
      for (std::size_t i = 0; i < points_; ++i)
        for (const auto& [at, least] : hulls->second[i]) {
          const double to_point = own.values[i] - value_at(own, at), error = with_errors ? of.errors[i] : 0;
          if (is_low) corridor[i].low = std::max(corridor[i].low, value_at(of, at) + least + to_point - error);
          else corridor[i].high = std::min(corridor[i].high, value_at(of, at) - least + to_point + error);
        }
    };
    narrow({other, clock}, true);
    narrow({clock, other}, false);
  }
  return corridor;
}

/// Within a step bounds are compared along the path as it was, so each round knows better where it goes.
void ClockCorrection::place(std::uint32_t clock, bool before) {
  constexpr int rounds = 30;
  const double bend = std::max(bend_of_crystals * step_, 0.1);
  std::vector<double>& values = clocks_[clock].values;
  for (int round = 0; round < rounds; ++round) {
    values = smoothest_path(corridor_of(clock, before, false), bend);
    for (double& value : values) value = std::isfinite(value) ? std::clamp(value, -most_added, most_added) : 0;
    // Time never runs backwards.
    for (std::size_t i = 1; i < points_; ++i) values[i] = std::max(values[i], values[i - 1] - step_ / 2);
  }
}

/// Between two points the truth changes by no more than the path does where it is steepest, and what crystals bend.
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
  // First each by those that are placed already, then a few times by all of its neighbours.
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
