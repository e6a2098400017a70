#include "offline/export/run_of_experiment.hpp"

#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <utility>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/minimum_waits.hpp"
#include "offline/export/export_error.hpp"
#include "offline/run/iterations.hpp"
#include "offline/run/leaf_reader.hpp"
#include "offline/run/loops.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "offline/symbols/symbols.hpp"

namespace refrain::exports {
namespace {

constexpr std::array<std::string_view, 14> waiting_names{
    "late_sender", "late_receiver",   "early_reduce",     "early_scan",   "late_broadcast",
    "wait_at_nxn", "wait_at_barrier", "wait_at_finalize", "wait_at_init", "wait_at_fence",
    "late_post",   "early_wait",      "lock_contention",  "polling"};

RunNode::Kind kind_of(const analysis::TreeNode& node) {
  if (node.kind == run::PathKind::Mpi) return RunNode::Mpi;
  if (node.marked) return RunNode::Mark;
  return node.kind == run::PathKind::Other ? RunNode::Other : RunNode::Function;
}

class RunOfExperiment final : public Run {
 public:
  RunOfExperiment(std::shared_ptr<const experiment::Experiment> experiment, std::string_view version,
                  const std::optional<IterationOfLoop>& iteration)
      : experiment_(std::move(experiment)),
        minima_(experiment_->definitions()),
        is_of_iteration_(iteration.has_value()) {
    const experiment::Manifest& manifest = experiment_->manifest();
    facts_.program = std::filesystem::path(manifest.executable).filename().string();
    if (facts_.program.empty()) facts_.program = "program";
    facts_.creator = "Refrain " + std::string(version);
    facts_.started_ns = manifest.started_s().value_or(0) * 1'000'000'000;
    facts_.processes = experiment_->definitions().ranks_expected;

    symbols::Symbolizer symbolizer;
    symbols::use_names(*experiment_, symbolizer);
    analysis::CallTreeOptions options;
    options.fold.runtimes = true;  // as in reports
    options.also = [this](const experiment::Rank& rank) {
      minima_.add(rank);
      for (std::size_t i = 0; i < rank.locations.size(); ++i)
        locations_.push_back({rank.rank, rank.locations[i].thread, rank.locations[i].name, rank.host});
    };
    tree_ = analysis::build_call_tree(*experiment_, symbolizer, options);
    model_.emplace(run_of(*experiment_, tree_));
    if (iteration) find_iteration(*iteration);
    else model_->add_found();
    values_.emplace(*model_);
    leaves_.emplace(*experiment_);
    add_nodes();
    add_metrics();
  }

  void for_each_node(std::size_t location, const TakeNode& take) override {
    const Thread thread{locations_[location].rank, locations_[location].thread};
    if (thread.first != open_rank_) open_rank(thread.first);
    run::UnitRef unit;
    if (is_of_iteration_) {
      const auto at = units_.find(thread);
      if (at == units_.end()) return;
      unit = at->second;
    }
    values_->for_each_node(thread.first, thread.second, unit, [&](std::uint32_t node, std::span<const double> values) {
      row_.assign(values.begin(), values.end());
      row_.resize(metrics_.size());
      if (estimated_ > 0) add_waits(node, row_);
      else limit_waits(row_);
      take(node - 1, row_);
    });
  }

 private:
  using Thread = std::pair<std::int32_t, std::int32_t>;  ///< rank and thread

  /// Fills units_. A location whose damaged log lacks the iteration is treated as one that never had it.
  void find_iteration(const IterationOfLoop& wanted) {
    std::set<std::string> loops;
    run::for_each_loop(*experiment_, [&](const run::LoopPlace& of, const experiment::Loop& loop, auto&) {
      loops.insert(loop.name);
      if (!wanted.loop.empty() && loop.name != wanted.loop) return;
      const auto nothing = [](std::int64_t, std::int32_t, std::span<const std::int64_t>) {};
      if (run::with_iteration(loop, wanted.number, nothing))
        units_[{of.rank, of.thread}] = {run::UnitRef::Iteration, of.loop, wanted.number};
    });
    if (loops.empty()) throw ExportError("no loop is marked in this experiment");
    if (wanted.loop.empty() && loops.size() > 1)
      throw ExportError(fmt::format("several loops are marked: --loop says which of {}", fmt::join(loops, ", ")));
    if (!wanted.loop.empty() && !loops.contains(wanted.loop))
      throw ExportError(fmt::format("no loop is called {}; there are {}", wanted.loop, fmt::join(loops, ", ")));
    if (units_.empty())
      throw ExportError(fmt::format("loop {} has no iteration {}", wanted.loop.empty() ? *loops.begin() : wanted.loop,
                                    wanted.number));
  }

  /// Adds the nodes of the tree except its root.
  void add_nodes() {
    for (std::uint32_t i = 1; i < tree_.nodes.size(); ++i) {
      const analysis::TreeNode& node = tree_.nodes[i];
      nodes_.push_back({kind_of(node), node.parent - 1, model_->nodes().end(i) - 1, node.name});
    }
  }

  /// Waiting and other metrics that tools have stored are not children of the time in MPI here: that is already divided
  /// by class of function, and the children of a metric must not exceed it.
  void add_metrics() {
    const auto is_waiting = [](const std::string& name) {
      return std::ranges::find(waiting_names, name) != waiting_names.end();
    };
    metrics_ = model_->metrics().list();
    for (run::Metric& metric : metrics_) {
      const auto above = static_cast<std::size_t>(metric.parent);
      const bool is_below_found = metric.parent >= 0 && metrics_[above].from == run::Metric::Found;
      if (is_waiting(metric.name)) kinds_.push_back(below_waiting_.size());
      below_waiting_.push_back(is_waiting(metric.name) || (is_below_found && below_waiting_[above]));
      if (metric.from == run::Metric::Found && !is_below_found) metric.parent = -1;
    }
    if (is_of_iteration_ || !kinds_.empty() || !minima_.any()) return;
    for (const analysis::MinimumWaits::OfPath& of : minima_.paths())
      for (const auto& [kind, seconds] : of.kinds_s)
        if (!metric(kind)) {
          metrics_.push_back({std::string(kind), "s", -1, "waiting, estimated from the durations of calls"});
          ++estimated_;
        }
  }

  /// Divides a rank's waiting among its threads in proportion to their time in the calls.
  void open_rank(std::int32_t rank) {
    open_rank_ = rank;
    waits_.clear();
    if (estimated_ == 0) return;
    const run::Keys by_node = run::by_node(model_->nodes());
    run::Grouping calls(model_->nodes(), model_->metrics(),
                        {.keys = &by_node, .metrics = {run::mpi}, .has_errors = false, .has_inclusive = false});
    for (const RunLocation& of : std::ranges::equal_range(locations_, rank, {}, &RunLocation::rank))
      if (const run::Leaf* leaf = leaves_->of(rank, of.thread)) calls.add(*leaf);
    const std::vector<run::Answer> of_rank = calls.finish();
    if (of_rank.empty()) return;
    for (const analysis::MinimumWaits::OfPath& of : minima_.of_rank(*leaves_->rank())) {
      const std::uint32_t node = model_->nodes().of_path(of.path);
      auto& waits = waits_[node];
      waits.calls_s = of_rank[0].exclusive_s(node, 0);
      waits.by_kind.resize(estimated_);
      for (const auto& [kind, seconds] : of.kinds_s)
        if (const auto m = metric(kind); m && *m + estimated_ >= metrics_.size())
          waits.by_kind[*m + estimated_ - metrics_.size()] += seconds;
    }
  }

  void add_waits(std::uint32_t node, std::vector<double>& row) const {
    const auto at = waits_.find(node);
    if (at == waits_.end() || at->second.calls_s <= 0) return;
    double all = 0;
    for (const double seconds : at->second.by_kind) all += seconds;
    // An estimate may exceed the time of the calls.
    const double part = row[metric(mpi_metric).value_or(0)] / std::max(at->second.calls_s, all);
    for (std::size_t k = 0; k < estimated_; ++k) row[metrics_.size() - estimated_ + k] = at->second.by_kind[k] * part;
  }

  /// Limits waiting to the time in MPI: extrapolated from a sample of iterations, it may exceed that at one location.
  void limit_waits(std::vector<double>& row) const {
    double all = 0;
    for (const std::size_t m : kinds_) all += row[m];
    const double mpi = row[metric(mpi_metric).value_or(0)];
    if (!(all > mpi)) return;
    for (std::size_t m = 0; m < below_waiting_.size(); ++m)
      if (below_waiting_[m]) row[m] *= mpi / all;
  }

  struct WaitsOfNode {
    std::vector<double> by_kind;
    double calls_s = 0;  ///< time of the calls, in all threads of the rank
  };

  std::shared_ptr<const experiment::Experiment> experiment_;
  analysis::MinimumWaits minima_;
  bool is_of_iteration_;
  analysis::CallTree tree_;
  std::optional<run::Run> model_;
  std::optional<run::ValueReader> values_;
  std::optional<run::LeafReader> leaves_;       ///< holds the rank of waits_, so that it is read once
  std::map<Thread, run::UnitRef> units_;        ///< of the chosen iteration, by thread that has it
  std::vector<double> row_;                     ///< values of one node
  std::vector<std::size_t> kinds_;              ///< metrics of waiting that a search has found
  std::vector<bool> below_waiting_;             ///< by metric other than estimates: in kinds_, or below one of these
  std::size_t estimated_ = 0;                   ///< number of estimates of waiting, the last ones of metrics_
  std::int32_t open_rank_ = -1;                 ///< rank of waits_
  std::map<std::uint32_t, WaitsOfNode> waits_;  ///< by node of the tree
};

}  // namespace

std::unique_ptr<Run> run_of_experiment(std::shared_ptr<const experiment::Experiment> experiment,
                                       std::string_view version, const std::optional<IterationOfLoop>& iteration) {
  return std::make_unique<RunOfExperiment>(std::move(experiment), version, iteration);
}

std::span<const std::string_view> kinds_of_waiting() { return waiting_names; }

}  // namespace refrain::exports
