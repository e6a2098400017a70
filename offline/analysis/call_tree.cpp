#include "offline/analysis/call_tree.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "format/saturating.hpp"
#include "offline/analysis/named_paths.hpp"
#include "offline/run/group.hpp"

namespace refrain::analysis {
namespace {

using format::add_saturating;
using format::MetricId;
using run::Answer;
using run::Question;

constexpr double ns = 1e9;  ///< nanoseconds per second

/// Sorts the nodes into preorder. The children of a node keep their order.
void put_in_preorder(CallTree& tree) {
  std::vector<std::uint32_t> moved(tree.nodes.size());
  std::vector<TreeNode> ordered;
  for (std::vector<std::uint32_t> next{0}; !next.empty();) {  // a path may be as deep as the program's stack
    TreeNode& node = tree.nodes[next.back()];
    moved[next.back()] = static_cast<std::uint32_t>(ordered.size());
    next.pop_back();
    next.insert(next.end(), node.children.rbegin(), node.children.rend());
    ordered.push_back(std::move(node));
  }
  for (std::uint32_t i = 0; i < ordered.size(); ++i) {
    ordered[i].children.clear();
    if (i == 0) continue;
    ordered[i].parent = static_cast<std::int32_t>(moved[static_cast<std::size_t>(ordered[i].parent)]);
    ordered[static_cast<std::size_t>(ordered[i].parent)].children.push_back(i);
  }
  tree.nodes = std::move(ordered);
  for (auto& node : tree.node_of) node = moved[node];
}

/// Removes nodes that have no value on any measured location, neither themselves nor below.
void prune(CallTree& tree) {
  std::vector<bool> keeps(tree.nodes.size());  // has a mark that was begun, itself or below
  for (std::size_t i = tree.nodes.size(); i-- > 1;)
    if (keeps[i] || tree.nodes[i].mark_visits != 0)
      keeps[i] = keeps[static_cast<std::size_t>(tree.nodes[i].parent)] = true;
  std::vector<std::uint32_t> moved(tree.nodes.size(), 0);
  std::vector<TreeNode> kept;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    TreeNode& node = tree.nodes[i];
    if (i > 0 && node.inclusive_s == 0 && node.inclusive.all_zero() && !keeps[i]) continue;
    moved[i] = static_cast<std::uint32_t>(kept.size());
    node.children.clear();
    if (i > 0) {
      node.parent = static_cast<std::int32_t>(moved[node.parent]);
      kept[node.parent].children.push_back(moved[i]);
    }
    kept.push_back(std::move(node));
  }
  tree.nodes = std::move(kept);
  for (auto& node : tree.node_of) node = moved[node];
}

}  // namespace

void Counts::add_at(std::size_t place, std::int64_t value) {
  if (value == 0) return;
  if (values_.size() <= place) values_.resize(place + 1);
  values_[place] = add_saturating(values_[place], value);
}

Counts& Counts::operator+=(const Counts& other) {
  for (std::size_t i = 0; i < other.values_.size(); ++i) add_at(i, other.values_[i]);
  return *this;
}

bool Counts::all_zero() const {
  return std::ranges::all_of(values_, [](std::int64_t value) { return value == 0; });
}

Times& Times::operator+=(const Times& other) {
  for (double Times::*time :
       {&Times::wall_s, &Times::mpi_s, &Times::user_s, &Times::refrain_s, &Times::stopped_s, &Times::not_on_cpu_s,
        &Times::not_on_cpu_low_s, &Times::not_on_cpu_high_s, &Times::waited_for_core_s, &Times::blocked_s,
        &Times::off_untold_s, &Times::mpi_off_cpu_s})
    this->*time += other.*time;
  off_cpu_is_counted &= other.off_cpu_is_counted;
  off_cpu_is_told_apart &= other.off_cpu_is_told_apart;
  counts += other.counts;
  return *this;
}

namespace {

constexpr std::pair<run::TimeMetric, double Times::*> times_of_location[] = {
    {run::wall, &Times::wall_s},
    {run::mpi, &Times::mpi_s},
    {run::user, &Times::user_s},
    {run::refrain, &Times::refrain_s},
    {run::measurement_off, &Times::stopped_s},
    {run::not_on_cpu, &Times::not_on_cpu_s},
    {run::waited_for_core, &Times::waited_for_core_s},
    {run::blocked, &Times::blocked_s}};

}  // namespace

/// The columns of all questions here are times first, then the counted metrics.
class CallTreeBuilder::Impl {
 public:
  Impl(const experiment::ProfileDefinitions& definitions, Symbolizer& symbolizer, const CallTreeOptions& options,
       bool one_rank)
      : tree_(named(definitions, symbolizer, options)),
        nodes_(columns_of(tree_)),
        by_node_(run::by_node(nodes_)),
        by_function_(run::by_function(nodes_)),
        has_function_errors_(options.function_errors),
        values_(nodes_, metrics_, question(&by_node_, {run::wall}, beside_counts)),
        of_location_(question_of_location()),
        functions_(nodes_, metrics_, {.keys = &by_function_, .metrics = {run::wall}}),
        spread_(nodes_, metrics_,
                {.keys = &by_node_,
                 .place = one_rank ? run::Place::Thread : run::Place::Rank,
                 .metrics = {run::wall},
                 .has_errors = false},
                [this](const Answer& of) { add_to_spread(of); }) {
    tree_.totals.losses.assign(format::loss_count, 0);
    tree_.spread_over_threads = one_rank;
    extremes_.resize(nodes_.size());
  }

  void add(const run::Leaf& leaf) {
    for (std::size_t m = 0; m < std::min(leaf.rank.extra_metrics.size(), leaf.totals.extra.totals.size()); ++m)
      metrics_.ask_for(leaf.rank.extra_metrics[m]);
    for (run::Grouping* of : {&values_, &spread_}) of->add(leaf);
    if (has_function_errors_) functions_.add(leaf);
    tree_.totals += tree_.locations.emplace_back(summary_of(leaf));
    const format::UnitTotals& sums = leaf.totals.totals;
    Totals& totals = tree_.totals;
    totals.mpi_calls = add_saturating(totals.mpi_calls, sums.mpi_calls);
    totals.ticks_user = add_saturating(totals.ticks_user, sums.ticks_user);
    totals.ticks_mpi = add_saturating(totals.ticks_mpi, sums.ticks_mpi);
    totals.ticks_without_sample = add_saturating(totals.ticks_without_sample, sums.ticks_lost);
    for (std::size_t i = 0; i < leaf.location.losses.size() && i < totals.losses.size(); ++i)
      totals.losses[i] = add_saturating(totals.losses[i], leaf.location.losses[i]);
  }

  CallTree finish() {
    spread_.finish();
    for (const Answer& values : values_.finish())
      for (std::size_t i = 0; i < tree_.nodes.size(); ++i) take_values(values, i);
    for (const Answer& of : functions_.finish())
      for (std::size_t f = 0; f < by_function_.size(); ++f) {
        const TreeNode& first = tree_.nodes[by_function_.first[f]];
        tree_.function_errors[{first.kind, first.name}] = {error_s(of.exclusive(f, 0)), error_s(of.inclusive(f, 0))};
      }
    for (std::size_t i = 0; i < tree_.nodes.size() && places_ > 0; ++i) {
      TreeNode& node = tree_.nodes[i];
      node.spread = {seconds(extremes_[i].least), node.inclusive_s / places_, seconds(extremes_[i].most)};
    }
    tree_.extra_metrics = metrics_.asked_for();
    prune(tree_);
    return std::move(tree_);
  }

 private:
  /// What nodes have beside counts.
  static constexpr std::array beside_counts{MetricId::MarkVisits, MetricId::MarkTime, MetricId::MarkOffCpu,
                                            MetricId::MarkWaited, MetricId::OffCpuMpi};

  static CallTree named(const experiment::ProfileDefinitions& definitions, Symbolizer& symbolizer,
                        const CallTreeOptions& options) {
    NamedPaths maker(definitions, symbolizer, options);
    maker.place_all();
    for (const run::PseudoPath& path : run::pseudo_paths) maker.pseudo_node(path.name, path.kind);
    CallTree tree;
    tree.nodes = maker.take_nodes();
    for (std::uint32_t path = 0; path < definitions.paths.size(); ++path) tree.node_of.push_back(maker.node_of(path));
    tree.notes = symbolizer.notes();
    put_in_preorder(tree);
    return tree;
  }

  /// A question for these times, the counted metrics, `more`, and the metrics that the user has asked for.
  Question question(const run::Keys* keys, std::vector<std::size_t> times, std::span<const MetricId> more) const {
    Question question{.keys = keys, .metrics = std::move(times), .all_asked_for = true};
    for (const MetricId metric : run::counted_metrics) question.metrics.push_back(metrics_.of(metric));
    for (const MetricId metric : more) question.metrics.push_back(metrics_.of(metric));
    return question;
  }

  Question question_of_location() const {
    Question of = question(nullptr, {run::not_on_cpu}, {});
    of.has_errors = false;
    return of;
  }

  static double seconds(run::Integer of_ns) { return static_cast<double>(of_ns) / ns; }
  static double error_s(const run::Quantity& of) { return of.error().value_or(0) / ns; }

  /// The counts among the values `quantity(column)`. The columns of counted metrics begin at `first`.
  template <class QuantityOf>
  Counts counts_of(const Answer& answer, std::size_t first, const QuantityOf& quantity) const {
    Counts counts;
    for (std::size_t m = 0; m < run::counted_metrics.size(); ++m)
      counts.add(run::counted_metrics[m], run::narrowed(quantity(first + m).value));
    for (std::size_t m = 0; m < metrics_.asked_for().size(); ++m)
      counts.add_asked_for(m, run::narrowed(quantity(answer.asked_for(m)).value));
    return counts;
  }

  void take_values(const Answer& of, std::size_t number) {
    TreeNode& node = tree_.nodes[number];
    const run::Quantity exclusive = of.exclusive(number, 0), inclusive = of.inclusive(number, 0);
    node.exclusive_s = of.exclusive_s(number, 0);
    node.inclusive_s = of.inclusive_s(number, 0);
    node.sampled_s = static_cast<double>(inclusive.sampled) / ns;
    node.exclusive_error_s = error_s(exclusive);
    node.standard_error_s = error_s(inclusive);
    node.exclusive = counts_of(of, 1, [&](std::size_t column) { return of.exclusive(number, column); });
    node.inclusive = counts_of(of, 1, [&](std::size_t column) { return of.inclusive(number, column); });
    const std::size_t marks = 1 + run::counted_metrics.size(), off_cpu_mpi = marks + 4;
    if (node.kind == run::PathKind::Mpi && of.exclusive(number, off_cpu_mpi).is_known)
      node.mpi_off_cpu_s = of.exclusive_s(number, off_cpu_mpi);
    node.mark_visits = run::narrowed(of.exclusive(number, marks).value);
    node.mark_s = of.exclusive_s(number, marks + 1);
    if (node.mark_visits == 0 || !of.exclusive(number, marks + 3).is_known) return;
    node.mark_waited_s = of.exclusive_s(number, marks + 3);
    node.mark_blocked_s = of.exclusive_s(number, marks + 2) - *node.mark_waited_s;
  }

  LocationSummary summary_of(const run::Leaf& leaf) const {
    const Answer of = answer_of(leaf, nodes_, metrics_, of_location_);
    const auto times_ns = leaf.times();
    LocationSummary summary;
    for (const auto& [metric, time] : times_of_location) summary.*time = seconds(times_ns[metric]);
    summary.rank = leaf.location.rank;
    summary.thread = leaf.location.thread;
    summary.name = leaf.location.name;
    const run::Quantity off_cpu = of.of(0);
    summary.off_untold_s = seconds(off_cpu.value - times_ns[run::waited_for_core] - times_ns[run::blocked]);
    summary.not_on_cpu_low_s = seconds(off_cpu.value - off_cpu.below);
    summary.not_on_cpu_high_s = seconds(off_cpu.value + off_cpu.above);
    summary.off_cpu_is_counted = leaf.rank.off_cpu_is_counted;
    summary.off_cpu_is_told_apart = run::tells_waiting(leaf.rank, leaf.location);
    const format::UnitTotals& sums = leaf.totals.totals;
    if (summary.off_cpu_is_counted)
      summary.mpi_off_cpu_s = std::clamp(static_cast<double>(sums.off_mpi_ns) / ns, 0.0, summary.mpi_s);
    summary.samples = sums.ticks_user;
    summary.counts = counts_of(of, 1, [&](std::size_t column) { return of.of(column); });
    return summary;
  }

  void add_to_spread(const Answer& of) {
    const bool is_first = places_++ == 0;
    for (std::size_t i = 0; i < extremes_.size(); ++i) {
      const run::Integer value = of.inclusive_value(i, 0);
      extremes_[i].least = is_first ? value : std::min(extremes_[i].least, value);
      extremes_[i].most = std::max(extremes_[i].most, value);
    }
  }

  CallTree tree_;
  run::Nodes nodes_;
  run::Metrics metrics_;
  run::Keys by_node_, by_function_;
  const bool has_function_errors_;
  run::Grouping values_;
  const Question of_location_;
  run::Grouping functions_, spread_;
  struct Extremes {
    run::Integer least = 0, most = 0;
  };
  std::vector<Extremes> extremes_;  ///< over the places of spread_, by node
  int places_ = 0;                  ///< number of places of spread_
};

CallTreeBuilder::CallTreeBuilder(const experiment::ProfileDefinitions& definitions, Symbolizer& symbolizer,
                                 const CallTreeOptions& options, bool one_rank)
    : impl_(std::make_unique<Impl>(definitions, symbolizer, options, one_rank)) {}
CallTreeBuilder::~CallTreeBuilder() = default;
void CallTreeBuilder::add(const run::Leaf& leaf) { impl_->add(leaf); }
CallTree CallTreeBuilder::finish() { return impl_->finish(); }

CallTree build_call_tree(const experiment::Experiment& experiment, Symbolizer& symbolizer,
                         const CallTreeOptions& options) {
  const auto is_chosen = [&](std::int32_t rank) { return !options.where.ranks || options.where.ranks(rank); };
  CallTreeBuilder builder(experiment.definitions(), symbolizer, options,
                          std::ranges::count_if(experiment.ranks(), is_chosen) <= 1);
  run::for_each_leaf(
      experiment, options.where, [&](const run::Leaf& leaf) { builder.add(leaf); }, options.also,
      options.depth_of_ranks);
  return builder.finish();
}

run::Nodes columns_of(const CallTree& tree) {
  run::Nodes nodes;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const TreeNode& of = tree.nodes[i];
    nodes.add({static_cast<std::uint32_t>(of.parent), of.kind, of.name, of.marked, of.module, of.file, of.line});
  }
  nodes.finish(tree.node_of);
  return nodes;
}

run::Run run_of(const experiment::Experiment& experiment, const CallTree& tree) {
  return {experiment, columns_of(tree), tree.extra_metrics};
}

double CallTree::period_s() const {
  return totals.ticks_user > 0 ? totals.user_s / static_cast<double>(totals.ticks_user) : 0;
}

double elapsed_s(const CallTree& tree) { return elapsed_s(tree.locations); }

double elapsed_s(const std::vector<LocationSummary>& locations) {
  double seconds = 0;
  for (const LocationSummary& of : locations)
    if (of.thread == 0) seconds += of.wall_s;
  return seconds;
}

std::vector<std::string> path_to(const CallTree& tree, std::uint32_t node) {
  std::vector<std::string> names;
  for (std::int32_t at = static_cast<std::int32_t>(node); at > 0; at = tree.nodes[at].parent)
    names.push_back(tree.nodes[at].name);
  std::reverse(names.begin(), names.end());
  return names;
}

}  // namespace refrain::analysis
