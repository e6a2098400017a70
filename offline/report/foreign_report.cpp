#include "offline/report/foreign_report.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "offline/experiment/experiment.hpp"
#include "offline/report/views.hpp"
#include "offline/run/path_trie.hpp"

namespace refrain::report {
namespace {

using database::RunSource;
using format::MetricId;

/// A metric of the source, and where its values go in the tree.
struct ForeignMetric {
  enum To : std::uint8_t { Nowhere, Wall, Counted, AskedFor } to = Nowhere;
  MetricId counted{};
  std::size_t number = 0;  ///< index among the requested metrics
  double scale = 1;        ///< factor that makes values integers
};

/// The power of ten by which values that add up to `sum` become integers of 15 digits: as many as are exact.
double scale_of_fractions(double sum) {
  constexpr double digits = 15, most = 300;
  return std::pow(10, std::clamp(digits - std::ceil(std::log10(sum)), 0.0, most));
}

/// The nearest integer, within +-9e18.
std::int64_t integer_of(double value) {
  constexpr double most = 9e18;
  return std::llround(std::clamp(value, -most, most));
}

class ForeignTree {
 public:
  ForeignTree(RunSource& source, const Request& request, ForeignRun& run)
      : source_(source),
        run_(run),
        is_used_(source.nodes().size()),
        absolute_(source.metrics().size()),
        has_fraction_(source.metrics().size()) {
    choose_locations(request);
    find_used();
    name_metrics();
    place_nodes();
  }

  void add_locations() {
    std::set<std::int64_t> ranks;
    for (const std::size_t at : chosen_) ranks.insert(source_.locations()[at].rank);
    tree_.spread_over_threads = ranks.size() <= 1;
    tree_.totals.off_cpu_is_counted = tree_.totals.off_cpu_is_told_apart = false;
    std::vector<double> own_s(tree_.nodes.size());
    double places = 0;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      add_location(chosen_[i], own_s);
      const bool is_last = i + 1 == chosen_.size() || tree_.spread_over_threads ||
                           source_.locations()[chosen_[i + 1]].rank != source_.locations()[chosen_[i]].rank;
      if (!is_last) continue;
      ++places;
      add_to_spread(own_s);
      std::ranges::fill(own_s, 0);
    }
    for (std::size_t node = tree_.nodes.size(); node-- > 1;) {
      analysis::TreeNode& of = tree_.nodes[node];
      of.inclusive_s += of.exclusive_s;
      of.inclusive += of.exclusive;
      analysis::TreeNode& above = tree_.nodes[static_cast<std::size_t>(of.parent)];
      above.inclusive_s += of.inclusive_s;
      above.inclusive += of.inclusive;
    }
    for (analysis::TreeNode& of : tree_.nodes) {
      if (of.marked) of.mark_s = of.inclusive_s;
      of.spread.mean = places > 0 ? of.inclusive_s / places : 0;
    }
    for (const analysis::LocationSummary& of : tree_.locations) tree_.totals += of;
    tree_.totals.mpi_calls = tree_.totals.counts[MetricId::Visits];
  }

 private:
  /// The option as it was given: "--thread 3", "--rank 0.5,1.5".
  static std::string option_of_threads(const Request& request) {
    if (request.thread) return fmt::format("--thread {}", *request.thread);
    std::vector<std::string> threads;
    for (const auto& [rank, thread] : request.threads_of_ranks) threads.push_back(fmt::format("{}.{}", rank, thread));
    return fmt::format("--rank {}", fmt::join(threads, ","));
  }

  void choose_locations(const Request& request) {
    const auto& all = source_.locations();
    std::set<std::int32_t> ranks;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto rank = static_cast<std::int32_t>(all[i].rank), thread = static_cast<std::int32_t>(all[i].thread);
      ranks.insert(rank);
      if (request.chosen(rank, thread)) chosen_.push_back(i);
    }
    constexpr std::int32_t no_rank = -1;  // of processes that are not ranks of the job
    if (ranks.size() > 1) ranks.erase(no_rank);
    run_.ranks.assign(ranks.begin(), ranks.end());
    for (const std::int32_t rank : request.ranks)
      if (!ranks.contains(rank))
        throw UsageError(fmt::format("--rank {}: {} has no such rank; its last one is {}", rank, run_.path,
                                     run_.ranks.empty() ? 0 : run_.ranks.back()));
    if (chosen_.empty() && request.some_threads())
      throw UsageError(
          fmt::format("{}: {} has no thread of this number on these ranks", option_of_threads(request), run_.path));
    if (chosen_.empty()) throw experiment::ReadError(run_.path + ": it has no values of any thread");
  }

  /// Finds the call paths and metrics for which any chosen location has a value other than 0.
  void find_used() {
    for (const std::size_t location : chosen_)
      source_.for_each_node(location, [&](std::uint32_t node, std::span<const double> values) {
        bool any = false;
        for (std::size_t m = 0; m < values.size(); ++m) {
          if (!std::isfinite(values[m]) || values[m] == 0) continue;
          any = true;
          absolute_[m] += std::abs(values[m]);
          if (values[m] != std::round(values[m])) has_fraction_[m] = true;
        }
        for (auto at = static_cast<std::int32_t>(node); any && at >= 0 && !is_used_[static_cast<std::size_t>(at)];
             at = source_.nodes()[static_cast<std::size_t>(at)].parent)
          is_used_[static_cast<std::size_t>(at)] = true;
      });
  }

  void name_metrics() {
    constexpr double ns = 1e9;
    for (std::size_t m = 0; m < source_.metrics().size(); ++m) {
      const run::Metric& of = source_.metrics()[m];
      ForeignMetric& to = metrics_.emplace_back();
      const auto counted = std::ranges::find(run::counted_metrics, of.name,
                                             [](MetricId metric) { return std::string(format::row_of(metric).name); });
      if (of.name == "wall") {
        to.to = ForeignMetric::Wall;
      } else if (of.name == "mpi" || of.name == "user") {
        continue;  // follows from the kinds of call paths
      } else if (counted != run::counted_metrics.end()) {
        to = {ForeignMetric::Counted, *counted};
        run_.counted.push_back(*counted);
        if (*counted == MetricId::Visits) ask_for("region_visits", "1", region_visits_);
      } else if (absolute_[m] > 0) {
        const bool is_time = of.unit == "s", is_bytes = of.unit == "B";
        const double scale = has_fraction_[m] && !is_time && !is_bytes ? scale_of_fractions(absolute_[m]) : 1;
        std::optional<std::size_t> number;
        ask_for(of.name, is_time ? "ns" : is_bytes ? "B" : "1", number, scale);
        to = {ForeignMetric::AskedFor, {}, *number, is_time ? ns : scale};
      }
    }
  }
  void ask_for(const std::string& name, const char* unit, std::optional<std::size_t>& number, double scale = 1) {
    number = tree_.extra_metrics.size();
    tree_.extra_metrics.push_back({name, unit, scale});
  }

  void place_nodes() {
    run::PathTrie trie;
    std::vector<std::uint32_t> number;
    for (std::size_t i = 0; i < source_.nodes().size(); ++i) {
      const database::RunNode& of = source_.nodes()[i];
      const std::uint32_t above = of.parent < 0 ? 0 : number[static_cast<std::size_t>(of.parent)];
      number.push_back(is_used_[i] ? trie.below(above, of.name, of.kind, of.is_marked) : 0);
    }
    auto [nodes, place] = trie.in_preorder();
    for (run::PathNode& of : nodes) {
      analysis::TreeNode& node = tree_.nodes.emplace_back();
      node.parent = of.parent;
      node.kind = of.kind;
      node.name = std::move(of.name);
      node.marked = of.marked;
      node.spread.min = std::numeric_limits<double>::infinity();
      if (of.parent >= 0)
        tree_.nodes[static_cast<std::size_t>(of.parent)].children.push_back(
            static_cast<std::uint32_t>(tree_.nodes.size() - 1));
    }
    for (const std::uint32_t of : number) place_.push_back(place[of]);
  }

  void add_location(std::size_t location, std::vector<double>& own_s) {
    const database::RunLocation& about = source_.locations()[location];
    analysis::LocationSummary& sum = tree_.locations.emplace_back();
    sum.rank = static_cast<std::int32_t>(about.rank);
    sum.thread = static_cast<std::int32_t>(about.thread);
    sum.name = about.name;
    sum.off_cpu_is_counted = sum.off_cpu_is_told_apart = false;
    source_.for_each_node(location, [&](std::uint32_t number, std::span<const double> values) {
      if (!is_used_[number]) return;
      analysis::TreeNode& node = tree_.nodes[place_[number]];
      for (std::size_t m = 0; m < values.size(); ++m) {
        if (!std::isfinite(values[m]) || values[m] == 0) continue;
        add_value(metrics_[m], values[m], node, sum);
        if (metrics_[m].to == ForeignMetric::Wall) own_s[place_[number]] += values[m];
      }
    });
  }

  void add_value(const ForeignMetric& metric, double value, analysis::TreeNode& node, analysis::LocationSummary& sum) {
    switch (metric.to) {
      case ForeignMetric::Nowhere: return;
      case ForeignMetric::Wall:
        node.exclusive_s += value;
        sum.wall_s += value;
        if (node.kind == run::PathKind::Mpi) sum.mpi_s += value;
        if (node.kind == run::PathKind::User) sum.user_s += value;
        return;
      case ForeignMetric::Counted: {
        const std::int64_t count = integer_of(value);
        const bool is_of_region = metric.counted == MetricId::Visits && node.kind != run::PathKind::Mpi;
        if (is_of_region && node.marked) node.mark_visits += count;
        for (analysis::Counts* counts : {&node.exclusive, &sum.counts})
          if (is_of_region) counts->add_asked_for(*region_visits_, count);
          else counts->add(metric.counted, count);
        return;
      }
      case ForeignMetric::AskedFor: {
        const std::int64_t count = integer_of(value * metric.scale);
        node.exclusive.add_asked_for(metric.number, count);
        sum.counts.add_asked_for(metric.number, count);
        return;
      }
    }
  }

  void add_to_spread(const std::vector<double>& own_s) {
    std::vector<double> all_s = own_s;
    for (std::size_t node = all_s.size(); node-- > 0;) {
      analysis::TreeNode& of = tree_.nodes[node];
      of.spread.min = std::min(of.spread.min, all_s[node]);
      of.spread.max = std::max(of.spread.max, all_s[node]);
      if (node > 0) all_s[static_cast<std::size_t>(of.parent)] += all_s[node];
    }
  }

  RunSource& source_;
  ForeignRun& run_;
  analysis::CallTree& tree_ = run_.tree;
  std::vector<std::size_t> chosen_;  ///< indices of locations
  std::vector<bool> is_used_;        ///< by node of the source
  std::vector<double> absolute_;     ///< by metric of the source: sum of the absolute values
  std::vector<bool> has_fraction_;   ///< by metric of the source: some values are not integers
  std::vector<ForeignMetric> metrics_;
  std::vector<std::uint32_t> place_;  ///< node of the tree by node of the source; 0: not used
  std::optional<std::size_t> region_visits_;
};

constexpr Show shown_of_foreign[] = {Show::Callers, Show::Locations, Show::Functions, Show::CallTree};
constexpr Ask known_of_foreign[] = {Ask::Thread, Ask::MinShare, Ask::Sort, Ask::Limit, Ask::Columns};

[[noreturn]] void refuse_foreign(const ForeignRun& run, const char* option, Together together) {
  throw experiment::ReadError(fmt::format(
      "{}: {} is of experiments, not of another tool's {}; {}", run.path, option, run.kind(),
      together == Together::One ? "without views, and with --flat, --callers and --locations, this one is shown"
                                : "several are put together as a whole, or with --rank or --thread"));
}

}  // namespace

ForeignRun foreign_run(RunSource& source, const std::string& path, const Request& request) {
  ForeignRun run;
  run.path = path;
  run.source = source.facts().source;
  run.is_complete = source.facts().complete;
  run.notes = source.facts().notes;
  ForeignTree tree(source, request, run);
  tree.add_locations();
  run.tree.notes = run.notes;
  return run;
}

void check_foreign_request(const ForeignRun& run, const Request& request, Together together) {
  for (const Show view : request.views)
    if (std::ranges::find(shown_of_foreign, view) == std::end(shown_of_foreign))
      refuse_foreign(run, row_of(view).option, together);
  for (const RequestOption& option : request_options())
    if (option.is_given(request) && std::ranges::find(known_of_foreign, option.ask) == std::end(known_of_foreign))
      refuse_foreign(run, option.name, together);
  if (!request.fold.modules.empty() || !request.fold.runtimes) refuse_foreign(run, "--fold", together);
}

void render_foreign(const ForeignRun& run, const Request& request, const Terminal& terminal, const Sink& out) {
  check_foreign_request(run, request, Together::One);
  check_options(request);
  static const std::shared_ptr<const experiment::Experiment> none = experiment::Experiment::of({});
  Overview overview;
  overview.state = run.is_complete ? "complete" : "incomplete";
  overview.ranks = static_cast<std::int32_t>(run.ranks.size());
  Document document{none, request, run.tree, overview};
  document.foreign = &run;
  print_document(document, terminal, out);
}

}  // namespace refrain::report
