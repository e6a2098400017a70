#include "offline/export/run_of_experiment.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <utility>

#include "offline/analysis/call_tree.hpp"
#include "offline/analysis/iterations.hpp"
#include "offline/analysis/minimum_waits.hpp"
#include "offline/analysis/severities.hpp"
#include "offline/export/export_error.hpp"
#include "offline/symbols/experiment_names.hpp"
#include "offline/symbols/symbols.hpp"

namespace refrain::exports {
namespace {

constexpr std::array<std::string_view, 14> waiting_names{
    "late_sender", "late_receiver",   "early_reduce",     "early_scan",   "late_broadcast",
    "wait_at_nxn", "wait_at_barrier", "wait_at_finalize", "wait_at_init", "wait_at_fence",
    "late_post",   "early_wait",      "lock_contention",  "polling"};

/// Of "2024-05-01T12:00:00Z"; 0: it is none.
std::int64_t nanoseconds_since_1970(const std::string& iso) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (std::sscanf(iso.c_str(), "%d-%d-%dT%d:%d:%d", &year, &month, &day, &hour, &minute, &second) != 6) return 0;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return 0;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1'000'000'000;
}

RunNode::Kind kind_of(const analysis::TreeNode& node) {
  if (node.kind == analysis::PathKind::Mpi) return RunNode::Mpi;
  if (node.marked) return RunNode::Mark;
  return node.kind == analysis::PathKind::Other ? RunNode::Other : RunNode::Function;
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
    facts_.started_ns = nanoseconds_since_1970(manifest.started);
    facts_.processes = experiment_->definitions().ranks_expected;

    symbols::Symbolizer symbolizer;
    symbols::use_names(*experiment_, symbolizer);
    analysis::CallTreeOptions options;
    options.fold.runtimes = true;  // as reports have it
    options.also = [this](const experiment::Rank& rank) {
      minima_.add(rank);
      for (std::size_t i = 0; i < rank.locations.size(); ++i)
        locations_.push_back({rank.rank, rank.locations[i].thread, rank.locations[i].name, rank.host});
    };
    tree_ = analysis::build_call_tree(*experiment_, symbolizer, options);
    for (std::size_t i = 0; i < locations_.size(); ++i) refs_.push_back(ref_of(i));
    severities_.emplace(experiment_, tree_);
    if (iteration) find_iteration(*iteration);
    add_nodes();
    add_metrics();
  }

  void for_each_node(std::size_t location, const TakeNode& take) override {
    if (locations_[location].rank != open_rank_) open_rank(location);
    rows_.clear();
    if (is_of_iteration_ && !units_[location]) return;
    const analysis::UnitRef unit = is_of_iteration_ ? *units_[location] : analysis::UnitRef();
    const auto take_row = [&](std::uint32_t node, std::span<const double> values) {
      if (node == 0) return;
      auto& row = rows_[place_[node]];
      row.assign(values.begin(), values.end());
      row.resize(metrics_.size());
      if (estimated_ > 0) add_waits(node, row);
      else limit_waits(row);
    };
    severities_->for_each_node(refs_[location], take_row, unit);
    for (const auto& [node, values] : rows_) take(node, values);
  }

 private:
  /// Locations come in the order of ranks.
  analysis::LocationRef ref_of(std::size_t location) const {
    const auto& ranks = experiment_->ranks();
    const std::int32_t rank = locations_[location].rank;
    std::size_t number = 0;
    while (number < location && locations_[location - number - 1].rank == rank) ++number;
    return {static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin()), number};
  }

  /// Fills units_. Iterations that a damaged log lacks are as if the location did not have them.
  void find_iteration(const IterationOfLoop& wanted) {
    std::set<std::string> loops;
    units_.resize(locations_.size());
    for (std::size_t i = 0; i < locations_.size(); ++i) {
      const auto rank = experiment_->rank(refs_[i].place, experiment::Depth::Loops);
      if (!rank || refs_[i].location >= rank->locations.size()) continue;
      const auto& own = rank->locations[refs_[i].location].loops;
      for (std::size_t loop = 0; loop < own.size(); ++loop) {
        loops.insert(own[loop].name);
        if (!wanted.loop.empty() && own[loop].name != wanted.loop) continue;
        const auto nothing = [](std::int64_t, std::int32_t, std::span<const std::int64_t>) {};
        if (analysis::with_iteration(own[loop], wanted.number, nothing))
          units_[i] = {analysis::UnitRef::Iteration, loop, wanted.number};
      }
    }
    if (loops.empty()) throw ExportError("no loop is marked in this experiment");
    if (wanted.loop.empty() && loops.size() > 1)
      throw ExportError(fmt::format("several loops are marked: --loop says which of {}", fmt::join(loops, ", ")));
    if (!wanted.loop.empty() && !loops.contains(wanted.loop))
      throw ExportError(fmt::format("no loop is called {}; there are {}", wanted.loop, fmt::join(loops, ", ")));
    if (std::ranges::none_of(units_, [](const auto& unit) { return unit.has_value(); }))
      throw ExportError(fmt::format("loop {} has no iteration {}", wanted.loop.empty() ? *loops.begin() : wanted.loop,
                                    wanted.number));
  }

  /// Nodes of the tree in preorder, without its root.
  void add_nodes() {
    place_.resize(tree_.nodes.size());
    const auto& top = tree_.nodes[0].children;
    std::vector<std::uint32_t> open(top.rbegin(), top.rend());
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      const analysis::TreeNode& node = tree_.nodes[at];
      place_[at] = static_cast<std::uint32_t>(nodes_.size());
      const std::int32_t parent =
          node.parent <= 0 ? -1 : static_cast<std::int32_t>(place_[static_cast<std::size_t>(node.parent)]);
      nodes_.push_back({kind_of(node), parent, place_[at] + 1, node.name});
      open.insert(open.end(), node.children.rbegin(), node.children.rend());
    }
    for (std::size_t i = nodes_.size(); i-- > 0;)
      if (nodes_[i].parent >= 0) {
        std::uint32_t& end = nodes_[static_cast<std::size_t>(nodes_[i].parent)].end;
        end = std::max(end, nodes_[i].end);
      }
  }

  /// Waiting, and what else tools have kept, is no part of the time in MPI here: that is divided into classes of
  /// functions already, and a metric's children may not come to more than it has.
  void add_metrics() {
    const auto is_waiting = [](const std::string& name) {
      return std::ranges::find(waiting_names, name) != waiting_names.end();
    };
    const std::size_t first_saved = analysis::severity_metric_names().size() + tree_.extra_metrics.size();
    for (const analysis::MetricNode& metric : severities_->metrics()) {
      const bool is_saved = metrics_.size() >= first_saved;
      if (is_saved && is_of_iteration_) return;
      const bool is_below_saved = metric.parent >= static_cast<int>(first_saved);
      if (is_waiting(metric.name)) kinds_.push_back(metrics_.size());
      const bool is_below_waiting = is_below_saved && below_waiting_[static_cast<std::size_t>(metric.parent)];
      below_waiting_.push_back(is_waiting(metric.name) || is_below_waiting);
      metrics_.push_back({metric.name, metric.unit, is_saved && !is_below_saved ? -1 : metric.parent, metric.help});
    }
    if (is_of_iteration_ || !kinds_.empty() || !minima_.any()) return;
    for (const analysis::MinimumWaits::OfPath& of : minima_.paths())
      for (const auto& [kind, seconds] : of.kinds_s)
        if (!metric(kind)) {
          metrics_.push_back({std::string(kind), "s", -1, "waiting, estimated from the durations of calls"});
          ++estimated_;
        }
  }

  /// That of this location. A rank's waiting is divided among its threads as their time in the calls is.
  void open_rank(std::size_t location) {
    open_rank_ = locations_[location].rank;
    waits_.clear();
    open_ = experiment_->rank(refs_[location].place, experiment::Depth::Run);
    if (!open_ || estimated_ == 0) return;
    for (const analysis::MinimumWaits::OfPath& of : minima_.of_rank(*open_)) {
      if (of.path >= tree_.node_of.size()) continue;
      auto& waits = waits_[tree_.node_of[of.path]];
      waits.by_kind.resize(estimated_);
      for (const auto& [kind, seconds] : of.kinds_s)
        if (const auto m = metric(kind); m && *m + estimated_ >= metrics_.size())
          waits.by_kind[*m + estimated_ - metrics_.size()] += seconds;
    }
    const std::size_t mpi = metric(mpi_metric).value_or(0);
    for (std::size_t i = 0; i < open_->locations.size(); ++i)
      severities_->for_each_node({refs_[location].place, i}, [&](std::uint32_t node, std::span<const double> values) {
        if (const auto at = waits_.find(node); at != waits_.end()) at->second.calls_s += values[mpi];
      });
  }

  void add_waits(std::uint32_t node, std::vector<double>& row) const {
    const auto at = waits_.find(node);
    if (at == waits_.end() || at->second.calls_s <= 0) return;
    double all = 0;
    for (const double seconds : at->second.by_kind) all += seconds;
    // An estimate may come to more than the calls have taken.
    const double part = row[metric(mpi_metric).value_or(0)] / std::max(at->second.calls_s, all);
    for (std::size_t k = 0; k < estimated_; ++k) row[metrics_.size() - estimated_ + k] = at->second.by_kind[k] * part;
  }

  /// What a sample of iterations tells of one location may come to more than its calls have taken.
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
    double calls_s = 0;  ///< of all threads of the rank
  };

  std::shared_ptr<const experiment::Experiment> experiment_;
  analysis::MinimumWaits minima_;
  bool is_of_iteration_;
  analysis::CallTree tree_;
  std::optional<analysis::Severities> severities_;
  std::vector<analysis::LocationRef> refs_;              ///< by location
  std::vector<std::optional<analysis::UnitRef>> units_;  ///< by location, of an iteration; nothing: it has none
  std::vector<std::uint32_t> place_;                     ///< among nodes_, by node of the tree
  std::map<std::uint32_t, std::vector<double>> rows_;    ///< of one location
  std::vector<std::size_t> kinds_;                       ///< metrics of waiting that a search has found
  std::vector<bool> below_waiting_;                      ///< by metric that is no estimate: one of these, or below one
  std::size_t estimated_ = 0;                            ///< the last ones of metrics_ are estimates of waiting
  std::int32_t open_rank_ = -1;                          ///< waits_ is of this rank
  experiment::RankHandle open_;                          ///< the same; while it is held it is read once
  std::map<std::uint32_t, WaitsOfNode> waits_;           ///< by node of the tree
};

}  // namespace

std::unique_ptr<Run> run_of_experiment(std::shared_ptr<const experiment::Experiment> experiment,
                                       std::string_view version, const std::optional<IterationOfLoop>& iteration) {
  return std::make_unique<RunOfExperiment>(std::move(experiment), version, iteration);
}

std::span<const std::string_view> kinds_of_waiting() { return waiting_names; }

}  // namespace refrain::exports
