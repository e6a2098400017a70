#pragma once
/// The time rules: how the wall time of a leaf unit, and a metric that the user has asked for, are divided exactly
/// among its call paths (docs/architecture.md). For both halves: the runtime writes the results for a whole run, the
/// offline half applies the rules to clusters and iterations. Both must come to the same integers.
///
/// Pure functions that allocate nothing: the caller provides the room. Call paths take part by values in a reproducible
/// order; if two have equal claims on a leftover tick, the earlier one gets it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "format/metrics.hpp"
#include "format/own_times.hpp"

namespace refrain::format {

/// The times of a unit, or sums of them, in ticks. Whatever the input, all are non-negative, and
///   wall = mpi + refrain + user + stopped,  user = not_on_cpu + no_sample + no_path + sum of user paths,
///   mpi = mpi_no_path + sum of MPI paths
/// hold to the tick.
struct UnitTimes {
  std::int64_t wall = 0, mpi = 0, refrain = 0, user = 0;
  std::int64_t cpu = 0;      ///< CPU time, in user code and MPI
  std::int64_t stopped = 0;  ///< by MPI_Pcontrol: nothing else is known about it
  std::int64_t not_on_cpu = 0;
  std::int64_t not_on_cpu_low = 0, not_on_cpu_high = 0;  ///< certain bounds of not_on_cpu; equal if it was counted
  /// The parts of not_on_cpu, if that was counted; otherwise both are 0.
  std::int64_t waited = 0;       ///< ready to run, waiting for a core
  std::int64_t blocked = 0;      ///< in the kernel: sleep, locks, files, page faults, stops
  std::int64_t no_sample = 0;    ///< on the CPU, but no tick tells where
  std::int64_t no_path = 0;      ///< on the CPU, according to ticks whose call path was lost
  std::int64_t mpi_no_path = 0;  ///< in MPI, but at no call path

  inline UnitTimes& operator+=(const UnitTimes& other);
};

/// The times of a unit, by their names in the file.
struct TimeColumn {
  const char* name;
  std::int64_t UnitTimes::*time;
};
inline constexpr TimeColumn time_columns[] = {{"wall", &UnitTimes::wall},
                                              {"mpi", &UnitTimes::mpi},
                                              {"refrain", &UnitTimes::refrain},
                                              {"user", &UnitTimes::user},
                                              {"cpu", &UnitTimes::cpu},
                                              {"stopped", &UnitTimes::stopped},
                                              {"not_on_cpu", &UnitTimes::not_on_cpu},
                                              {"not_on_cpu_low", &UnitTimes::not_on_cpu_low},
                                              {"not_on_cpu_high", &UnitTimes::not_on_cpu_high},
                                              {"waited_for_core", &UnitTimes::waited},
                                              {"blocked", &UnitTimes::blocked},
                                              {"no_sample", &UnitTimes::no_sample},
                                              {"no_path", &UnitTimes::no_path},
                                              {"mpi_no_path", &UnitTimes::mpi_no_path}};
inline constexpr std::size_t time_count = sizeof time_columns / sizeof *time_columns;
static_assert(sizeof(UnitTimes) == time_count * sizeof(std::int64_t), "each of them has a name");

UnitTimes& UnitTimes::operator+=(const UnitTimes& other) {
  for (const auto& column : time_columns) this->*column.time += other.*column.time;
  return *this;
}

/// What the rules need to know about the location: the mean costs of its calls and ticks.
struct TimeConstants {
  double call_cost = 0;  ///< ticks of bookkeeping per MPI call
  double tick_cost = 0;  ///< ... per timer tick
  double ticks_per_second = 1e9;
  bool off_cpu_is_counted = false;    ///< UnitTotals::off_mpi_ns is valid
  bool run_delay_is_counted = false;  ///< UnitTotals::waited_ns is valid, too
};
/// The mean cost that the location has timed itself; if it has timed none, that of the rank's calibration.
constexpr double cost_of(const OwnTimeMean& measured, double calibrated) {
  return measured.timed > 0 ? measured.mean : calibrated;
}

/// column_of() of every metric.
inline constexpr auto column_indices = [] {
  std::array<std::size_t, metric_count> indices{};
  for (std::size_t i = 0; i < metric_count; ++i) indices[i] = column_of(static_cast<MetricId>(i));
  return indices;
}();
/// Value of `metric` in the columns of a call path; 0 if its kind of path does not have the metric.
constexpr std::int64_t value_of(NodeKind kind, std::span<const std::int64_t> columns, MetricId metric) {
  const std::size_t column = column_indices[static_cast<std::size_t>(metric)];
  return has_column(kind, row_of(metric)) && column < columns.size() ? columns[column] : 0;
}

/// What a call path claims in the division of a unit: its MPI time, or the weight of its samples.
struct PathClaim {
  enum Of : std::uint8_t { Nothing, Mpi, User } of;
  std::int64_t value;
};
constexpr PathClaim claim_of(NodeKind kind, std::span<const std::int64_t> columns) {
  if (const auto time = value_of(kind, columns, MetricId::Time); time > 0) return {PathClaim::Mpi, time};
  if (const auto weight = value_of(kind, columns, MetricId::Weight); weight > 0) return {PathClaim::User, weight};
  return {PathClaim::Nothing, 0};
}

/// Whether ticks may end at call paths of this kind.
constexpr bool is_sampled(NodeKind kind) { return kind == NodeKind::Function || kind == NodeKind::Special; }

/// Whether this is the time for which the program stopped the measurement: it is not divided (stopped_times()).
constexpr bool is_stopped(std::int32_t loop, std::int32_t cluster) { return loop < 0 && cluster == stopped_unit; }

namespace time_rules {

using Wide = __int128;
inline constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

constexpr std::int64_t at_least_zero(std::int64_t value) { return std::max<std::int64_t>(value, 0); }
constexpr std::int64_t narrow(Wide value) { return static_cast<std::int64_t>(std::clamp<Wide>(value, 0, largest)); }
constexpr Wide sum_of(std::span<const std::int64_t> values) {
  Wide sum = 0;
  for (const std::int64_t value : values) sum += value;
  return sum;
}

/// `value` with `bits` binary digits behind the point; 0 for a negative value or a NaN, 2^62 for one that is too large.
/// Times are divided by integer arithmetic: no product is rounded, and both halves come to the same result, whatever
/// the floating-point environment.
constexpr std::int64_t fixed_point(double value, int bits) {
  constexpr double limit = 0x1p62;
  const double scaled = value * static_cast<double>(std::int64_t{1} << bits);
  if (!(scaled > 0)) return 0;
  return static_cast<std::int64_t>(scaled < limit ? scaled : limit);
}
/// The integer nearest to numerator / denominator, which must not be negative; halves are rounded up.
constexpr Wide nearest(Wide numerator, Wide denominator) {
  const Wide whole = numerator / denominator, rest = numerator - whole * denominator;
  return whole + (rest >= denominator - rest);
}

inline constexpr int bits_of_cost = 36;  ///< for costs up to 2^26 ticks
inline constexpr int bits_of_rate = 28;  ///< for rates up to 2^34 Hz

/// Converts nanoseconds to ticks of a rate that is fixed_point(rate, bits_of_rate), rounded like nearest(). The factors
/// of two in the divisor are shifted out first, so that the division mostly needs no more than 64 bits.
constexpr Wide nearest_ticks(std::int64_t ns, std::int64_t rate) {
  constexpr int twos = 9 + bits_of_rate;
  constexpr std::uint64_t others = 1'953'125;  // 10^9 / 2^9
  constexpr Wide divisor = Wide{others} << twos;
  const Wide shifted = (Wide{ns} * rate + divisor / 2) >> twos;
  if (shifted >> 64 == 0) return static_cast<std::uint64_t>(shifted) / others;
  return shifted / others;
}

}  // namespace time_rules

/// Working memory of share_out(), one for each part.
struct Remainder {
  unsigned __int128 value;
  std::size_t index;
};

/// Shares `total` in proportion to `parts` and `rest` (negative ones count as 0), into integers >= 0 that add up to it:
/// the largest remainders are rounded up; among equal ones the earlier come first, and `rest` last. All shares are 0 if
/// no part is positive, or `total` is not. The shares replace `parts`; returns that of `rest`. `room` needs an
/// element for each part and one for the rest.
inline std::int64_t share_out(std::int64_t total, std::span<std::int64_t> parts, std::int64_t rest,
                              std::span<Remainder> room) {
  using Unsigned = unsigned __int128;
  const auto size_of = [](std::int64_t part) { return static_cast<std::uint64_t>(time_rules::at_least_zero(part)); };
  Unsigned sum = size_of(rest);
  for (const std::int64_t part : parts) sum += size_of(part);
  if (sum == 0 || total <= 0) {
    std::fill(parts.begin(), parts.end(), 0);
    return 0;
  }
  std::int64_t left = total;
  std::size_t remainders = 0;
  const auto share_of = [&](std::int64_t part, std::size_t index) {
    const Unsigned product = static_cast<Unsigned>(total) * size_of(part);
    const Unsigned share = product / sum, remainder = product - share * sum;
    left -= static_cast<std::int64_t>(share);
    if (remainder != 0) room[remainders++] = {remainder, index};
    return static_cast<std::int64_t>(share);
  };
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = share_of(parts[i], i);
  rest = share_of(rest, parts.size());
  const std::span<Remainder> found = room.first(remainders);
  const auto rounded_up = found.begin() + left;  // `left` is less than the number of remainders
  std::nth_element(found.begin(), rounded_up, found.end(), [](const Remainder& a, const Remainder& b) {
    return a.value != b.value ? a.value > b.value : a.index < b.index;
  });
  for (auto at = found.begin(); at != rounded_up; ++at) ++(at->index < parts.size() ? parts[at->index] : rest);
  return rest;
}

/// The times of the unit for which the measurement was stopped.
inline UnitTimes stopped_times(const UnitTotals& unit) {
  UnitTimes times;
  times.wall = times.stopped = time_rules::at_least_zero(unit.wall);
  return times;
}

/// The inputs of undivided_times().
inline constexpr std::int64_t UnitTotals::*inputs_of_undivided_times[] = {
    &UnitTotals::wall,       &UnitTotals::mpi,       &UnitTotals::own,        &UnitTotals::mpi_calls,
    &UnitTotals::ticks_user, &UnitTotals::ticks_mpi, &UnitTotals::ticks_lost, &UnitTotals::cpu_ns,
    &UnitTotals::waited_ns,  &UnitTotals::off_mpi_ns};

/// Wall, MPI, own and user time of any other leaf unit, as undivided_times() computes them; nothing else.
inline UnitTimes user_times(const UnitTotals& unit, const TimeConstants& constants) {
  using namespace time_rules;
  UnitTimes times;
  times.wall = at_least_zero(unit.wall);
  times.mpi = std::clamp<std::int64_t>(unit.mpi, 0, times.wall);
  const std::int64_t ticks =
      narrow(Wide{at_least_zero(unit.ticks_user)} + at_least_zero(unit.ticks_mpi) + at_least_zero(unit.ticks_lost));
  const Wide cost = Wide{at_least_zero(unit.mpi_calls)} * fixed_point(constants.call_cost, bits_of_cost) +
                    Wide{ticks} * fixed_point(constants.tick_cost, bits_of_cost);
  const Wide own = at_least_zero(unit.own) + nearest(cost, Wide{1} << bits_of_cost);
  times.refrain = std::min(narrow(own), times.wall - times.mpi);
  times.user = times.wall - times.mpi - times.refrain;
  return times;
}

/// The times of any other leaf unit that need no samples: wall, MPI, own and user time, CPU time, and the bounds of the
/// time off the CPU. Input that no run can give (mpi > wall, negative times, ...) is clamped.
inline UnitTimes undivided_times(const UnitTotals& unit, const TimeConstants& constants) {
  using namespace time_rules;
  UnitTimes times = user_times(unit, constants);
  const std::int64_t rate = fixed_point(constants.ticks_per_second, bits_of_rate);
  const auto ticks_of = [&](std::int64_t ns) { return narrow(nearest_ticks(at_least_zero(ns), rate)); };
  times.cpu = ticks_of(unit.cpu_ns);
  const Wide wall_beyond_cpu = Wide{times.wall} - times.cpu;
  if (constants.off_cpu_is_counted) {
    const std::int64_t off_mpi = std::min(ticks_of(unit.off_mpi_ns), times.mpi);
    times.not_on_cpu_low = std::min(narrow(wall_beyond_cpu - off_mpi), times.user);
    times.not_on_cpu_high = times.not_on_cpu_low;
    if (!constants.run_delay_is_counted) return times;
    times.waited = std::min(ticks_of(unit.waited_ns), times.not_on_cpu_low);
    times.blocked = times.not_on_cpu_low - times.waited;
    return times;
  }
  times.not_on_cpu_low = std::min(narrow(wall_beyond_cpu - times.mpi), times.user);
  times.not_on_cpu_high = std::max(std::min(narrow(wall_beyond_cpu), times.user), times.not_on_cpu_low);
  return times;
}

/// Divides any other leaf unit. `mpi` and `user` are the claims of its call paths, all positive; the ticks that they
/// get replace them. `room` needs one element more than the longer of the two. Input that no run can give (mpi > wall,
/// negative times, ...) is clamped.
inline UnitTimes divide_unit(const UnitTotals& unit, const TimeConstants& constants, std::span<std::int64_t> mpi,
                             std::span<std::int64_t> user, std::span<Remainder> room) {
  using namespace time_rules;
  UnitTimes times = undivided_times(unit, constants);

  // MPI paths have times of their own, which exceed the unit's only in damaged data.
  const Wide mpi_sum = sum_of(mpi);
  if (mpi_sum > times.mpi) share_out(times.mpi, mpi, 0, room);
  times.mpi_no_path = mpi_sum > times.mpi ? 0 : times.mpi - narrow(mpi_sum);

  const Wide path_weight = sum_of(user);
  const std::int64_t user_weight = narrow(std::max<Wide>(path_weight, unit.weight_user_ns));
  const std::int64_t mpi_weight = at_least_zero(unit.weight_mpi_ns);
  // Without ticks the CPU time is divided like the wall time.
  const Wide weights = Wide{user_weight} + mpi_weight;
  const Wide of_user = weights > 0 ? user_weight : times.user;
  const Wide of_both = weights > 0 ? weights : std::max<Wide>(Wide{times.user} + times.mpi, 1);
  // Refrain's own work is CPU time of neither.
  const std::int64_t cpu_of_both = std::max<std::int64_t>(times.cpu - times.refrain, 0);
  // The user's part of the CPU time, with halves rounded down, so that the rest of the user's time is rounded up.
  const Wide user_cpu = cpu_of_both * of_user, whole = user_cpu / of_both, rest = user_cpu - whole * of_both;
  times.not_on_cpu =
      std::clamp(narrow(times.user - whole - (rest > of_both - rest)), times.not_on_cpu_low, times.not_on_cpu_high);

  const std::int64_t on_cpu = times.user - times.not_on_cpu;
  if (user_weight == 0) times.no_sample = on_cpu;
  else times.no_path = share_out(on_cpu, user, narrow(user_weight - path_weight), room);
  return times;
}

/// Divides the total of an extra metric of a unit. `mpi`: the counts inside its MPI functions; `user`: the counts that
/// ticks have found at its sampled call paths, or if they have found none, the weights of these paths. All are
/// positive; the shares replace them. Returns the part of no call path: counts in user code for which no tick tells
/// where. `total` must be >= 0; `room` as in divide_unit().
inline std::int64_t divide_extra(std::int64_t total, std::span<std::int64_t> mpi, std::span<std::int64_t> user,
                                 std::span<Remainder> room) {
  using namespace time_rules;
  if (sum_of(mpi) > total) share_out(total, mpi, 0, room);  // damaged data only
  const std::int64_t in_user = total - narrow(sum_of(mpi));
  if (user.empty()) return in_user;
  share_out(in_user, user, 0, room);
  return 0;
}

}  // namespace refrain::format
