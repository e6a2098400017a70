#include "offline/analysis/efficiency.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "statistics/statistics.hpp"

namespace refrain::analysis {
namespace {

/// Shrinks values toward their mean by the part of their scatter that their errors explain. A value farther from the
/// median than the errors of that many values reach stays as it is (the universal threshold, plus one error).
class Shrinking {
 public:
  explicit Shrinking(std::span<const Measured> values) : is_alike_(values.size()) {
    std::vector<double> sorted;
    for (const Measured& of : values) sorted.push_back(of.value);
    if (sorted.size() < 2) return;
    const double median = statistics::quantile(sorted, 0.5),
                 reach = std::sqrt(2 * std::log(static_cast<double>(values.size()))) + 1;
    std::vector<double> alike;
    double squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      is_alike_[i] = std::abs(values[i].value - median) <= reach * values[i].error;
      if (!is_alike_[i]) continue;
      alike.push_back(values[i].value);
      squares += values[i].error * values[i].error;
    }
    if (!(squares > 0)) return;
    squares /= static_cast<double>(alike.size());
    const double variance = statistics::variance(alike);
    kept_ = variance > squares ? 1 - squares / variance : 0;
  }
  /// Shrinks the values given to the constructor, or a replicate of them.
  void draw(std::vector<double>& values) const {
    if (kept_ == 1) return;
    std::vector<double> alike;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (is_alike_[i]) alike.push_back(values[i]);
    const double mean = statistics::mean(alike);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (is_alike_[i]) values[i] = mean + kept_ * (values[i] - mean);
  }

 private:
  std::vector<bool> is_alike_;
  double kept_ = 1;
};

/// The errors of each rank's waiting relative to the mean of all ranks: only these cause scatter between ranks.
std::vector<double> own_errors(std::span<const RankTimes> ranks) {
  const auto n = static_cast<double>(ranks.size());
  constexpr std::size_t count = run::Replicates::count;
  std::array<double, count> mean_s{};
  for (const RankTimes& of : ranks)
    for (std::size_t r = 0; r < count; ++r) mean_s[r] += static_cast<double>(of.wait->replicates.ns[r]) * 1e-9 / n;
  std::vector<double> errors;
  for (const RankTimes& of : ranks) {
    const double by_replicates =
        run::error_by_replicates(of.wait->seconds, [&](std::size_t r) { return of.wait->seconds_of(r) - mean_s[r]; });
    const double of_few = std::sqrt(n / std::max(n - 1, 1.0));
    errors.push_back(std::hypot(of.wait->bounds_deviation_s(), of_few * by_replicates));
  }
  return errors;
}

double ideal_of_half(const RankTimes& of, std::size_t half) {
  return of.useful.value + of.io_s + (*of.halves)[half].value;
}

/// The ideal time of the rank that the half `chosen_by` chooses, as the other half measures it.
Measured across_halves(std::span<const RankTimes> ranks, std::size_t chosen_by) {
  const auto at =
      std::ranges::max_element(ranks, {}, [&](const RankTimes& of) { return ideal_of_half(of, chosen_by); });
  const std::size_t other = 1 - chosen_by;
  return {ideal_of_half(*at, other), (*at->halves)[other].error};
}

/// The largest ideal time of a rank, clamped to `least_s` and `most_s`.
Measured largest_ideal(std::span<const RankTimes> ranks, double least_s, double most_s, IdealBy& by) {
  if (std::ranges::all_of(ranks, [](const RankTimes& of) { return of.halves.has_value(); })) {
    by = IdealBy::Halves;
    const Measured one = across_halves(ranks, 0), two = across_halves(ranks, 1);
    return {std::clamp((one.value + two.value) / 2, least_s, most_s), std::hypot(one.error, two.error) / 2};
  }
  const bool is_exact = std::ranges::all_of(ranks, [](const RankTimes& of) { return of.wait->error_s() == 0; });
  by = is_exact ? IdealBy::Exact : IdealBy::Shrinking;
  const std::vector<double> errors = own_errors(ranks);
  std::vector<Measured> ideals;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ideals.push_back({ranks[i].useful.value + ranks[i].io_s + ranks[i].wait->seconds, errors[i]});
  const Shrinking shrinking(ideals);
  std::vector<double> drawn;
  // Returns the rank that decides, and leaves the times in `drawn`.
  const auto decide = [&](const auto& wait_of) {
    drawn.clear();
    for (const RankTimes& of : ranks) drawn.push_back(of.useful.value + of.io_s + wait_of(*of.wait));
    shrinking.draw(drawn);
    return static_cast<std::size_t>(std::ranges::max_element(drawn) - drawn.begin());
  };
  const std::size_t decides = decide([](const run::Estimate& of) { return of.seconds; });
  const double ideal_s = std::clamp(drawn[decides], least_s, most_s);
  const double by_replicates = run::error_by_replicates(ideal_s, [&](std::size_t r) {
    const std::size_t there = decide([r](const run::Estimate& of) { return of.seconds_of(r); });
    return std::clamp(drawn[there], least_s, most_s);
  });
  return {ideal_s, std::hypot(ranks[decides].wait->bounds_deviation_s(), by_replicates)};
}

std::optional<Efficiency::Hybrid> hybrid_of(std::span<const RankTimes> ranks, const Efficiency& of) {
  Efficiency::Hybrid hybrid;
  double useful_s = 0;
  for (const RankTimes& rank : ranks) {
    hybrid.threads += 1 + rank.workers_s.size();
    useful_s += rank.useful.value + std::accumulate(rank.workers_s.begin(), rank.workers_s.end(), 0.0);
  }
  if (hybrid.threads == ranks.size()) return std::nullopt;
  hybrid.parallel = useful_s / static_cast<double>(hybrid.threads) / of.elapsed_s;
  hybrid.threads_multiplicative = hybrid.parallel / of.parallel.value;
  hybrid.threads_additive = 1 - of.parallel.value + hybrid.parallel;
  return hybrid;
}

void add_availability(std::span<const RankTimes> ranks, Efficiency& to) {
  double useful_s = 0, off_cpu_s = 0, waited_s = 0;
  for (const RankTimes& of : ranks) {
    if (!of.off_cpu_s) return;
    useful_s += of.useful.value;
    off_cpu_s += *of.off_cpu_s;
    waited_s += of.waited_for_core_s.value_or(0);
  }
  to.availability = 1 - off_cpu_s / useful_s;
  if (!std::ranges::all_of(ranks, [](const RankTimes& of) { return of.waited_for_core_s.has_value(); })) return;
  to.waited_for_core = waited_s / useful_s;
  to.blocked = (off_cpu_s - waited_s) / useful_s;
}

}  // namespace

std::optional<Efficiency> efficiency_of(std::span<const RankTimes> given) {
  std::vector<RankTimes> ranks(given.begin(), given.end());
  std::vector<Measured> useful;
  for (const RankTimes& of : ranks) useful.push_back(of.useful);
  std::vector<double> useful_s;
  for (const Measured& of : useful) useful_s.push_back(of.value);
  Shrinking(useful).draw(useful_s);
  for (std::size_t r = 0; r < ranks.size(); ++r) ranks[r].useful.value = std::max(useful_s[r], 0.0);

  Efficiency of;
  of.processes = ranks.size();
  const auto count = static_cast<double>(ranks.size());
  double sum_s = 0, sum_of_squared_errors = 0;
  Measured largest;
  struct Machine {
    double sum_s = 0, ranks = 0;
  };
  std::map<std::size_t, Machine> machines;
  for (const RankTimes& rank : ranks) {
    sum_s += rank.useful.value;
    sum_of_squared_errors += rank.useful.error * rank.useful.error;
    if (rank.useful.value >= largest.value) largest = rank.useful;
    of.elapsed_s = std::max(of.elapsed_s, rank.all_s());
    machines[rank.machine].sum_s += rank.useful.value;
    ++machines[rank.machine].ranks;
  }
  if (!(largest.value > 0)) return std::nullopt;
  double largest_machine_s = 0;
  for (const auto& [number, machine] : machines)
    largest_machine_s = std::max(largest_machine_s, machine.sum_s / machine.ranks);
  of.machines = machines.size();
  const double mean_s = sum_s / count, mean_error_s = std::sqrt(sum_of_squared_errors) / count;
  of.load_balance.value = mean_s / largest.value;
  of.communication.value = largest.value / of.elapsed_s;
  of.parallel.value = mean_s / of.elapsed_s;
  of.parallel.error = mean_error_s / of.elapsed_s;
  of.load_balance.error =
      std::hypot(mean_error_s / largest.value, of.load_balance.value * largest.error / largest.value);
  of.communication.error = largest.error / of.elapsed_s;
  of.across_machines = mean_s / largest_machine_s;
  of.within_machines = largest_machine_s / largest.value;
  of.additive.load_balance = 1 - (largest.value - mean_s) / of.elapsed_s;
  of.additive.communication = of.communication.value;
  add_availability(ranks, of);
  of.hybrid = hybrid_of(ranks, of);

  const auto is_known = [](const RankTimes& rank) { return rank.wait.has_value(); };
  if (std::ranges::all_of(ranks, is_known)) {
    const Measured ideal = largest_ideal(ranks, largest.value, of.elapsed_s, of.ideal_by);
    of.serialisation = {
        largest.value / ideal.value,
        std::hypot(largest.error / ideal.value, largest.value * ideal.error / ideal.value / ideal.value)};
    of.transfer = {ideal.value / of.elapsed_s, ideal.error / of.elapsed_s};
    of.additive.serialisation = 1 - (ideal.value - largest.value) / of.elapsed_s;
    of.additive.transfer = of.transfer->value;
  }
  return of;
}

std::optional<EfficiencyStep> step_of(std::span<const EfficiencyOfRange> ranges) {
  constexpr std::size_t fewest = 3;  // on each side
  constexpr double least = 0.05, certain = 4;
  if (ranges.size() < 2 * fewest) return std::nullopt;
  const auto values = [&](std::size_t begin, std::size_t end, double EfficiencyOfRange::*of) {
    std::vector<double> all;
    for (std::size_t i = begin; i < end; ++i) all.push_back(ranges[i].*of);
    return all;
  };
  std::size_t best = 0;
  double largest = 0;
  const std::size_t count = ranges.size();
  for (std::size_t at = fewest; at + fewest <= count; ++at) {
    const auto before = values(0, at, &EfficiencyOfRange::parallel),
               after = values(at, count, &EfficiencyOfRange::parallel);
    const double step = std::abs(statistics::mean(after) - statistics::mean(before));
    const auto left = static_cast<double>(at), right = static_cast<double>(count - at);
    const double around =
        (statistics::variance(before) * (left - 1) + statistics::variance(after) * (right - 1)) / (left + right - 2);
    const double error = std::sqrt(around * (1 / left + 1 / right));
    // The part of the variance that the step explains grows with the product of the two sizes.
    const double explained = step * std::sqrt(left * right);
    if (step < least || step < certain * error || explained <= largest) continue;
    largest = explained;
    best = at;
  }
  if (best == 0) return std::nullopt;
  const auto before = [&](double EfficiencyOfRange::*of) { return statistics::mean(values(0, best, of)); };
  const auto after = [&](double EfficiencyOfRange::*of) { return statistics::mean(values(best, count, of)); };
  const auto change = [&](double EfficiencyOfRange::*of) {
    return before(of) > 0 && after(of) > 0 ? std::abs(std::log(after(of) / before(of))) : 0;
  };
  EfficiencyStep step{ranges[best].first, before(&EfficiencyOfRange::parallel), after(&EfficiencyOfRange::parallel)};
  step.is_load_balance = change(&EfficiencyOfRange::load_balance) > change(&EfficiencyOfRange::communication);
  const auto factor = step.is_load_balance ? &EfficiencyOfRange::load_balance : &EfficiencyOfRange::communication;
  step.factor_before = before(factor);
  step.factor_after = after(factor);
  return step;
}

namespace {

/// The mean over runs. Its error is from the scatter of several runs; for a single run it is the run's own error.
Measured mean_of_runs(std::span<const Measured> runs) {
  std::vector<double> values;
  for (const Measured& of : runs) values.push_back(of.value);
  const auto count = static_cast<double>(runs.size());
  return {statistics::mean(values), runs.size() > 1 ? std::sqrt(statistics::variance(values) / count) : runs[0].error};
}

/// Means of ratios are ratios of means, so that products of factors are exact. Errors are from the scatter of the runs.
std::optional<ScalingPoint::Counters> counters_of(std::span<const SizedRun> runs, double useful_s) {
  std::vector<Measured> instructions, ipc, frequency;
  double cycles = 0;
  for (const SizedRun& run : runs) {
    if (!(run.instructions.value_or(0) > 0) || !(run.cycles.value_or(0) > 0)) return std::nullopt;
    instructions.push_back({*run.instructions, 0});
    ipc.push_back({*run.instructions / *run.cycles, 0});
    frequency.push_back({*run.cycles / run.useful_s, 0});
    cycles += *run.cycles / static_cast<double>(runs.size());
  }
  ScalingPoint::Counters of{mean_of_runs(instructions), mean_of_runs(ipc), mean_of_runs(frequency)};
  of.ipc.value = of.instructions.value / cycles;
  of.frequency_hz.value = cycles / useful_s;
  return of;
}

/// `value` divided by that of the reference.
Measured relative(const Measured& value, const Measured& reference, bool is_reference) {
  if (is_reference) return {1, 0};
  const double ratio = value.value / reference.value;
  return {ratio, ratio * std::hypot(value.error / value.value, reference.error / reference.value)};
}

void add_counter_scaling(ScalingPoint& of, const ScalingPoint& reference, double growth) {
  if (!of.counters || !reference.counters) return of.counters.reset();
  ScalingPoint::Counters &own = *of.counters, first = *reference.counters;
  const bool is_reference = &of == &reference;
  own.instruction_scaling = relative(first.instructions, own.instructions, is_reference);
  own.instruction_scaling.value *= growth;
  own.instruction_scaling.error *= growth;
  own.ipc_scaling = relative(own.ipc, first.ipc, is_reference);
  own.frequency_scaling = relative(own.frequency_hz, first.frequency_hz, is_reference);
}

ScalingPoint point_of(std::span<const SizedRun> runs) {
  ScalingPoint point;
  point.processes = runs[0].processes;
  point.runs = static_cast<std::int64_t>(runs.size());
  const auto mean = [&](const auto& value) {
    std::vector<Measured> all;
    for (const SizedRun& run : runs) all.push_back(value(run));
    return mean_of_runs(all);
  };
  std::vector<double> elapsed;
  for (const SizedRun& run : runs) elapsed.push_back(run.efficiency.elapsed_s);
  point.elapsed_s = statistics::mean(elapsed);
  point.elapsed_deviation_s = std::sqrt(statistics::variance(elapsed));
  point.parallel = mean([](const SizedRun& run) { return run.efficiency.parallel; });
  point.load_balance = mean([](const SizedRun& run) { return run.efficiency.load_balance; });
  point.communication = mean([](const SizedRun& run) { return run.efficiency.communication; });
  if (std::ranges::all_of(runs, [](const SizedRun& run) { return run.efficiency.serialisation.has_value(); })) {
    point.serialisation = mean([](const SizedRun& run) { return *run.efficiency.serialisation; });
    point.transfer = mean([](const SizedRun& run) { return *run.efficiency.transfer; });
  }
  const Measured useful = mean([](const SizedRun& run) { return Measured{run.useful_s, 0}; });
  point.useful_s = useful.value;
  point.computation_scaling.error = useful.error;  // in seconds until the reference is known
  point.counters = counters_of(runs, useful.value);
  return point;
}

std::optional<Measured> as_exact(const std::optional<double>& value) {
  return value ? std::optional(Measured{*value, 0}) : std::nullopt;
}

}  // namespace

std::vector<ScalingPoint> scaling_points(std::span<const SizedRun> runs, bool is_weak) {
  std::map<std::int64_t, std::vector<SizedRun>> by_processes;
  for (const SizedRun& run : runs) by_processes[run.processes].push_back(run);
  std::vector<ScalingPoint> points;
  for (const auto& [processes, of_size] : by_processes) points.push_back(point_of(of_size));
  if (points.empty()) return points;
  const double reference_s = points[0].useful_s, reference_error_s = points[0].computation_scaling.error,
               reference_elapsed_s = points[0].elapsed_s,
               reference_processes = static_cast<double>(points[0].processes);
  for (ScalingPoint& of : points) {
    const double growth = is_weak ? static_cast<double>(of.processes) / reference_processes : 1;
    const double error_s = of.computation_scaling.error;
    Measured& scaling = of.computation_scaling;
    scaling.value = reference_s / of.useful_s * growth;
    const bool is_reference = &of == points.data();
    scaling.error =
        is_reference ? 0 : scaling.value * std::hypot(error_s / of.useful_s, reference_error_s / reference_s);
    of.global.value = of.parallel.value * scaling.value;
    of.global.error = std::hypot(of.parallel.error * scaling.value, of.parallel.value * scaling.error);
    of.speedup = reference_elapsed_s / of.elapsed_s * growth;
    add_counter_scaling(of, points[0], growth);
  }
  return points;
}

std::optional<ScalingLoss> largest_loss(std::span<const ScalingPoint> points) {
  constexpr double worth_a_word = 0.95;
  if (points.size() < 2) return std::nullopt;
  const ScalingPoint &first = points.front(), &last = points.back();
  const bool has_waits = first.serialisation && last.serialisation;
  std::vector<ScalingLoss> factors{{"load balance", last.load_balance.value / first.load_balance.value}};
  if (const auto& counters = last.counters) {
    factors.push_back({"instruction scaling", counters->instruction_scaling.value});
    factors.push_back({"IPC scaling", counters->ipc_scaling.value});
    factors.push_back({"frequency scaling", counters->frequency_scaling.value});
  } else {
    factors.push_back({"computation scaling", last.computation_scaling.value});
  }
  if (has_waits) {
    factors.push_back({"serialisation", last.serialisation->value / first.serialisation->value});
    factors.push_back({"transfer", last.transfer->value / first.transfer->value});
  } else {
    factors.push_back({"communication", last.communication.value / first.communication.value});
  }
  const ScalingLoss worst = *std::ranges::min_element(factors, {}, &ScalingLoss::left);
  return worst.left < worth_a_word ? std::optional(worst) : std::nullopt;
}

std::span<const EfficiencyFactor> efficiency_factors() {
  using Of = const Efficiency&;
  using Factor = std::optional<Measured>;
  static const EfficiencyFactor all[] = {
      {"parallel", "parallel efficiency", 0, [](Of of) -> Factor { return of.parallel; }},
      {"load_balance", "load balance", 1, [](Of of) -> Factor { return of.load_balance; }},
      {"load_balance_across_machines", "across machines", 2,
       [](Of of) -> Factor {
         return Measured{of.across_machines, 0};
       }},
      {"load_balance_within_machines", "within machines", 2,
       [](Of of) -> Factor {
         return Measured{of.within_machines, 0};
       }},
      {"communication", "communication", 1, [](Of of) -> Factor { return of.communication; }},
      {"serialisation", "serialisation", 2, [](Of of) -> Factor { return of.serialisation; }},
      {"transfer", "transfer", 2, [](Of of) -> Factor { return of.transfer; }},
      {"processor_availability", "processor availability", 0, [](Of of) { return as_exact(of.availability); }},
      {"waited_for_core", "waited for a core", 1, [](Of of) { return as_exact(of.waited_for_core); }},
      {"blocked", "blocked", 1, [](Of of) { return as_exact(of.blocked); }}};
  return all;
}

}  // namespace refrain::analysis
