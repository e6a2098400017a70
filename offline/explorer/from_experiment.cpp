#include "offline/explorer/from_experiment.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <unordered_set>

#include "offline/explorer/advice.hpp"
#include "offline/explorer/facts.hpp"
#include "offline/explorer/loop_parts.hpp"
#include "offline/explorer/own_values.hpp"
#include "offline/explorer/page.hpp"
#include "offline/explorer/places.hpp"
#include "offline/explorer/told.hpp"
#include "offline/explorer/value_table.hpp"
#include "offline/report/loop_efficiency.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/run/rows.hpp"
#include "statistics/statistics.hpp"

namespace refrain::explorer {
namespace {

using run::PathKind;

constexpr const char* waiting = "wait";
constexpr double s_per_ns = 1e-9;

class Maker {
 public:
  Maker(std::shared_ptr<const experiment::Experiment> experiment, symbols::Symbolizer& symbolizer,
        const Request& request)
      : experiment_(std::move(experiment)),
        symbolizer_(symbolizer),
        request_(request),
        minima_(experiment_->definitions()) {
    read_tree();
    model_.emplace(run_of(*experiment_, tree_));
    model_->add_found();
    own_.emplace(*model_);
    list_nodes();
    list_metrics();
    list_places();
    table_.emplace(metrics_.size(), tree_.nodes.size(), run_.places.size());
  }

  Run make() {
    read_run();
    loops_ = view_loops({experiment_, symbolizer_}, shown_, tree_);
    add_waits();
    const auto place_of = [&](const run::LoopPlace& of) { return place_of_[thread_of_.at({of.rank, of.thread})]; };
    const std::size_t all = room_for_values(request_.bytes), of_run = rows_ * run_.places.size();
    const LoopInput input{experiment_,
                          tree_,
                          model_->nodes(),
                          *own_,
                          loops_,
                          patterns(),
                          place_of,
                          request_.bytes,
                          run_.places.size(),
                          (all - std::min(all, of_run)) / shown_loops(loops_),
                          model_->metrics().asked_for().size(),
                          request_.path_values};
    add_loops(input, *table_, run_);
    keep_used_metrics();
    add_errors();
    tell();
    run_.lacks.insert(run_.lacks.end(), request_.lacks.begin(), request_.lacks.end());
    return std::move(run_);
  }

 private:
  void read_tree() {
    report::OverviewBuilder overview;
    analysis::CallTreeOptions options = report::tree_options(shown_, {});
    options.also = [&](const experiment::Rank& rank) {
      overview.add(rank);
      minima_.add(rank);
      hosts_[rank.rank] = rank.host;
    };
    tree_ = build_call_tree(*experiment_, symbolizer_, options);
    const report::Overview about = overview.finish(*experiment_, shown_, tree_);
    run_.name = report::root_name(*experiment_) + fmt::format(", {} ranks", about.ranks);
    run_.source = "refrain";
    run_.ranks = about.ranks;
    run_.facts = facts_of(*experiment_, about, tree_);
    if (about.state != "complete")
      run_.lacks.push_back({"overview", "The run did not end as it should: what was written last is shown."});
  }

  void list_nodes() {
    for (const analysis::TreeNode& of : tree_.nodes) {
      run_.nodes.push_back({of.parent, of.name, of.kind, of.marked});
      run_.runtimes.push_back(of.runtime);
    }
  }

  void list_metrics() {
    const auto advice = advice_of(embedded_patterns);
    for (const run::Metric& of : own_->metrics()) {
      Metric metric{of.name, title_of(of.name), of.unit, of.parent, of.help, {}, false, true, Metric::Exact};
      metric.overlaps = of.from == run::Metric::Found;
      metric.of_run_only = of.is_of_run_only();
      if (metric.name == "user") metric.error = Metric::Samples;
      if (const auto at = advice.find(of.name); at != advice.end() && metric.overlaps) {
        if (metric.help.empty()) metric.help = at->second.help;
        metric.advice = at->second.advice;
      }
      metrics_.push_back(std::move(metric));
    }
    metrics_.push_back({waiting, "Waiting", "s", static_cast<int>(own_->place_of(run::mpi)),
                        "time in MPI in which the process has waited for others",
                        "refrain report --waits shows how it is known, and --findings what has caused it.", true, false,
                        Metric::Given, true});
  }

  /// Lists as many places as there is room for values by place.
  void list_places() {
    std::vector<Thread> threads;
    for (const analysis::LocationSummary& of : tree_.locations) {
      thread_of_[{of.rank, of.thread}] = threads.size();
      threads.push_back({hosts_[of.rank], of.rank, of.thread, of.user_s, of.mpi_s});
    }
    rows_ = count_rows();
    const std::size_t room = room_for_values(request_.bytes) / 4 * 3;  // the rest is for parts of loops
    Grouping grouping = group_places(threads, room_for_places(room, rows_));
    run_.places = std::move(grouping.places);
    place_of_ = std::move(grouping.place_of);
    if (grouping.is_grouped) run_.lacks.push_back(lack_of_threads(threads.size()));
  }

  /// Approximate number of pairs of call path and metric with a value in the run.
  std::size_t count_rows() const {
    std::size_t rows = 0;
    for (const analysis::TreeNode& of : tree_.nodes) {
      rows += metrics_at(of, model_->metrics().asked_for().size());
      if (of.kind == PathKind::Mpi && of.exclusive_s > 0) ++rows;  // waiting
    }
    for (const experiment::SavedMetric& found : model_->metrics().found()) {
      std::unordered_set<std::int64_t> paths;
      for (const auto& of : found.values) paths.insert(of.path);
      rows += paths.size();
    }
    return rows;
  }

  /// The values of a thread in the whole run.
  struct OfThread {
    std::size_t thread = 0;
    std::vector<OwnValue> values;
    run::Stratum samples;
  };
  struct OfRank {
    std::int32_t rank = 0;
    std::vector<OfThread> threads;
    std::vector<double> divided;  ///< by node (Sums::Divided)
  };

  void read_run() {
    divided_.resize(tree_.nodes.size());
    std::vector<std::size_t> places(experiment_->ranks().size());
    std::iota(places.begin(), places.end(), 0);
    std::size_t done = 0;
    request_.progress(done, places.size());
    const run::Leaves leaves(experiment_->definitions());
    const auto read = [&](const experiment::RankHandle& rank) {
      OfRank of;
      if (!rank) return of;
      of.rank = rank->rank;
      of.divided.resize(divided_.size());
      for_each_leaf(*rank, leaves, [&](const run::Leaf& leaf) {
        const auto thread = thread_of_.find({of.rank, leaf.location.thread});
        if (thread == thread_of_.end()) return;
        std::vector<double> weights(tree_.nodes.size());
        of.threads.push_back({thread->second, own_->of(leaf, weights), leaf.stratum()});
        add_divided(of.threads.back().samples, weights, of.divided);
      });
      return of;
    };
    constexpr std::size_t any_threads = 256;
    make_and_use(*experiment_, places, experiment::Depth::Run, any_threads, read, [&](const OfRank& of) {
      for (const auto& [thread, values, samples] : of.threads) {
        const std::uint32_t place = place_of_[thread];
        for (const OwnValue& own : values) table_->add_thread(own.metric, own.node, place, of.rank, own.value);
        add_samples(samples, run_.places[place].samples);
        add_samples(samples, run_.samples);
      }
      for (std::size_t node = 0; node < of.divided.size(); ++node) divided_[node] += of.divided[node];
      request_.progress(++done, places.size());
    });
    request_.progress(places.size(), places.size());
  }

  static void add_samples(const run::Stratum& of, Samples& samples) {
    samples.seconds += of.time * s_per_ns;
    samples.variance += variance_of(of);
  }

  /// Samples::variance of a thread.
  static double variance_of(const run::Stratum& of) {
    const double samples = statistics::effective_samples(of.weight, of.squares), seconds = of.time * s_per_ns;
    return samples > 0 ? seconds * seconds / samples : 0;
  }

  /// Divides the variance of a thread among the nodes. `weights`: of the thread's samples by node, in nanoseconds.
  static void add_divided(const run::Stratum& of, const std::vector<double>& weights, std::vector<double>& to) {
    if (!(of.weight > 0)) return;
    const double variance = variance_of(of);
    for (std::size_t node = 0; node < weights.size(); ++node) to[node] += weights[node] / of.weight * variance;
  }

  /// The call path with most time among those that end in the function.
  std::optional<std::uint32_t> node_of_function(const std::string& name) const {
    std::optional<std::uint32_t> best;
    for (std::uint32_t node = 1; node < tree_.nodes.size(); ++node)
      if (tree_.nodes[node].name == name && (!best || tree_.nodes[node].inclusive_s > tree_.nodes[*best].inclusive_s))
        best = node;
    return best ? std::optional(*best) : std::nullopt;
  }

  void add_properties(const std::vector<report::NodeWait>& waits) {
    if (!request_.properties) return;
    constexpr std::size_t most = 200'000;  // rows of a database: about a second
    std::size_t rows = tree_.nodes.size() * tree_.locations.size();
    for (const report::LoopGroup& group : loops_.groups)
      for (const report::LoopPlace& of : group.locations) rows += static_cast<std::size_t>(of.iterations);
    if (rows > most) {
      run_.lacks.push_back(
          {"overview",
           "Properties are not evaluated, the run is too large for it here: refrain db add, refrain properties."});
      return;
    }
    for (const FoundProperty& of : request_.properties(tree_, waits))
      run_.properties.push_back({of.name, of.context, of.severity, of.confidence,
                                 of.region.empty() ? std::nullopt : node_of_function(of.region)});
  }

  void add_efficiency(const std::string& loop, const report::PartTimes& times) {
    const auto of = analysis::efficiency_of(times.ranks);
    if (!of || of->processes < 2) return;
    EfficiencyTree& tree = run_.efficiencies.emplace_back(EfficiencyTree{loop, times.why_no_waits, {}});
    for (const analysis::EfficiencyFactor& factor : analysis::efficiency_factors()) {
      const auto value = factor.of(*of);
      tree.factors.push_back({factor.name, factor.words, factor.depth,
                              value ? std::optional(value->value) : std::nullopt, value ? value->error : 0});
    }
  }

  void add_efficiencies(const std::vector<report::NodeWait>& waits) {
    const report::EfficiencyInput input{*experiment_, tree_, waits, &minima_};
    add_efficiency("", report::times_of_run(input));
    for (const report::LoopTimes& loop : report::times_of_loops(experiment_, input))
      add_efficiency(loop.name, loop.times);
  }

  void add_waits() {
    const auto waits =
        report::waits_of(tree_, request_.found.waits(shown_.has_usual_names()), minima_.any() ? &minima_ : nullptr);
    add_properties(waits);
    add_efficiencies(waits);
    const std::size_t metric = metrics_.size() - 1;
    const bool by_rank =
        std::ranges::any_of(waits, [](const auto& of) { return of.seconds > 0; }) &&
        std::ranges::none_of(waits, [](const auto& of) { return of.seconds > 0 && of.by_rank.empty(); });
    metrics_[metric].by_place = by_rank;
    bool is_known = false;
    for (std::size_t node = 0; node < waits.size(); ++node) {
      const report::NodeWait& of = waits[node];
      is_known |= of.method != report::NodeWait::Method::None;
      if (of.error_s() > 0) wait_errors_.emplace_back(node, of);
      if (!by_rank) table_->add_sum(0, metric, node, of.seconds);
      for (const auto& [rank, seconds] : of.by_rank)
        if (const auto thread = thread_of_.find({rank, 0}); by_rank && thread != thread_of_.end())
          table_->add(0, metric, node, place_of_[thread->second], seconds);
    }
    if (!is_known)
      run_.lacks.push_back(
          {"trees", "Waiting is not known: the experiment has neither events nor durations of calls."});
    else if (!by_rank) run_.lacks.push_back({"trees", "Waiting is known of all ranks together only."});
  }

  std::vector<PatternSource> patterns() {
    constexpr std::size_t most = 8;
    if (loops_.groups.empty() || !request_.found.has_events) return {};
    return pattern_sources(experiment_, model_->metrics().found(), most, run_.lacks);
  }

  /// Drops metrics that have no value and no used metric below them.
  void keep_used_metrics() {
    std::vector<bool> used = table_->used_metrics();
    used[0] = true;
    for (std::size_t m = metrics_.size(); m-- > 0;)
      if (used[m] && metrics_[m].parent >= 0) used[static_cast<std::size_t>(metrics_[m].parent)] = true;
    std::vector<std::uint32_t> number(metrics_.size());
    for (std::size_t m = 0; m < metrics_.size(); ++m) {
      number[m] = static_cast<std::uint32_t>(run_.metrics.size());
      if (!used[m]) continue;
      Metric& metric = run_.metrics.emplace_back(metrics_[m]);
      if (metric.parent >= 0) metric.parent = static_cast<int>(number[static_cast<std::size_t>(metric.parent)]);
    }
    table_->finish(number, run_);
    user_ = number[own_->place_of(run::user)];
    wait_ = number[metrics_.size() - 1];
  }

  void add_errors() {
    const auto add = [&](Sums::Kind kind, const auto& value_of) {
      Sums row{kind, 0, user_, {}, {}};
      for (std::uint32_t node = 0; node < tree_.nodes.size(); ++node)
        if (const double value = value_of(node); value > 0) row.nodes.push_back(node), row.values.push_back(value);
      run_.sums.push_back(std::move(row));
    };
    const auto square_of = [&](double analysis::TreeNode::*error) {
      return [this, error](std::uint32_t node) { return tree_.nodes[node].*error * tree_.nodes[node].*error; };
    };
    add(Sums::Divided, [&](std::uint32_t node) { return divided_[node]; });
    add(Sums::OwnVariance, square_of(&analysis::TreeNode::exclusive_error_s));
    add(Sums::WholeVariance, square_of(&analysis::TreeNode::standard_error_s));
    if (wait_ < run_.metrics.size()) add_wait_errors();
  }

  void add_wait_errors() {
    const auto put = [&](Sums::Kind kind, std::uint32_t unit, const auto& value_of) {
      Sums row{kind, unit, wait_, {}, {}};
      for (const auto& [node, wait] : wait_errors_)
        if (const double value = value_of(wait); value != 0) row.nodes.push_back(node), row.values.push_back(value);
      run_.sums.push_back(std::move(row));
    };
    put(Sums::Errors, 0, [](const run::Estimate& of) { return of.bounds_deviation_s(); });
    if (std::ranges::all_of(wait_errors_, [](const auto& of) { return of.second.replicates.empty(); })) return;
    for (std::uint32_t r = 0; r < run::Replicates::count; ++r)
      put(Sums::Replicate, r, [r](const run::Estimate& of) { return static_cast<double>(of.replicates.ns[r]) * 1e-9; });
  }

  void tell() {
    const auto node_of = [&](const findings::Path& path) -> std::optional<std::uint32_t> {
      std::uint32_t node = 0;
      for (const std::string& name : path) {
        const auto& children = tree_.nodes[node].children;
        const auto child = std::ranges::find(children, name, [&](std::uint32_t of) { return tree_.nodes[of].name; });
        if (child == children.end()) return std::nullopt;
        node = *child;
      }
      return node;
    };
    const auto is_loop = [&](const std::string& name) {
      return std::ranges::find(run_.loops, name, &Loop::name) != run_.loops.end();
    };
    for (const findings::Finding& finding : request_.found.findings) {
      Told told = told_of(finding, node_of, is_loop);
      if (std::ranges::find(run_.metrics, told.metric, &Metric::name) == run_.metrics.end()) told.metric.clear();
      run_.findings.push_back(std::move(told));
    }
  }

  std::shared_ptr<const experiment::Experiment> experiment_;
  symbols::Symbolizer& symbolizer_;
  const Request& request_;
  const report::Request shown_ = {};  ///< default options
  analysis::MinimumWaits minima_;
  analysis::CallTree tree_;
  std::optional<run::Run> model_;
  std::optional<OwnValues> own_;
  std::map<std::int32_t, std::string> hosts_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> thread_of_;  ///< by rank and thread
  std::vector<std::uint32_t> place_of_;                                     ///< by thread
  std::vector<Metric> metrics_;                                             ///< metrics of the model, then waiting
  std::size_t rows_ = 0;                                                    ///< of values by place, approximately
  std::optional<ValueTable> table_;
  std::vector<double> divided_;                                       ///< by node (Sums::Divided)
  std::vector<std::pair<std::uint32_t, run::Estimate>> wait_errors_;  ///< ascending by node
  std::uint32_t user_ = 0, wait_ = 0;
  report::LoopView loops_;
  Run run_;
};

}  // namespace

Run run_of(const std::shared_ptr<const experiment::Experiment>& experiment, symbols::Symbolizer& symbolizer,
           const Request& request) {
  return Maker(experiment, symbolizer, request).make();
}

}  // namespace refrain::explorer
