#include "offline/explorer/loop_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace refrain::explorer {
namespace {

constexpr float not_known = std::numeric_limits<float>::quiet_NaN();

/// Size of groups so that `count` items make at most `most` groups.
std::int64_t width_for(std::int64_t count, std::size_t most) {
  const auto limit = static_cast<std::int64_t>(std::max<std::size_t>(most, 1));
  return std::max<std::int64_t>((count + limit - 1) / limit, 1);
}
std::size_t groups_of(std::int64_t count, std::int64_t width) {
  return static_cast<std::size_t>(std::max<std::int64_t>((count + width - 1) / width, 1));
}

}  // namespace

Bins::Bins(std::int64_t iterations, std::size_t most)
    : width(width_for(iterations, most)), count(groups_of(iterations, width)) {}

BinnedPlace::BinnedPlace(const Bins& bins) : sum(bins.count), count(bins.count), peak(bins.count, not_known) {}

CurveBuilder::CurveBuilder(const Bins& bins, std::size_t places)
    : bins_(bins), places_(places), means_(bins.count * places, not_known), peak_(bins.count, not_known) {}

void CurveBuilder::add(const BinnedPlace& place, double weight) {
  if (place_ >= places_) return;
  for (std::size_t bin = 0; bin < bins_.count; ++bin) {
    if (place.count[bin] == 0) continue;
    means_[bin * places_ + place_] = static_cast<float>(place.sum[bin] / static_cast<double>(place.count[bin]));
    if (!(peak_[bin] >= place.peak[bin])) peak_[bin] = place.peak[bin];
  }
  weights_.push_back(weight);
  is_weighted_ = is_weighted_ || weight != weights_[0];
  ++place_;
}

/// The smallest value such that more than half of the weight is at or below it.
float CurveBuilder::median_of(std::size_t bin) {
  const auto begin = means_.begin() + static_cast<std::ptrdiff_t>(bin * places_);
  if (!is_weighted_) {
    const auto end =
        std::remove_if(begin, begin + static_cast<std::ptrdiff_t>(place_), [](float v) { return std::isnan(v); });
    if (begin == end) return not_known;
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    return *middle;
  }
  std::vector<std::pair<float, double>> values;
  double all = 0;
  for (std::size_t place = 0; place < place_; ++place)
    if (const float value = begin[static_cast<std::ptrdiff_t>(place)]; !std::isnan(value)) {
      values.emplace_back(value, weights_[place]);
      all += weights_[place];
    }
  std::ranges::sort(values);
  double below = 0;
  for (const auto& [value, weight] : values)
    if ((below += weight) > all / 2) return value;
  return not_known;
}

Curves CurveBuilder::finish() {
  Curves curves;
  curves.width = bins_.width;
  curves.places = static_cast<std::int64_t>(place_);
  curves.peak = std::move(peak_);
  for (std::size_t bin = 0; bin < bins_.count; ++bin) {
    float least = not_known, greatest = not_known;
    for (std::size_t place = 0; place < place_; ++place) {
      const float value = means_[bin * places_ + place];
      if (std::isnan(value)) continue;
      if (!(least <= value)) least = value;
      if (!(greatest >= value)) greatest = value;
    }
    curves.least.push_back(least);
    curves.greatest.push_back(greatest);
    curves.median.push_back(median_of(bin));
  }
  return curves;
}

MapBuilder::MapBuilder(const Bins& columns, std::size_t places, std::size_t most_rows, unsigned code_step)
    : columns_(columns),
      code_step_(code_step),
      places_in_row_(width_for(static_cast<std::int64_t>(places), most_rows)),
      rows_(groups_of(static_cast<std::int64_t>(places), places_in_row_)),
      sum_(rows_ * columns.count),
      peak_(rows_ * columns.count, not_known),
      count_(rows_ * columns.count) {}

void MapBuilder::add(std::size_t place, const BinnedPlace& values) {
  const std::size_t row = place / static_cast<std::size_t>(places_in_row_);
  if (row >= rows_) return;
  for (std::size_t column = 0; column < columns_.count; ++column) {
    if (values.count[column] == 0) continue;
    const std::size_t cell = row * columns_.count + column;
    sum_[cell] += static_cast<float>(values.sum[column]);
    count_[cell] += static_cast<std::uint32_t>(values.count[column]);
    if (!(peak_[cell] >= values.peak[column])) peak_[cell] = values.peak[column];
  }
}

Map MapBuilder::finish() {
  Map map;
  map.rows = static_cast<std::int64_t>(rows_);
  map.columns = static_cast<std::int64_t>(columns_.count);
  map.places_in_row = places_in_row_;
  map.width = columns_.width;
  map.code_step = code_step_;
  map.mean = std::move(sum_);
  for (std::size_t cell = 0; cell < map.mean.size(); ++cell)
    map.mean[cell] = count_[cell] > 0 ? map.mean[cell] / static_cast<float>(count_[cell]) : not_known;
  if (columns_.width > 1 || places_in_row_ > 1) map.peak = std::move(peak_);
  return map;
}

JobBuilder::JobBuilder(std::int64_t iterations)
    : groups_(iterations, std::size_t{1} << 18),
      sums_(groups_.count),
      count_(groups_.count),
      places_of_(groups_.count),
      peaks_(groups_.count) {}

void JobBuilder::Times::add(double wall_s, double mpi_s, double user_s, std::int64_t place_in_group) {
  if (!std::isfinite(wall_s)) return;
  if (const auto single = static_cast<float>(wall_s); count == 0 || single > peak) {
    peak = single;
    place_of_peak = static_cast<std::uint32_t>(place_in_group);
  }
  wall += wall_s;
  if (std::isfinite(mpi_s)) mpi += mpi_s;
  if (std::isfinite(user_s)) user += user_s;
  ++count;
}

void JobBuilder::add_place(std::uint64_t place, std::span<const Times> times) {
  const analysis::PlaceSigns signs(place);
  signs_ += signs;
  ++places_;
  for (std::size_t group = 0; group < std::min(times.size(), groups_.count); ++group) {
    const Times& of = times[group];
    if (of.count == 0) continue;
    analysis::JobIteration& to = sums_[group];
    to.wall += of.wall;
    to.mpi += of.mpi;
    to.user += of.user;
    const auto count = static_cast<double>(of.count);
    to.slowest = std::max(to.slowest, of.wall / count);
    signs.add(of.wall / count, of.mpi / count, of.user / count, to.differences);
    count_[group] += of.count;
    ++places_of_[group];
    if (of.peak > peaks_[group].wall) peaks_[group] = {of.peak, of.place_of_peak};
  }
}

void JobBuilder::add(const JobBuilder& others) {
  signs_ += others.signs_;
  places_ += others.places_;
  for (std::size_t group = 0; group < groups_.count; ++group) {
    const analysis::JobIteration& of = others.sums_[group];
    analysis::JobIteration& to = sums_[group];
    to.wall += of.wall;
    to.mpi += of.mpi;
    to.user += of.user;
    to.slowest = std::max(to.slowest, of.slowest);
    for (std::size_t i = 0; i < analysis::projections; ++i) to.differences[i] += of.differences[i];
    count_[group] += others.count_[group];
    places_of_[group] += others.places_of_[group];
    if (others.peaks_[group].wall > peaks_[group].wall) peaks_[group] = others.peaks_[group];
  }
}

JobIterations JobBuilder::finish() {
  std::vector<std::int64_t> of_peaks;
  for (std::size_t group = 0; group < sums_.size(); ++group) {
    analysis::JobIteration& of = sums_[group];
    const auto count = static_cast<double>(count_[group]);
    if (count > 0) of.wall /= count, of.mpi /= count, of.user /= count;
    else of.wall = std::numeric_limits<double>::quiet_NaN();
    if (places_of_[group] == places_) analysis::set_differences(of, signs_, places_);
    else of.differences.fill(std::numeric_limits<float>::quiet_NaN());
    const auto first = static_cast<std::int64_t>(group) * groups_.width;
    of_peaks.push_back(count > 0 ? first + peaks_[group].place : -1);
  }
  return {groups_.width, std::move(sums_), std::move(count_), std::move(of_peaks)};
}

}  // namespace refrain::explorer
