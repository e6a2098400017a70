#include "offline/run/rows.hpp"

#include <algorithm>
#include <bit>

#include "format/saturating.hpp"
#include "format/time_rules.hpp"

namespace refrain::run {
namespace {

template <class... Metrics>
constexpr std::uint32_t bits_of(Metrics... metrics) {
  return ((std::uint32_t{1} << metrics) | ...);
}
constexpr std::uint32_t of_user = bits_of(wall, user), off_cpu = bits_of(wall, user, not_on_cpu);

/// Converts one time after the other from ticks to nanoseconds, so that their sum is rounded only once.
class Rounder {
 public:
  explicit Rounder(const Clock& clock) : clock_(clock) {}
  std::int64_t ns(std::int64_t ticks) {
    ticks_ = format::add_saturating(ticks_, ticks);
    const std::int64_t before = ns_;
    ns_ = clock_.ns(ticks_);
    return ns_ - before;
  }

 private:
  const Clock& clock_;
  std::int64_t ticks_ = 0, ns_ = 0;
};

}  // namespace

Clock::Clock(double ticks_per_second)
    : rate_(std::max<std::int64_t>(format::time_rules::fixed_point(ticks_per_second, format::time_rules::bits_of_rate),
                                   1)) {}

std::int64_t Clock::ns(std::int64_t ticks) const {
  using namespace format::time_rules;
  return narrow(nearest(Wide{at_least_zero(ticks)} * (Wide{1'000'000'000} << bits_of_rate), rate_));
}

bool tells_waiting(const experiment::Rank& rank, const experiment::Location& location) {
  return rank.off_cpu_is_counted && !location.has(format::Loss::RunDelayUnknown);
}

std::array<std::int64_t, time_metrics> Leaf::times() const {
  std::array<std::int64_t, time_metrics> ns{};
  for (const Row& row : rows)
    for (std::uint32_t bits = row.times; bits != 0; bits &= bits - 1)
      ns[static_cast<std::size_t>(std::countr_zero(bits))] += row.ns;
  return ns;
}

Stratum Leaf::stratum() const {
  Stratum of{0, static_cast<double>(totals.totals.weight_user_ns), totals.totals.weight_user_squared};
  for (const Row& row : rows)
    if (row.is_sampled()) of.time += static_cast<double>(row.ns);
  return of;
}

std::int64_t Leaf::mark_of(const Row& row, format::MetricId metric) const {
  using format::MetricId;
  const std::int64_t value = row.value(metric);
  const auto off_cpu_ns = [&] { return std::max<std::int64_t>(row.value(MetricId::MarkOffCpu), 0); };
  switch (metric) {
    case MetricId::MarkTime: return Clock(rank.ticks_per_second).ns(value);
    case MetricId::MarkOffCpu: return off_cpu_ns();
    case MetricId::MarkWaited: return std::clamp<std::int64_t>(value, 0, off_cpu_ns());
    default: return value;
  }
}

Leaves::Leaves(const experiment::ProfileDefinitions& definitions) : definitions_(definitions) {
  for (const std::string& region : definitions.regions) class_of_region_.push_back(class_of_mpi(region));
}

Leaf Leaves::of(const experiment::Rank& rank, const experiment::Location& location,
                const experiment::RunTotals& totals) const {
  Leaf leaf{rank, location, totals};
  leaf.rows.reserve(totals.paths.size() + std::size(pseudo_paths));
  const Clock clock(rank.ticks_per_second);
  Rounder rounder(clock);
  const format::UnitTimes& times = totals.times;
  const auto add_paths = [&](bool in_mpi) {
    auto asked_for = totals.extra.values.begin();  // ascending, like the call paths
    for (const experiment::PathTotals& path : totals.paths) {
      const experiment::CallPath& of = definitions_.paths[path.path];
      if ((of.kind == format::NodeKind::Region) != in_mpi) continue;
      Row& row = leaf.rows.emplace_back();
      row.path = path.path;
      row.kind = of.kind;
      row.columns = std::span(totals.columns).subspan(std::min<std::size_t>(path.first, totals.columns.size()));
      row.ns = rounder.ns(path.ticks);
      row.is_divided = format::is_sampled(of.kind);
      const TimeMetric of_class = of.offset < class_of_region_.size() ? class_of_region_[of.offset] : mpi_other;
      row.times = in_mpi ? bits_of(wall, mpi, of_class) : of_user;
      while (asked_for != totals.extra.values.end() && asked_for->path < path.path) ++asked_for;
      if (asked_for != totals.extra.values.end() && asked_for->path == path.path)
        row.asked_for = std::span(totals.extra.columns).subspan(asked_for->first, totals.extra.totals.size());
    }
  };
  /// `row` has all values except its time.
  const auto add_by_rules = [&](std::int64_t ticks, Row row) {
    row.ns = rounder.ns(ticks);
    const bool has_asked_for = std::ranges::any_of(row.asked_for, [](std::int64_t value) { return value != 0; });
    if (ticks != 0 || row.below != 0 || row.above != 0 || has_asked_for) leaf.rows.push_back(row);
  };
  const bool lost = location.has(format::Loss::ArenaFull);
  const std::int64_t no_sample = lost ? times.no_sample : format::add_saturating(times.no_sample, times.no_path);
  const std::int64_t below = clock.ns(times.not_on_cpu) - clock.ns(times.not_on_cpu_low),
                     above = clock.ns(times.not_on_cpu_high) - clock.ns(times.not_on_cpu);
  add_paths(true);
  add_by_rules(times.mpi_no_path, {.pseudo = Pseudo::MpiWithoutPath, .times = bits_of(wall, mpi, mpi_other)});
  add_paths(false);
  add_by_rules(no_sample,
               {.pseudo = Pseudo::NoSample, .times = of_user, .is_divided = true, .asked_for = totals.extra_no_path});
  add_by_rules(lost ? times.no_path : 0, {.pseudo = Pseudo::ArenaFull, .times = of_user, .is_divided = true});
  add_by_rules(times.not_on_cpu - times.waited - times.blocked,
               {.pseudo = Pseudo::NotOnCpu, .times = off_cpu, .below = below, .above = above});
  add_by_rules(times.waited, {.pseudo = Pseudo::WaitedForCore, .times = off_cpu | bits_of(waited_for_core)});
  add_by_rules(times.blocked, {.pseudo = Pseudo::Blocked, .times = off_cpu | bits_of(blocked)});
  add_by_rules(times.refrain, {.pseudo = Pseudo::Refrain, .times = bits_of(wall, refrain)});
  add_by_rules(times.stopped, {.pseudo = Pseudo::Stopped, .times = bits_of(wall, measurement_off)});
  return leaf;
}

}  // namespace refrain::run
