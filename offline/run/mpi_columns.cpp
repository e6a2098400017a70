// The values of the MPI call paths in one iteration: IterationProfiles::mpi_column().
#include <algorithm>
#include <cmath>

#include "offline/run/iteration_model.hpp"
#include "offline/run/reconstruct.hpp"

namespace refrain::run {

namespace {

/// Below this, the error of a share of the total in floating point is much less than 1.
constexpr double most_in_floating_point = 0x1p48;

/// format::share_out() in floating point. False: that is not possible.
bool share_in_floating_point(std::int64_t total, std::span<const double> values, std::span<std::int64_t> out,
                             std::span<format::Remainder> room) {
  double sum = 0;
  for (const double value : values) sum += std::max(value, 0.0);
  const double factor = static_cast<double>(total) / sum;
  if (!(factor > 0) || !std::isfinite(factor) || static_cast<double>(total) > most_in_floating_point) return false;
  std::int64_t left = total;
  std::size_t remainders = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = std::max(values[i], 0.0) * factor;
    out[i] = static_cast<std::int64_t>(share);
    left -= out[i];
    if (const double rest = share - static_cast<double>(out[i]); rest > 0)
      room[remainders++] = {static_cast<std::uint64_t>(rest * 0x1p53), i};
  }
  if (left < 0 || left > static_cast<std::int64_t>(remainders)) return false;
  const std::span<format::Remainder> found = room.first(remainders);
  const auto rounded_up = found.begin() + left;
  std::nth_element(found.begin(), rounded_up, found.end(), [](const format::Remainder& a, const format::Remainder& b) {
    return a.value != b.value ? a.value > b.value : a.index < b.index;
  });
  for (auto at = found.begin(); at != rounded_up; ++at) ++out[at->index];
  return true;
}

}  // namespace

void iteration_values::round_to_total(std::int64_t total, std::span<const double> values,
                                      std::vector<std::int64_t>& out, std::vector<format::Remainder>& room) {
  out.resize(values.size());
  if (room.size() <= out.size()) room.resize(out.size() + 1);
  if (share_in_floating_point(total, values, out, room)) return;
  const double largest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  const double scale = largest > 0 ? 0x1p61 / largest : 0;
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = static_cast<std::int64_t>(std::max(values[i], 0.0) * scale);
  format::share_out(total, out, 0, room);
}

/// MPI time of the iteration by the time rules.
std::int64_t IterationProfiles::mpi_ticks(std::int32_t cluster, std::span<const std::int64_t> row) const {
  return format::user_times(sums_for_undivided_times(cluster, row), constants_).mpi;
}

/// Estimates each call path separately, into estimates_, never negative. Returns the sum of the estimates.
double IterationProfiles::estimate_column(const Model& model, std::size_t column, std::int32_t cluster,
                                          std::span<const std::int64_t> row) const {
  const int logged = columns_.of_path(column);
  ReconstructionInput in;
  in.members = static_cast<std::uint64_t>(members(cluster));
  in.overall_sum = model.overall_sum[column];
  in.overall_value = logged < 0 ? 0 : static_cast<double>(row[static_cast<std::size_t>(logged)]);
  in.scales = logged >= 0;
  in.has_slope = true;
  in.integral = false;
  if (const int second = model.second[column]; second >= 0) {
    in.second_overall_sum = model.overall_sum[static_cast<std::size_t>(second)];
    in.second_overall_value =
        static_cast<double>(row[static_cast<std::size_t>(columns_.of_path(static_cast<std::size_t>(second)))]);
  }
  double sum = 0;
  estimates_.resize(model.regions.size());
  for (std::size_t i = 0; i < model.regions.size(); ++i) {
    const Model::Region& region = model.regions[i];
    in.sum = region.sum[column];
    in.slope = region.slope[column];
    in.second_slope = region.second_slope[column];
    sum += estimates_[i] = std::max(0.0, reconstruct(in));
  }
  if (sum <= 0)  // slopes learned from few iterations may make all values negative
    for (std::size_t i = 0; i < model.regions.size(); ++i)
      estimates_[i] = std::max(0.0, static_cast<double>(model.regions[i].sum[column]));
  return sum;
}

/// The sum over the call paths of the cluster in the iteration: the total without the part of lost call paths.
std::int64_t IterationProfiles::total_of_paths(const Model& model, std::size_t column, std::int32_t cluster,
                                               std::span<const std::int64_t> row, double estimated) const {
  const int logged = columns_.of_path(column);
  const bool is_time = column == time_column;
  const std::int64_t whole = is_time      ? mpi_ticks(cluster, row)
                             : logged < 0 ? iteration_values::to_count(estimated)
                                          : row[static_cast<std::size_t>(logged)];
  const std::int64_t of_paths = model.path_sum[column], overall = model.overall_sum[column];
  if (of_paths == overall || overall == 0) return whole;
  const std::int64_t total = iteration_values::to_count(static_cast<double>(whole) * static_cast<double>(of_paths) /
                                                        static_cast<double>(overall));
  return is_time ? std::min(total, whole) : total;
}

std::span<const std::int64_t> IterationProfiles::mpi_column(std::size_t column, std::int32_t cluster,
                                                            std::span<const std::int64_t> row) const {
  const Model& model = this->model(cluster);
  if (model.regions.empty()) return {};
  const double estimated = estimate_column(model, column, cluster, row);
  const std::int64_t total = total_of_paths(model, column, cluster, row, estimated);
  iteration_values::round_to_total(total, estimates_, mpi_column_, room_);
  return mpi_column_;
}

}  // namespace refrain::run
