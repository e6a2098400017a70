#include "offline/analysis/time_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace refrain::analysis {
namespace {

using format::MetricId;
using Wide = __int128;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

std::int64_t at_least_zero(std::int64_t value) { return std::max<std::int64_t>(value, 0); }

/// Nearest integer in [low, high]; `low` for what is no number. long double holds every 64-bit integer exactly.
std::int64_t round_within(long double value, std::int64_t low, std::int64_t high) {
  if (!(value > static_cast<long double>(low))) return low;
  if (value >= static_cast<long double>(high)) return high;
  return std::clamp(static_cast<std::int64_t>(roundl(value)), low, high);
}

std::int64_t narrow(Wide value) { return static_cast<std::int64_t>(std::clamp<Wide>(value, 0, largest)); }

}  // namespace

RankConstants constants_of(const experiment::Rank& rank, const experiment::Location& location) {
  const auto cost = [&](format::OwnTime of, const experiment::Cost& calibrated) {
    const auto& measured = location.own_times[static_cast<std::size_t>(of)];
    return measured.timed > 0 ? measured.mean : calibrated.median;
  };
  return {cost(format::OwnTime::Call, rank.call_cost), cost(format::OwnTime::Tick, rank.tick_cost),
          rank.ticks_per_second > 0 ? rank.ticks_per_second : 1e9};
}

std::int64_t value_of(const experiment::Unit& unit, const experiment::PathValues& row, experiment::NodeKind kind,
                      MetricId metric) {
  if (!format::has_column(kind, format::metric_table[static_cast<std::size_t>(metric)])) return 0;
  const std::size_t at = row.first + format::column_of(metric);
  return at < unit.columns.size() ? unit.columns[at] : 0;
}

std::vector<std::int64_t> share_by_largest_remainder(std::int64_t total, std::span<const std::int64_t> weights) {
  std::vector<std::int64_t> shares(weights.size(), 0);
  unsigned __int128 sum = 0;
  for (const std::int64_t weight : weights) sum += static_cast<std::uint64_t>(at_least_zero(weight));
  if (sum == 0 || total <= 0) return shares;
  struct Remainder {
    unsigned __int128 value;
    std::size_t index;
  };
  std::vector<Remainder> remainders;
  std::int64_t left = total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const unsigned __int128 product =
        static_cast<unsigned __int128>(total) * static_cast<std::uint64_t>(at_least_zero(weights[i]));
    shares[i] = static_cast<std::int64_t>(product / sum);
    left -= shares[i];
    if (product % sum != 0) remainders.push_back({product % sum, i});
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const Remainder& a, const Remainder& b) { return a.value > b.value; });
  for (std::size_t i = 0; left > 0; ++i, --left) ++shares[remainders[i].index];  // fewer are left than have a remainder
  return shares;
}

UnitTimes apply_time_rules(const experiment::Unit& unit, std::span<const experiment::CallPath> paths,
                           const RankConstants& constants) {
  UnitTimes times;
  times.wall = at_least_zero(unit.wall);
  if (unit.loop < 0 && unit.cluster == format::stopped_unit) {
    times.stopped = times.wall;
    return times;
  }
  times.mpi = std::clamp<std::int64_t>(unit.mpi, 0, times.wall);
  const long double ticks = static_cast<long double>(at_least_zero(unit.ticks_user)) +
                            static_cast<long double>(at_least_zero(unit.ticks_mpi)) +
                            static_cast<long double>(at_least_zero(unit.ticks_lost));
  const long double calls = static_cast<long double>(at_least_zero(unit.mpi_calls));
  const long double own = static_cast<long double>(at_least_zero(unit.own));
  times.refrain =
      round_within(own + calls * constants.call_cost + ticks * constants.tick_cost, 0, times.wall - times.mpi);
  times.user = times.wall - times.mpi - times.refrain;

  std::vector<std::int64_t> user_weights, mpi_times;
  for (const experiment::PathValues& row : unit.values) {
    const experiment::NodeKind kind = paths[row.path].kind;
    if (const auto time = value_of(unit, row, kind, MetricId::Time); time > 0) {
      times.mpi_paths.push_back({row.path, 0});
      mpi_times.push_back(time);
    } else if (const auto weight = value_of(unit, row, kind, MetricId::Weight); weight > 0) {
      times.user_paths.push_back({row.path, 0});
      user_weights.push_back(weight);
    }
  }

  // MPI paths carry their own times; only damaged data does not add up to the unit's.
  const Wide mpi_sum = std::accumulate(mpi_times.begin(), mpi_times.end(), Wide{0});
  if (mpi_sum > times.mpi) mpi_times = share_by_largest_remainder(times.mpi, mpi_times);
  times.mpi_no_path = mpi_sum > times.mpi ? 0 : times.mpi - narrow(mpi_sum);
  for (std::size_t i = 0; i < mpi_times.size(); ++i) times.mpi_paths[i].ticks = mpi_times[i];

  const Wide path_weight = std::accumulate(user_weights.begin(), user_weights.end(), Wide{0});
  const std::int64_t user_weight = narrow(std::max<Wide>(path_weight, unit.weight_user_ns));
  const std::int64_t mpi_weight = at_least_zero(unit.weight_mpi_ns);
  const std::int64_t cpu =
      round_within(static_cast<long double>(unit.cpu_ns) * constants.ticks_per_second / 1e9L, 0, largest);
  times.cpu = cpu;
  const Wide wall_beyond_cpu = Wide{times.wall} - cpu;
  times.not_on_cpu_low = std::min(narrow(wall_beyond_cpu - times.mpi), times.user);
  times.not_on_cpu_high = std::max(std::min(narrow(wall_beyond_cpu), times.user), times.not_on_cpu_low);
  // Without ticks the CPU time is divided as the wall time is.
  const long double weights = static_cast<long double>(user_weight) + mpi_weight;
  const long double wall_parts = static_cast<long double>(times.user) + times.mpi;
  const long double user_part = weights > 0 ? user_weight / weights : wall_parts > 0 ? times.user / wall_parts : 0;
  // Own work is CPU time of neither.
  const std::int64_t cpu_of_both = std::max<std::int64_t>(cpu - times.refrain, 0);
  times.not_on_cpu = round_within(times.user - cpu_of_both * user_part, times.not_on_cpu_low, times.not_on_cpu_high);

  const std::int64_t on_cpu = times.user - times.not_on_cpu;
  if (user_weight == 0) {
    times.no_sample = on_cpu;
    return times;
  }
  user_weights.push_back(narrow(user_weight - path_weight));
  const auto shares = share_by_largest_remainder(on_cpu, user_weights);
  for (std::size_t i = 0; i < times.user_paths.size(); ++i) times.user_paths[i].ticks = shares[i];
  times.no_path = shares.back();
  return times;
}

double standard_error_of_share(double share, double weight_sum, double weight_squares) {
  if (!(weight_sum > 0) || !(weight_squares > 0) || !(share > 0) || share >= 1) return 0;
  const double samples = weight_sum * weight_sum / weight_squares;
  return std::sqrt(share * (1 - share) / samples);
}

}  // namespace refrain::analysis
