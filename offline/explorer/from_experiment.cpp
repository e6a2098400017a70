#include "offline/explorer/from_experiment.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "offline/explorer/advice.hpp"
#include "offline/explorer/facts.hpp"
#include "offline/explorer/loop_summary.hpp"
#include "offline/explorer/page.hpp"
#include "offline/explorer/places.hpp"
#include "offline/explorer/told.hpp"
#include "offline/explorer/value_table.hpp"
#include "offline/report/loop_efficiency.hpp"
#include "offline/report/loop_view.hpp"
#include "offline/run/iterations.hpp"

namespace refrain::explorer {
namespace {

using run::IterationValue;
using run::PathKind;

constexpr const char* waiting = "wait";
constexpr std::size_t most_paths = 30, most_iterations = 16, most_loops = 8, most_curve_metrics = 16;
/// A float for each place and bin: 16 MiB.
constexpr std::size_t most_curve_values = std::size_t{1} << 22;
/// Reconstructed values of call paths in single iterations: they take about a second.
constexpr std::int64_t most_reconstructed = std::int64_t{1} << 22;
/// Clusters of locations times call paths that are read for the call trees of classes: a few seconds.
constexpr std::int64_t most_of_clusters = 20'000'000;
/// Values of classes and iterations by place.
constexpr std::int64_t most_unit_cells = std::int64_t{1} << 21;

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
    by_node_ = run::by_node(model_->nodes());
    list_nodes();
    list_metrics();
    list_places();
    table_.emplace(metrics_.size(), tree_.nodes.size(), run_.places.size());
  }

  Run make() {
    read_run();
    loops_ = view_loops({experiment_, symbolizer_}, shown_, tree_);
    add_waits();
    for (std::size_t i = 0; i < loops_.groups.size(); ++i) {
      if (i == most_loops) {
        run_.lacks.push_back(
            {"iterations", fmt::format("{} further loops are not in the file.", loops_.groups.size() - i)});
        break;
      }
      add_loop(loops_.groups[i]);
    }
    keep_used_metrics();
    add_weights();
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
    for (const analysis::TreeNode& of : tree_.nodes) run_.nodes.push_back({of.parent, of.name, of.kind, of.marked});
  }

  void list_metrics() {
    const auto advice = advice_of(embedded_patterns);
    const run::Metrics& all = model_->metrics();
    question_ = {.keys = &by_node_, .metrics = all.listed(), .has_errors = false, .has_inclusive = false};
    for (const run::Metric& of : all.list()) {
      Metric metric{of.name, title_of(of.name), of.unit, of.parent, of.help, {}, false, true, Metric::Exact};
      metric.overlaps = of.from == run::Metric::Found;
      if (metric.name == "user") metric.error = Metric::Samples;
      if (const auto at = advice.find(of.name); at != advice.end() && metric.overlaps) {
        if (metric.help.empty()) metric.help = at->second.help;
        metric.advice = at->second.advice;
      }
      metrics_.push_back(std::move(metric));
    }
    metrics_.push_back({waiting, "Waiting", "s", place_of_metric(run::mpi),
                        "time in MPI in which the process has waited for others",
                        "refrain report --waits shows how it is known, and --findings what has caused it.", true, false,
                        Metric::Given});
    question_.metrics.push_back(all.of(format::MetricId::Weight));
  }
  /// In the list of metrics.
  int place_of_metric(std::size_t number) const {
    return static_cast<int>(std::ranges::find(question_.metrics, number) - question_.metrics.begin());
  }

  /// As many as the values by place have room for.
  void list_places() {
    std::vector<Thread> threads;
    for (const analysis::LocationSummary& of : tree_.locations) {
      thread_of_[{of.rank, of.thread}] = threads.size();
      threads.push_back({hosts_[of.rank], of.rank, of.thread, of.user_s, of.mpi_s});
    }
    std::size_t rows = 1;
    for (const analysis::TreeNode& of : tree_.nodes) {
      constexpr std::size_t of_mpi = 4, of_others = 2;  // time and counts that most have
      if (of.exclusive_s > 0 || !of.exclusive.all_zero()) rows += of.kind == PathKind::Mpi ? of_mpi : of_others;
    }
    constexpr double share = 0.55 * 0.75, bytes_of_value = 1.7;  // in base64; of two bytes, compressed
    constexpr std::size_t least = 128;
    const auto room = static_cast<std::size_t>(share * static_cast<double>(request_.bytes) / bytes_of_value /
                                               static_cast<double>(rows));
    Grouping grouping = group_places(threads, std::max(room, least));
    run_.places = std::move(grouping.places);
    place_of_ = std::move(grouping.place_of);
    if (grouping.is_grouped)
      run_.lacks.push_back(
          {"trees",
           fmt::format(
               "{} threads do not fit into the file one by one: those that differ most in user code or in MPI do, "
               "the others are groups of neighbours (--size).",
               threads.size())});
  }

  /// Calls `take` with each call path that has anything in the leaf, and its own values by metric, but for waiting: a
  /// metric without those below it.
  template <class Take>
  run::Answer for_each_node_of(const run::Leaf& leaf, const Take& take) const {
    run::Answer all = answer_of(leaf, model_->nodes(), model_->metrics(), question_);
    const std::size_t count = metrics_.size() - 1;
    std::vector<run::Integer> integers(count);
    std::vector<double> own(count);
    for (std::uint32_t node = 0; node < tree_.nodes.size(); ++node) {
      if (!all.has(node)) continue;
      std::ranges::fill(integers, 0);
      for (std::size_t m = 0; m < count; ++m) {
        const run::Integer value = all.exclusive(node, m).value;
        integers[m] += value;
        if (metrics_[m].parent >= 0 && !metrics_[m].overlaps)
          integers[static_cast<std::size_t>(metrics_[m].parent)] -= value;
      }
      for (std::size_t m = 0; m < count; ++m) own[m] = model_->metrics()[question_.metrics[m]].in_unit(integers[m]);
      take(node, own);
    }
    return all;
  }

  void read_run() {
    weights_.resize(tree_.nodes.size());
    const std::size_t ranks = experiment_->ranks().size(), weight = question_.metrics.size() - 1;
    std::size_t done = 0;
    request_.progress(done, ranks);
    run::for_each_leaf(
        *experiment_, {},
        [&](const run::Leaf& leaf) {
          const auto thread = thread_of_.find({leaf.rank.rank, leaf.location.thread});
          if (thread == thread_of_.end()) return;
          const std::uint32_t place = place_of_[thread->second];
          const run::Answer all = for_each_node_of(leaf, [&](std::uint32_t node, const std::vector<double>& own) {
            for (std::size_t m = 0; m < own.size(); ++m) table_->add_thread(m, node, place, leaf.rank.rank, own[m]);
          });
          for (std::uint32_t node = 0; node < weights_.size(); ++node) weights_[node] += all.exclusive_s(node, weight);
          add_samples(leaf.stratum(), run_.places[place].samples);
          add_samples(leaf.stratum(), run_.samples);
        },
        [&](const experiment::Rank&) { request_.progress(++done, ranks); });
    request_.progress(ranks, ranks);
  }

  static void add_samples(const run::Stratum& of, Samples& samples) {
    constexpr double s_per_ns = 1e-9;
    samples.seconds += of.time * s_per_ns;
    samples.weight += of.weight * s_per_ns;
    samples.squares += of.squares * s_per_ns * s_per_ns;
  }

  /// The largest call path that ends in a function.
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

  /// Those that nothing has, or is below, would only be in the way.
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
    user_ = number[static_cast<std::size_t>(place_of_metric(run::user))];
    wait_ = number[metrics_.size() - 1];
  }

  void add_weights() {
    Sums weights{Sums::Weights, 0, user_, {}, {}};
    for (std::uint32_t node = 0; node < weights_.size(); ++node)
      if (weights_[node] > 0) weights.nodes.push_back(node), weights.values.push_back(weights_[node]);
    run_.sums.push_back(std::move(weights));
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
      if (run_.loops.empty()) told.loop.reset();
      run_.findings.push_back(std::move(told));
    }
  }

  // ---- iterations ----

  /// The marked loop of that name with most time; 0: none, as where a call of MPI begins the iterations.
  std::uint32_t node_of_loop(const std::string& name) const {
    std::uint32_t best = 0;
    for (std::uint32_t node = 1; node < tree_.nodes.size(); ++node)
      if (const auto& of = tree_.nodes[node]; of.marked && of.name == name)
        if (best == 0 || of.inclusive_s > tree_.nodes[best].inclusive_s) best = node;
    return best;
  }

  template <class Use>
  void for_each_open(const report::LoopGroup& group, const Use& use) const {
    for (std::size_t i = 0; i < group.locations.size(); ++i)
      if (const auto open = loops_.open(*experiment_, group.locations[i])) use(i, *open);
  }
  template <class Take>
  static void for_each_present(const report::OpenLoop& open, const Take& take) {
    run::for_each_iteration(open.loop(), [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
      if (!open.was_absent(cluster, row)) take(i, cluster, row);
    });
  }

  /// A part of the bytes that one loop may take, in values of so many bytes.
  std::size_t room(double share, double bytes_of_value) const {
    const auto loops = static_cast<double>(std::clamp<std::size_t>(loops_.groups.size(), 1, most_loops));
    return static_cast<std::size_t>(share * static_cast<double>(request_.bytes) / loops / bytes_of_value);
  }
  std::size_t most_bins(const report::LoopGroup& group) const {
    constexpr double share = 0.07, bytes = 4 * 4;  // of four curves
    const std::size_t rows = curve_metrics(group).size() + most_paths;
    return std::clamp<std::size_t>(room(share, bytes * static_cast<double>(rows)), 64, 2048);
  }
  struct MapSize {
    std::size_t rows, columns;
  };
  /// Three maps of means and peaks, two bytes each, which compress to some three quarters.
  MapSize map_size(std::size_t places) const {
    constexpr double share = 0.15, bytes = 3 * 2 * 2;
    constexpr std::size_t most_rows = 1024, most_columns = 4096;
    const std::size_t cells = std::max<std::size_t>(room(share, bytes), 64 * 64);
    const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(cells)));
    const std::size_t rows = std::min({std::max<std::size_t>(places, 1), most_rows, side});
    return {rows, std::min(cells / rows, most_columns)};
  }

  void add_loop(const report::LoopGroup& group) {
    Loop loop;
    loop.name = group.name;
    const std::uint32_t top = node_of_loop(group.name);
    loop.node = top;
    loop.iterations = group.iterations;
    loop.places = static_cast<std::int64_t>(group.locations.size());
    JobBuilder job(group.iterations);
    add_curves(group, loop, job);
    const std::vector<analysis::JobIteration> iterations = job.finish();
    const analysis::JobClasses classes = analysis::job_classes(iterations);
    add_callpath_curves(group, top, loop);
    const std::size_t first = list_units(group, classes, iterations, job.width());
    for (std::int64_t bin = 0; bin < loop.bins && classes.count > 0; ++bin)
      loop.classes.push_back(
          class_of_bin(classes.of, bin * loop.width / job.width(), ((bin + 1) * loop.width - 1) / job.width(), first));
    read_classes(group, classes, job.width(), first);
    read_iterations(group, first + classes.count);
    run_.loops.push_back(std::move(loop));
  }

  /// Whether the loop has so few values that each metric may have a pass over them.
  static bool is_small(const report::LoopGroup& group) {
    return group.iterations * static_cast<std::int64_t>(group.locations.size()) <= most_reconstructed;
  }

  /// The usual ones first. The others follow in small loops; in large ones only those of REFRAIN_METRICS.
  std::vector<run::Metric> curve_metrics(const report::LoopGroup& group) const {
    constexpr std::string_view usual[] = {"wall", "mpi", "user", "cpu", "mpi_calls", "bytes_sent", "bytes_received"};
    std::vector<run::Metric> metrics;
    for (const std::string_view name : usual)
      if (const auto at = std::ranges::find(loops_.metrics, name, &run::Metric::name); at != loops_.metrics.end())
        metrics.push_back(*at);
    const std::vector<std::string> own = run::iteration_metric_names();
    for (const run::Metric& of : loops_.metrics) {
      const bool is_asked_for = std::ranges::find(own, of.name) == own.end();
      if (std::ranges::find(usual, of.name) == std::end(usual) && (is_asked_for || is_small(group)) &&
          metrics.size() < most_curve_metrics)
        metrics.push_back(of);
    }
    return metrics;
  }

  void add_curves(const report::LoopGroup& group, Loop& loop, JobBuilder& job) {
    constexpr std::size_t with_map = 3;
    const std::size_t places = group.locations.size();
    const std::vector<run::Metric> metrics = curve_metrics(group);
    if (metrics.size() < loops_.metrics.size())
      run_.lacks.push_back(
          {"iterations", fmt::format("{}: {} of {} metrics are not in the file by iteration (refrain report "
                                     "--iterations --metric NAME).",
                                     group.name, loops_.metrics.size() - metrics.size(), loops_.metrics.size())});
    const MapSize size = map_size(places);
    const std::size_t bins = std::min(most_bins(group), most_curve_values / std::max<std::size_t>(places, 1));
    std::vector<CurveBuilder> curves;
    std::vector<MapBuilder> maps;
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      curves.emplace_back(group.iterations, places, bins);
      if (m < with_map) maps.emplace_back(group.iterations, places, size.rows, size.columns);
    }
    // Not by name in each iteration: there may be a hundred million.
    const auto place_in = [&](std::string_view name) {
      return static_cast<std::size_t>(std::ranges::find(metrics, name, &run::Metric::name) - metrics.begin());
    };
    const std::size_t wall = place_in("wall"), mpi = place_in("mpi"), user = place_in("user");
    for_each_open(group, [&](std::size_t place, const report::OpenLoop& open) {
      std::vector<IterationValue> values;
      for (const auto& metric : metrics) values.push_back(value_of_metric(*open.profiles, metric.name));
      std::vector<double> now(values.size());
      for_each_present(open, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
        for (std::size_t m = 0; m < values.size(); ++m) {
          now[m] = values[m] ? values[m](i, cluster, row) : NAN;
          curves[m].add(i, now[m]);
          if (m < maps.size()) maps[m].add(place, i, now[m]);
        }
        const auto value = [&](std::size_t at) { return at < now.size() ? now[at] : NAN; };
        job.add(place, i, value(wall), value(mpi), value(user));
      });
      for (CurveBuilder& curve : curves) curve.end_place();
    });
    for (std::size_t m = 0; m < metrics.size(); ++m) {
      loop.bins = static_cast<std::int64_t>(curves[m].bins());
      loop.width = curves[m].width();
      Curves done = curves[m].finish();
      done.metric = title_of(metrics[m].name);
      done.unit = metrics[m].unit;
      if (m < maps.size()) {
        Map& map = loop.maps.emplace_back(maps[m].finish());
        map.metric = done.metric;
        map.unit = done.unit;
      } else if (std::ranges::none_of(done.greatest, [](float value) { return value > 0; })) {
        continue;  // nothing has any of it, or nothing is known
      }
      loop.curves.push_back(std::move(done));
    }
  }

  /// The largest call paths below the loop.
  std::vector<std::uint32_t> largest_below(std::uint32_t top) const {
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t node = top + 1; node < model_->nodes().end(top); ++node)
      if (tree_.nodes[node].kind != PathKind::Other && tree_.nodes[node].inclusive_s > 0) nodes.push_back(node);
    std::ranges::stable_sort(nodes, std::greater<>{},
                             [&](std::uint32_t node) { return tree_.nodes[node].inclusive_s; });
    if (nodes.size() > most_paths) nodes.resize(most_paths);
    return nodes;
  }

  void add_callpath_curves(const report::LoopGroup& group, std::uint32_t top, Loop& loop) {
    const std::vector<std::uint32_t> nodes = largest_below(top);
    const std::size_t places = std::max<std::size_t>(group.locations.size(), 1);
    const std::int64_t evaluations = group.iterations * static_cast<std::int64_t>(places * nodes.size());
    const std::int64_t stride = std::max<std::int64_t>((evaluations + most_reconstructed - 1) / most_reconstructed, 1);
    if (nodes.empty() || group.iterations / stride < 1) return;
    if (stride > 1)
      run_.lacks.push_back(
          {"iterations", fmt::format("{}: call paths are shown of every {}. iteration.", group.name, stride)});
    const std::size_t bins =
        std::min({most_bins(group), most_curve_values / places, static_cast<std::size_t>(group.iterations / stride)});
    std::vector<run::PathSelection> selections;
    std::vector<CurveBuilder> curves;
    for (const std::uint32_t node : nodes) {
      selections.push_back({.paths = analysis::paths_below(tree_, {node})});
      curves.emplace_back(group.iterations, places, std::max<std::size_t>(bins, 1));
    }
    for_each_open(group, [&](std::size_t, const report::OpenLoop& open) {
      std::vector<IterationValue> values;
      for (const auto& selection : selections) values.push_back(value_of_callpaths(*open.profiles, selection, "wall"));
      for_each_present(open, [&](std::int64_t i, std::int32_t cluster, std::span<const std::int64_t> row) {
        if (i % stride != 0) return;
        for (std::size_t n = 0; n < nodes.size(); ++n)
          if (values[n]) curves[n].add(i, values[n](i, cluster, row));
      });
      for (CurveBuilder& curve : curves) curve.end_place();
    });
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      Curves& done = loop.curves.emplace_back(curves[n].finish());
      done.node = nodes[n];
      done.unit = "s";
    }
  }

  static std::uint32_t class_of_bin(const std::vector<std::uint32_t>& of, std::int64_t first, std::int64_t last,
                                    std::size_t unit) {
    std::map<std::uint32_t, std::int64_t> counts;
    for (std::int64_t i = first; i <= last && i < static_cast<std::int64_t>(of.size()); ++i)
      ++counts[of[static_cast<std::size_t>(i)]];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
    return most == counts.end() ? 0 : static_cast<std::uint32_t>(unit) + most->first;
  }

  /// Classes, then single iterations: the one that is nearest to the mean of each class, and the slowest. Returns the
  /// number of the first class.
  std::size_t list_units(const report::LoopGroup& group, const analysis::JobClasses& classes,
                         const std::vector<analysis::JobIteration>& iterations, std::int64_t width) {
    const std::size_t first = run_.units.size();
    const auto loop = static_cast<std::int32_t>(run_.loops.size());
    const std::string prefix = loops_.groups.size() > 1 ? group.name + " " : std::string();
    std::vector<std::int64_t> wanted;
    for (std::uint32_t c = 0; c < classes.count; ++c) {
      Unit unit{Unit::Class, fmt::format("{}class {}", prefix, c + 1), loop};
      double wall = 0, mpi = 0, user = 0, count = 0;
      for (std::size_t i = 0; i < iterations.size(); ++i) {
        if (classes.of[i] != c || !std::isfinite(iterations[i].wall)) continue;
        if (count == 0) unit.first = static_cast<std::int64_t>(i) * width;
        unit.last = std::min((static_cast<std::int64_t>(i) + 1) * width, group.iterations) - 1;
        wall += iterations[i].wall, mpi += iterations[i].mpi, user += iterations[i].user, ++count;
      }
      if (count > 0) unit.wall_s = wall / count, unit.mpi_s = mpi / count, unit.user_s = user / count;
      unit.count = std::min(static_cast<std::int64_t>(count) * width, group.iterations);
      for (const auto& [begin, end] : analysis::runs_of_class(classes.of, c))
        unit.ranges.emplace_back(begin * width, std::min((end + 1) * width, group.iterations) - 1);
      std::int64_t nearest = -1;
      for (std::size_t i = 0; i < iterations.size(); ++i)
        if (classes.of[i] == c && std::isfinite(iterations[i].wall) &&
            (nearest < 0 || std::abs(iterations[i].wall - unit.wall_s) <
                                std::abs(iterations[static_cast<std::size_t>(nearest)].wall - unit.wall_s)))
          nearest = static_cast<std::int64_t>(i);
      if (nearest >= 0) wanted.push_back(nearest);
      run_.units.push_back(std::move(unit));
    }
    const bool are_few = width == 1 && is_small(group);
    if (!are_few) {
      run_.lacks.push_back(
          {"iterations",
           fmt::format("{}: single iterations are not in the file, they are too many; classes are.", group.name)});
      return first;
    }
    std::vector<std::size_t> slowest(iterations.size());
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = i;
    std::erase_if(slowest, [&](std::size_t i) { return !std::isfinite(iterations[i].wall); });
    std::ranges::stable_sort(slowest, std::greater<>{}, [&](std::size_t i) { return iterations[i].slowest; });
    for (const std::size_t i : slowest)
      if (wanted.size() < std::min(most_iterations, classes.count + std::size_t{4}) &&
          std::ranges::find(wanted, static_cast<std::int64_t>(i)) == wanted.end())
        wanted.push_back(static_cast<std::int64_t>(i));
    std::ranges::sort(wanted);
    for (const std::int64_t i : wanted) {
      const analysis::JobIteration& of = iterations[static_cast<std::size_t>(i)];
      run_.units.push_back(
          {Unit::Iteration, fmt::format("{}iteration {}", prefix, i), loop, 1, i, i, of.wall, of.mpi, of.user, true});
    }
    return first;
  }

  std::int64_t most_nodes() const { return static_cast<std::int64_t>(tree_.nodes.size()); }
  void keep_units_by_place(const report::LoopGroup& group, std::size_t first, std::size_t count) {
    const bool are_kept = static_cast<std::int64_t>(count * group.locations.size()) * most_nodes() <= most_unit_cells;
    for (std::size_t unit = first; unit < first + count; ++unit) {
      run_.units[unit].by_place = are_kept;
      table_->keep_by_place(static_cast<std::uint32_t>(unit), are_kept);
    }
    if (!are_kept)
      run_.lacks.push_back(
          {"trees",
           fmt::format("{}: classes and iterations are in the file for all ranks together only.", group.name)});
  }

  std::size_t place_of(const report::LoopPlace& of) const { return place_of_[thread_of_.at({of.rank, of.thread})]; }

  /// What a location did in a class: of each cluster the part that is in the class, MPI and user code each scaled to
  /// the time that the class has of them, which is exact.
  void read_classes(const report::LoopGroup& group, const analysis::JobClasses& classes, std::int64_t width,
                    std::size_t first) {
    std::int64_t clusters = 0;
    for (const auto& of : group.locations) clusters += static_cast<std::int64_t>(of.clusters);
    const bool are_few = clusters * most_nodes() <= most_of_clusters;
    for (std::size_t unit = first; unit < first + classes.count; ++unit) run_.units[unit].has_values = are_few;
    if (!are_few) {
      run_.lacks.push_back(
          {"trees",
           fmt::format("{}: call trees of classes are not in the file: {} clusters on {} threads are too many.",
                       group.name, clusters, group.locations.size())});
      return;
    }
    keep_units_by_place(group, first, classes.count);
    for_each_open(group, [&](std::size_t i, const report::OpenLoop& open) {
      const std::size_t count = open.loop().clusters.size();
      std::vector<double> members(count * classes.count), of_cluster(count);
      struct Exact {
        double mpi = 0, user = 0;
      };
      std::vector<Exact> exact(classes.count);
      const auto mpi = value_of_metric(*open.profiles, "mpi"), user = value_of_metric(*open.profiles, "user");
      for_each_present(open, [&](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
        const auto group_of = static_cast<std::size_t>(iteration / width);
        if (cluster < 0 || static_cast<std::size_t>(cluster) >= count || group_of >= classes.of.size()) return;
        const std::uint32_t c = classes.of[group_of];
        ++members[static_cast<std::size_t>(cluster) * classes.count + c];
        ++of_cluster[static_cast<std::size_t>(cluster)];
        if (mpi) exact[c].mpi += mpi(iteration, cluster, row);
        if (user) exact[c].user += user(iteration, cluster, row);
      });
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> sums;  // by class and node
      for (std::size_t k = 0; k < count; ++k) {
        if (of_cluster[k] == 0) continue;
        const experiment::Unit* unit = open.profiles->cluster_unit(static_cast<std::int32_t>(k));
        if (unit == nullptr) continue;
        open.profiles->with_rows(*unit, true, [&](const run::Leaf& leaf) {
          for_each_node_of(leaf, [&](std::uint32_t node, const std::vector<double>& own) {
            for (std::uint32_t c = 0; c < classes.count; ++c) {
              const double part = members[k * classes.count + c] / of_cluster[k];
              if (part == 0) continue;
              std::vector<double>& to = sums[{c, node}];
              to.resize(own.size());
              for (std::size_t m = 0; m < own.size(); ++m) to[m] += part * own[m];
              if (part < 1) run_.units[first + c].reconstructed = true;
            }
          });
        });
      }
      std::vector<Exact> estimated(classes.count);
      for (const auto& [key, own] : sums)
        for (std::size_t m = 0; m < own.size(); ++m) {
          if (is_below(m, "mpi")) estimated[key.first].mpi += own[m];
          if (is_below(m, "user")) estimated[key.first].user += own[m];
        }
      const auto factor = [](double wanted, double has) { return wanted > 0 && has > 0 ? wanted / has : 1; };
      for (const auto& [key, own] : sums)
        for (std::size_t m = 0; m < own.size(); ++m) {
          const Exact &is = exact[key.first], &has = estimated[key.first];
          const double scale = is_below(m, "mpi")    ? factor(is.mpi, has.mpi)
                               : is_below(m, "user") ? factor(is.user, has.user)
                                                     : 1;
          table_->add(static_cast<std::uint32_t>(first + key.first), m, key.second, place_of(group.locations[i]),
                      scale * own[m]);
        }
    });
  }

  void read_iterations(const report::LoopGroup& group, std::size_t first) {
    const std::size_t count = run_.units.size() - first;
    if (count == 0) return;
    keep_units_by_place(group, first, count);
    for_each_open(group, [&](std::size_t i, const report::OpenLoop& open) {
      const std::size_t place = place_of(group.locations[i]);
      for (std::size_t unit = first; unit < run_.units.size(); ++unit)
        run::with_iteration(open.loop(), run_.units[unit].first,
                            [&](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
                              const run::IterationProfiles& profiles = *open.profiles;
                              profiles.with_rows(
                                  profiles.unit_of(iteration, cluster, row), profiles.is_exact(cluster),
                                  [&](const run::Leaf& leaf) {
                                    for_each_node_of(leaf, [&](std::uint32_t node, const std::vector<double>& own) {
                                      for (std::size_t m = 0; m < own.size(); ++m)
                                        table_->add(static_cast<std::uint32_t>(unit), m, node, place, own[m]);
                                    });
                                  });
                            });
    });
  }

  bool is_below(std::size_t metric, std::string_view above) const {
    for (int at = static_cast<int>(metric); at >= 0; at = metrics_[static_cast<std::size_t>(at)].parent)
      if (metrics_[static_cast<std::size_t>(at)].name == above) return true;
    return false;
  }

  std::shared_ptr<const experiment::Experiment> experiment_;
  symbols::Symbolizer& symbolizer_;
  const Request& request_;
  const report::Request shown_ = {};  ///< without any option
  analysis::MinimumWaits minima_;
  analysis::CallTree tree_;
  std::optional<run::Run> model_;
  run::Keys by_node_;
  run::Question question_;  ///< of all listed metrics, in the order of metrics_, and of the weight
  std::map<std::int32_t, std::string> hosts_;
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> thread_of_;  ///< by rank and thread
  std::vector<std::uint32_t> place_of_;                                     ///< by thread
  std::vector<Metric> metrics_;                                             ///< those of the model, and waiting
  std::optional<ValueTable> table_;
  std::vector<double> weights_;  ///< by node, seconds
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
