#include "offline/report/rank_times.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "offline/run/run.hpp"
#include "statistics/statistics.hpp"

namespace refrain::report {
namespace {

using analysis::RankTimes;
using format::MetricId;
using run::PathKind;

/// The names of PAPI events, and of perf events that PAPI passes through.
constexpr std::string_view instruction_names[] = {"PAPI_TOT_INS", "perf::INSTRUCTIONS"};
constexpr std::string_view cycle_names[] = {"PAPI_TOT_CYC", "perf::CYCLES"};

void add_first_thread(const analysis::LocationSummary& of, RankTimes& to) {
  to.useful.value = of.user_s;
  to.mpi_s = of.mpi_s;
  if (!of.off_cpu_is_counted) return;
  to.off_cpu_s = of.not_on_cpu_s;
  if (of.off_cpu_is_told_apart) to.waited_for_core_s = of.waited_for_core_s;
}

/// The nodes of a part of the run: its roots and all nodes below them.
struct Part {
  std::vector<bool> is_root, is_inside;
  bool is_marked = false;
};

Part whole_run(const analysis::CallTree& tree) {
  return {std::vector<bool>(tree.nodes.size()), std::vector<bool>(tree.nodes.size(), true), false};
}

/// Marks take precedence over functions of the same name.
Part part_of_name(const analysis::CallTree& tree, const std::string& name) {
  Part part;
  part.is_marked =
      std::ranges::any_of(tree.nodes, [&](const analysis::TreeNode& node) { return node.marked && node.name == name; });
  const run::Keys named = keys_by(columns_of(tree), [&](std::uint32_t node) {
    const analysis::TreeNode& of = tree.nodes[node];
    const bool is_it = node != 0 && of.kind == PathKind::User && of.name == name && (of.marked || !part.is_marked);
    return is_it ? std::optional(0) : std::nullopt;
  });
  if (named.size() == 0)
    throw UsageError(fmt::format("--region {}: the run has no marked region, loop or function of this name", name));
  part.is_inside = part.is_root = named.is_outermost;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i)
    if (part.is_inside[static_cast<std::size_t>(tree.nodes[i].parent)]) part.is_inside[i] = true;
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
    run::for_each_leaf(input_.experiment, {.threads = [](std::int32_t, std::int32_t thread) { return thread == 0; }},
                       [&](const run::Leaf& leaf) { add(leaf, times); });
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
  /// Adds a first thread.
  void add(const run::Leaf& leaf, PartTimes& times) {
    const auto summaries = locations_.find(leaf.rank.rank);
    if (summaries == locations_.end()) return;
    RankTimes of;
    of.rank = leaf.rank.rank;
    of.machine = machines_.emplace(leaf.rank.host, machines_.size()).first->second;
    add_mpi(leaf, of);
    if (is_run_) add_useful_of_run(summaries->second, of);
    else if (part_.is_marked) add_useful_of_mark(leaf, of);
    else add_useful_of_function(leaf, of);
    if (!input_.waits.empty()) add_waits(leaf.rank, of);
    if (!(of.all_s() > 0)) return;
    add_counter(instruction_names, leaf, times.instructions);
    add_counter(cycle_names, leaf, times.cycles);
    times.ranks.push_back(std::move(of));
  }

  /// 0: the tree does not have the call path.
  std::uint32_t node_of(const run::Row& row) const {
    return row.path == run::Row::by_rules ? 0 : input_.tree.node_of[row.path];
  }
  static double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

  /// For the run: all that was not counted in MPI, which is exact. For a part of it: what ticks have found there.
  void add_counter(std::span<const std::string_view> names, const run::Leaf& leaf, std::optional<double>& to) const {
    const auto& own = leaf.rank.extra_metrics;
    const auto at = std::ranges::find_first_of(own, names, {}, &experiment::ExtraMetric::name);
    if (at == own.end()) to.reset();
    if (!to) return;
    const auto metric = static_cast<std::size_t>(at - own.begin());
    for (const run::Row& row : leaf.rows)
      if (metric < row.asked_for.size() && !row.has(run::mpi) && (is_run_ || part_.is_inside[node_of(row)]))
        *to += static_cast<double>(row.asked_for[metric]);
  }

  /// Fills mpi_s_, by node.
  void add_mpi(const run::Leaf& leaf, RankTimes& to) {
    std::ranges::fill(mpi_s_, 0);
    for (const run::Row& row : leaf.rows) {
      const std::uint32_t node = node_of(row);
      if (!part_.is_inside[node] || input_.tree.nodes[node].kind != PathKind::Mpi) continue;
      mpi_s_[node] += seconds(row.ns);
      to.mpi_s += seconds(row.ns);
      if (is_io(node)) to.io_s += seconds(row.ns);
    }
  }
  bool is_io(std::uint32_t node) const { return run::class_of_mpi(input_.tree.nodes[node].name) == run::mpi_io; }

  void add_useful_of_run(const std::vector<const analysis::LocationSummary*>& locations, RankTimes& to) const {
    constexpr double least_part = 0.05;  // of the first thread's time: a thread with more of it works
    for (const analysis::LocationSummary* of : locations)
      if (of->thread == 0) add_first_thread(*of, to);
    for (const analysis::LocationSummary* of : locations)
      if (const double on_cpu_s = of->user_s - of->not_on_cpu_s; of->thread != 0 && on_cpu_s > least_part * to.all_s())
        to.workers_s.push_back(on_cpu_s);
  }

  void add_useful_of_mark(const run::Leaf& leaf, RankTimes& to) const {
    double wall_s = 0, off_s = 0, waited_s = 0;
    for (const run::Row& row : leaf.rows) {
      if (!part_.is_root[node_of(row)]) continue;
      wall_s += seconds(leaf.mark_of(row, MetricId::MarkTime));
      off_s += seconds(leaf.mark_of(row, MetricId::MarkOffCpu));
      waited_s += seconds(leaf.mark_of(row, MetricId::MarkWaited));
    }
    to.useful.value = std::max(wall_s - to.mpi_s, 0.0);
    if (!leaf.rank.off_cpu_is_counted) return;
    to.off_cpu_s = std::min(off_s, to.useful.value);
    if (run::tells_waiting(leaf.rank, leaf.location)) to.waited_for_core_s = std::min(waited_s, *to.off_cpu_s);
  }

  void add_useful_of_function(const run::Leaf& leaf, RankTimes& to) const {
    double weight = 0;
    for (const run::Row& row : leaf.rows) {
      if (!row.is_sampled() || !part_.is_inside[node_of(row)]) continue;
      to.useful.value += seconds(row.ns);
      weight += static_cast<double>(row.value(MetricId::Weight));
    }
    to.useful.error = leaf.stratum().error_of(weight) * 1e-9;
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
    run::Estimate all;
    for (std::uint32_t node = 0; node < mpi_s_.size(); ++node) {
      if (!(mpi_s_[node] > 0) || is_io(node)) continue;
      const auto minimum = minima.find(node);
      all += wait_of(node, rank.rank, minimum == minima.end() ? nullptr : &minimum->second);
      all_mpi_s_ += mpi_s_[node];
    }
    all.seconds = std::clamp(all.seconds, 0.0, std::max(to.mpi_s - to.io_s, 0.0));
    all.limit_error(to.mpi_s);
    to.wait = all;
  }

  /// The waiting in the calls of a node at a rank, by the method of the node.
  run::Estimate wait_of(std::uint32_t node, std::int32_t rank, const MinimumOfNode* minimum) {
    using Method = NodeWait::Method;
    const NodeWait& of = input_.waits[node];
    const double time_s = mpi_s_[node], all_s = input_.tree.nodes[node].exclusive_s;
    const double part = all_s > 0 ? time_s / all_s : 0;
    const bool by_events = of.method == Method::Events || of.method == Method::Sampled;
    if (by_events && (!of.by_rank.empty() || !(of.seconds > 0))) {
      const auto at = of.by_rank.find(rank);
      return {.seconds = std::min(at == of.by_rank.end() ? 0 : at->second, time_s),
              .replicates = replicates_of_rank(of, node, rank, part)};
    }
    // Only the sum over ranks is known: each rank may have any part of it.
    if (by_events || of.method == Method::Matched)
      return {.seconds = of.seconds * part,
              .replicates = replicates_of_place(node, rank, statistics::uniform_deviation(time_s))};
    if (of.method == Method::Minimum && minimum && minimum->time_s > 0) {
      waits::Estimate estimate = minimum->estimate;
      estimate.extend(std::min(minimum->time_s, time_s), time_s);
      run::Estimate wait = estimate_of(estimate);
      wait.seconds = std::clamp(wait.seconds, 0.0, time_s);
      wait.limit_error(time_s);
      return wait;
    }
    if (of.method == Method::None && !is_untold(input_.tree.nodes[node], of)) return {};
    untold_s_ += time_s;
    return {.seconds = time_s / 2, .below_s = time_s / 2, .above_s = time_s / 2};
  }

  const EfficiencyInput& input_;
  const Part part_;
  const bool is_run_;
  std::map<std::int32_t, std::vector<const analysis::LocationSummary*>> locations_;  ///< by rank
  std::map<std::string, std::size_t> machines_;
  std::vector<double> mpi_s_;  ///< of the rank that is being read, by node
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
