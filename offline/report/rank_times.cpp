#include "offline/report/rank_times.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "offline/analysis/run_totals.hpp"
#include "offline/trace/functions.hpp"
#include "statistics/statistics.hpp"

namespace refrain::report {
namespace {

using analysis::PathKind;
using analysis::RankTimes;
using format::MetricId;

/// The names of PAPI, and those of perf that PAPI passes through.
constexpr std::string_view instruction_names[] = {"PAPI_TOT_INS", "perf::INSTRUCTIONS"};
constexpr std::string_view cycle_names[] = {"PAPI_TOT_CYC", "perf::CYCLES"};

void add_first_thread(const analysis::LocationSummary& of, RankTimes& to) {
  to.useful.value = of.user_s;
  to.mpi_s = of.mpi_s;
  if (!of.off_cpu_is_counted) return;
  to.off_cpu_s = of.not_on_cpu_s;
  if (of.off_cpu_is_told_apart) to.waited_for_core_s = of.waited_for_core_s;
}

/// The nodes of a part of the run: below its roots, with them.
struct Part {
  std::vector<bool> is_root, is_inside;
  bool is_marked = false;
};

Part whole_run(const analysis::CallTree& tree) {
  return {std::vector<bool>(tree.nodes.size()), std::vector<bool>(tree.nodes.size(), true), false};
}

/// Marks win over functions of the same name.
Part part_of_name(const analysis::CallTree& tree, const std::string& name) {
  Part part{std::vector<bool>(tree.nodes.size()), std::vector<bool>(tree.nodes.size()), false};
  part.is_marked =
      std::ranges::any_of(tree.nodes, [&](const analysis::TreeNode& node) { return node.marked && node.name == name; });
  bool any = false;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const analysis::TreeNode& node = tree.nodes[i];
    const bool is_below = part.is_inside[static_cast<std::size_t>(node.parent)];
    part.is_root[i] = !is_below && node.kind == PathKind::User && node.name == name && (node.marked || !part.is_marked);
    part.is_inside[i] = is_below || part.is_root[i];
    any |= part.is_root[i];
  }
  if (!any)
    throw UsageError(fmt::format("--region {}: the run has no marked region, loop or function of this name", name));
  return part;
}

class TimesByRank {
 public:
  TimesByRank(const EfficiencyInput& input, Part part, bool is_run)
      : input_(input), part_(std::move(part)), is_run_(is_run), mpi_s_(input.tree.nodes.size()) {
    for (const analysis::LocationSummary& of : input.tree.locations) locations_[of.rank].push_back(&of);
  }

  PartTimes read() {
    PartTimes times;
    times.is_sampled = !is_run_ && !part_.is_marked;
    for (std::size_t place = 0; place < input_.experiment.ranks().size(); ++place)
      if (const auto rank = input_.experiment.rank(place, experiment::Depth::Run)) add(*rank, times);
    constexpr double most_untold = 0.5;
    if (input_.waits.empty())
      times.why_no_waits = "the experiment has neither events nor durations of calls (REFRAIN_WAIT_STATES)";
    else if (untold_s_ > most_untold * all_mpi_s_)
      times.why_no_waits = "waiting is known of less than half of the time in MPI";
    if (!times.why_no_waits.empty())
      for (RankTimes& of : times.ranks) of.wait.reset();
    return times;
  }

 private:
  void add(const experiment::Rank& rank, PartTimes& times) {
    const auto first = std::ranges::find(rank.locations, 0, &experiment::Location::thread);
    const auto summaries = locations_.find(rank.rank);
    if (first == rank.locations.end() || summaries == locations_.end()) return;
    RankTimes of;
    of.rank = rank.rank;
    of.machine = machines_.emplace(rank.host, machines_.size()).first->second;
    const auto totals = analysis::totals_of_run(rank, *first, input_.experiment.definitions().paths);
    add_mpi(rank, totals, of);
    if (is_run_) add_useful_of_run(summaries->second, of);
    else if (part_.is_marked) add_useful_of_mark(rank, *first, totals, of);
    else add_useful_of_function(rank, totals, of);
    if (!input_.waits.empty()) add_waits(rank, of);
    if (!(of.all_s() > 0)) return;
    add_counter(instruction_names, rank, totals, times.instructions);
    add_counter(cycle_names, rank, totals, times.cycles);
    times.ranks.push_back(std::move(of));
  }

  /// Of the run all that was not counted in MPI, exactly; of a part of it what ticks have found there.
  void add_counter(std::span<const std::string_view> names, const experiment::Rank& rank,
                   const experiment::RunTotals& totals, std::optional<double>& to) const {
    const auto at = std::ranges::find_first_of(rank.extra_metrics, names, {}, &experiment::ExtraMetric::name);
    if (at == rank.extra_metrics.end()) to.reset();
    if (!to) return;
    const auto metric = static_cast<std::size_t>(at - rank.extra_metrics.begin());
    const experiment::ExtraValues& extra = totals.extra;
    std::int64_t in_mpi = 0, in_part = 0;
    for (const experiment::PathValues& row : extra.values) {
      const std::uint32_t node = input_.tree.node_of[row.path];
      const bool is_mpi = input_.tree.nodes[node].kind == PathKind::Mpi;
      (is_mpi ? in_mpi : in_part) += is_mpi || part_.is_inside[node] ? extra.of(row, metric) : 0;
    }
    *to += static_cast<double>(is_run_ ? extra.total(metric) - in_mpi : in_part);
  }

  /// Fills mpi_s_, by node.
  void add_mpi(const experiment::Rank& rank, const experiment::RunTotals& totals, RankTimes& to) {
    std::ranges::fill(mpi_s_, 0);
    for (const experiment::PathTotals& path : totals.paths) {
      const std::uint32_t node = input_.tree.node_of[path.path];
      if (!part_.is_inside[node] || input_.tree.nodes[node].kind != PathKind::Mpi) continue;
      const double seconds = static_cast<double>(path.ticks) / rank.ticks_per_second;
      mpi_s_[node] += seconds;
      to.mpi_s += seconds;
      if (is_io(node)) to.io_s += seconds;
    }
  }
  bool is_io(std::uint32_t node) const {
    return trace::function_of_mpi(input_.tree.nodes[node].name).call_class == trace::CallClass::Io;
  }

  void add_useful_of_run(const std::vector<const analysis::LocationSummary*>& locations, RankTimes& to) const {
    constexpr double least_part = 0.05;  // of the first thread's time, for a thread that works
    for (const analysis::LocationSummary* of : locations)
      if (of->thread == 0) add_first_thread(*of, to);
    for (const analysis::LocationSummary* of : locations)
      if (const double on_cpu_s = of->user_s - of->not_on_cpu_s; of->thread != 0 && on_cpu_s > least_part * to.all_s())
        to.workers_s.push_back(on_cpu_s);
  }

  void add_useful_of_mark(const experiment::Rank& rank, const experiment::Location& first,
                          const experiment::RunTotals& totals, RankTimes& to) const {
    double wall_s = 0, off_s = 0, waited_s = 0;
    constexpr double s_per_ns = 1e-9;
    for (const experiment::PathTotals& path : totals.paths) {
      if (!part_.is_root[input_.tree.node_of[path.path]]) continue;
      const auto kind = input_.experiment.definitions().paths[path.path].kind;
      const auto value = [&](MetricId metric) {
        return static_cast<double>(format::value_of(kind, std::span(totals.columns).subspan(path.first), metric));
      };
      wall_s += value(MetricId::MarkTime) / rank.ticks_per_second;
      off_s += std::max(value(MetricId::MarkOffCpu) * s_per_ns, 0.0);
      waited_s += std::max(value(MetricId::MarkWaited) * s_per_ns, 0.0);
    }
    to.useful.value = std::max(wall_s - to.mpi_s, 0.0);
    if (!rank.off_cpu_is_counted) return;
    to.off_cpu_s = std::min(off_s, to.useful.value);
    if (!first.has(format::Loss::RunDelayUnknown)) to.waited_for_core_s = std::min(waited_s, *to.off_cpu_s);
  }

  void add_useful_of_function(const experiment::Rank& rank, const experiment::RunTotals& totals, RankTimes& to) const {
    double all_s = 0, weight = 0;
    for (const experiment::PathTotals& path : totals.paths) {
      const auto kind = input_.experiment.definitions().paths[path.path].kind;
      if (!format::is_sampled(kind)) continue;
      const double seconds = static_cast<double>(path.ticks) / rank.ticks_per_second;
      all_s += seconds;
      if (!part_.is_inside[input_.tree.node_of[path.path]]) continue;
      to.useful.value += seconds;
      weight +=
          static_cast<double>(format::value_of(kind, std::span(totals.columns).subspan(path.first), MetricId::Weight));
    }
    if (const auto all_weight = static_cast<double>(totals.totals.weight_user_ns); all_weight > 0)
      to.useful.error =
          all_s * statistics::error_of_share(weight / all_weight, all_weight, totals.totals.weight_user_squared);
  }

  struct MinimumOfNode {
    waits::Estimate estimate;
    double time_s = 0;
  };

  void add_waits(const experiment::Rank& rank, RankTimes& to) {
    std::map<std::uint32_t, MinimumOfNode> minima;
    if (input_.minima)
      for (const auto& of : input_.minima->of_rank(rank))
        if (of.path < input_.tree.node_of.size()) {
          MinimumOfNode& node = minima[input_.tree.node_of[of.path]];
          node.estimate += of.estimate;
          node.time_s += of.time_s;
        }
    double wait_s = 0, squares = 0;
    for (std::uint32_t node = 0; node < mpi_s_.size(); ++node) {
      if (!(mpi_s_[node] > 0) || is_io(node)) continue;
      const auto minimum = minima.find(node);
      const analysis::Measured wait = wait_of(node, rank.rank, minimum == minima.end() ? nullptr : &minimum->second);
      wait_s += wait.value;
      squares += wait.error * wait.error;
      all_mpi_s_ += mpi_s_[node];
    }
    to.wait = analysis::Measured{std::clamp(wait_s, 0.0, std::max(to.mpi_s - to.io_s, 0.0)),
                                 std::min(std::sqrt(squares), to.mpi_s)};
  }

  /// In the calls of a node at a rank, by the method of the node.
  analysis::Measured wait_of(std::uint32_t node, std::int32_t rank, const MinimumOfNode* minimum) {
    using Method = NodeWait::Method;
    const NodeWait& of = input_.waits[node];
    const double time_s = mpi_s_[node], all_s = input_.tree.nodes[node].exclusive_s;
    const double part = all_s > 0 ? time_s / all_s : 0;
    const bool by_events = of.method == Method::Events || of.method == Method::Sampled;
    if (by_events && (!of.by_rank.empty() || !(of.seconds > 0))) {
      const auto at = of.by_rank.find(rank);
      // The ranks' errors are independent of each other.
      return {std::min(at == of.by_rank.end() ? 0 : at->second, time_s), of.error_s * std::sqrt(part)};
    }
    // Only the sum over ranks is known: each may have had any part.
    if (by_events || of.method == Method::Matched) return {of.seconds * part, statistics::uniform_deviation(time_s)};
    if (of.method == Method::Minimum && minimum && minimum->time_s > 0) {
      waits::Estimate estimate = minimum->estimate;
      estimate.extend(std::min(minimum->time_s, time_s), time_s);
      return {std::clamp(estimate.seconds, 0.0, time_s), std::min(estimate.error_s(), time_s)};
    }
    if (of.method == Method::None && !is_untold(input_.tree.nodes[node], of)) return {};
    untold_s_ += time_s;
    return {time_s / 2, statistics::uniform_deviation(time_s)};
  }

  const EfficiencyInput& input_;
  const Part part_;
  const bool is_run_;
  std::map<std::int32_t, std::vector<const analysis::LocationSummary*>> locations_;  ///< by rank
  std::map<std::string, std::size_t> machines_;
  std::vector<double> mpi_s_;  ///< of the rank that is looked at, by node
  double all_mpi_s_ = 0, untold_s_ = 0;
};

}  // namespace

std::vector<RankTimes> times_of_first_threads(const analysis::CallTree& tree) {
  std::vector<RankTimes> ranks;
  for (const analysis::LocationSummary& of : tree.locations) {
    if (of.thread != 0) continue;
    ranks.push_back({.rank = of.rank});
    add_first_thread(of, ranks.back());
  }
  return ranks;
}

PartTimes times_of_run(const EfficiencyInput& input) { return TimesByRank(input, whole_run(input.tree), true).read(); }

PartTimes times_of_region(const EfficiencyInput& input, const std::string& name) {
  return TimesByRank(input, part_of_name(input.tree, name), false).read();
}

}  // namespace refrain::report
