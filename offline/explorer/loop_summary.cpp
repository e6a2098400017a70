#include "offline/explorer/loop_summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace refrain::explorer {
namespace {

constexpr float not_known = std::numeric_limits<float>::quiet_NaN();

/// How many are put together so that there are at most `most`.
std::int64_t width_for(std::int64_t count, std::size_t most) {
  const auto limit = static_cast<std::int64_t>(std::max<std::size_t>(most, 1));
  return std::max<std::int64_t>((count + limit - 1) / limit, 1);
}
std::size_t groups_of(std::int64_t count, std::int64_t width) {
  return static_cast<std::size_t>(std::max<std::int64_t>((count + width - 1) / width, 1));
}

}  // namespace

CurveBuilder::CurveBuilder(std::int64_t iterations, std::size_t places, std::size_t most_bins)
    : width_(width_for(iterations, most_bins)),
      bins_(groups_of(iterations, width_)),
      places_(places),
      sum_(bins_),
      count_(bins_),
      means_(bins_ * places, not_known),
      peak_(bins_, not_known) {}

void CurveBuilder::add(std::int64_t iteration, double value) {
  const auto bin = static_cast<std::size_t>(iteration / width_);
  if (iteration < 0 || bin >= bins_ || !std::isfinite(value)) return;
  sum_[bin] += value;
  ++count_[bin];
  const auto single = static_cast<float>(value);
  if (!(peak_[bin] >= single)) peak_[bin] = single;
}

void CurveBuilder::end_place() {
  for (std::size_t bin = 0; bin < bins_ && place_ < places_; ++bin)
    if (count_[bin] > 0)
      means_[bin * places_ + place_] = static_cast<float>(sum_[bin] / static_cast<double>(count_[bin]));
  ++place_;
  std::ranges::fill(sum_, 0);
  std::ranges::fill(count_, 0);
}

Curves CurveBuilder::finish() {
  Curves curves;
  curves.width = width_;
  curves.peak = std::move(peak_);
  for (std::size_t bin = 0; bin < bins_; ++bin) {
    const auto begin = means_.begin() + static_cast<std::ptrdiff_t>(bin * places_);
    const auto end =
        std::remove_if(begin, begin + static_cast<std::ptrdiff_t>(places_), [](float v) { return std::isnan(v); });
    if (begin == end) {
      for (auto* values : {&curves.least, &curves.median, &curves.greatest}) values->push_back(not_known);
      continue;
    }
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end);
    curves.median.push_back(*middle);
    curves.least.push_back(*std::min_element(begin, end));
    curves.greatest.push_back(*std::max_element(begin, end));
  }
  return curves;
}

MapBuilder::MapBuilder(std::int64_t iterations, std::size_t places, std::size_t most_rows, std::size_t most_columns)
    : width_(width_for(iterations, most_columns)),
      places_in_row_(width_for(static_cast<std::int64_t>(places), most_rows)),
      rows_(groups_of(static_cast<std::int64_t>(places), places_in_row_)),
      columns_(groups_of(iterations, width_)),
      sum_(rows_ * columns_),
      peak_(rows_ * columns_),
      count_(rows_ * columns_) {}

void MapBuilder::add(std::size_t place, std::int64_t iteration, double value) {
  const std::size_t row = place / static_cast<std::size_t>(places_in_row_);
  const auto column = static_cast<std::size_t>(iteration / width_);
  if (iteration < 0 || row >= rows_ || column >= columns_ || !std::isfinite(value)) return;
  const std::size_t cell = row * columns_ + column;
  sum_[cell] += static_cast<float>(value);
  ++count_[cell];
  peak_[cell] = std::max(peak_[cell], static_cast<float>(value));
}

Map MapBuilder::finish() {
  Map map;
  map.rows = static_cast<std::int64_t>(rows_);
  map.columns = static_cast<std::int64_t>(columns_);
  map.places_in_row = places_in_row_;
  map.width = width_;
  map.mean = std::move(sum_);
  for (std::size_t cell = 0; cell < map.mean.size(); ++cell)
    if (count_[cell] > 0) map.mean[cell] /= static_cast<float>(count_[cell]);
  if (width_ > 1 || places_in_row_ > 1) map.peak = std::move(peak_);
  return map;
}

JobBuilder::JobBuilder(std::int64_t iterations)
    : width_(width_for(iterations, std::size_t{1} << 18)),
      sums_(groups_of(iterations, width_)),
      count_(sums_.size()),
      of_place_(sums_.size()),
      of_place_count_(sums_.size()) {}

void JobBuilder::close_place() {
  for (std::size_t group = 0; group < sums_.size(); ++group)
    if (of_place_count_[group] > 0)
      sums_[group].slowest = std::max(sums_[group].slowest, of_place_[group] / of_place_count_[group]);
  std::ranges::fill(of_place_, 0);
  std::ranges::fill(of_place_count_, 0);
}

void JobBuilder::add(std::size_t place, std::int64_t iteration, double wall, double mpi, double user) {
  const auto group = static_cast<std::size_t>(iteration / width_);
  if (iteration < 0 || group >= sums_.size() || !std::isfinite(wall)) return;
  if (place != last_place_) close_place();
  last_place_ = place;
  sums_[group].wall += wall;
  if (std::isfinite(mpi)) sums_[group].mpi += mpi;
  if (std::isfinite(user)) sums_[group].user += user;
  ++count_[group];
  of_place_[group] += wall;
  ++of_place_count_[group];
}

std::vector<analysis::JobIteration> JobBuilder::finish() {
  close_place();
  for (std::size_t group = 0; group < sums_.size(); ++group) {
    analysis::JobIteration& of = sums_[group];
    if (count_[group] > 0) of.wall /= count_[group], of.mpi /= count_[group], of.user /= count_[group];
    else of.wall = std::numeric_limits<double>::quiet_NaN();
  }
  return std::move(sums_);
}

}  // namespace refrain::explorer
