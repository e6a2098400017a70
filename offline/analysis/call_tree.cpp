#include "offline/analysis/call_tree.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "offline/analysis/named_paths.hpp"
#include "offline/analysis/run_totals.hpp"
#include "offline/experiment/rank_pass.hpp"
#include "statistics/statistics.hpp"

namespace refrain::analysis {
namespace {

using experiment::NodeKind;
using format::MetricId;

/// Adds children to parents; they come after them.
template <class T>
void include_children(const std::vector<TreeNode>& nodes, std::vector<T>& values) {
  for (std::size_t i = nodes.size(); i-- > 1;) values[nodes[i].parent] += values[i];
}

/// Takes out nodes without any value, in any measured location, below them.
void prune(CallTree& tree) {
  std::vector<bool> keeps(tree.nodes.size());  // a mark that was begun, below it
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

bool is_exact(PathKind kind, std::string_view name) {
  if (kind != PathKind::Other) return kind == PathKind::Mpi;
  return name == refrain_name || name == stopped_name || name == waited_name || name == blocked_name;
}

ByPseudo<std::int64_t> pseudo_ticks(const format::UnitTimes& times, const experiment::Location& location) {
  const bool lost = location.has(format::Loss::ArenaFull);
  return {times.not_on_cpu - times.waited - times.blocked,
          lost ? times.no_sample : add_saturating(times.no_sample, times.no_path),
          lost ? times.no_path : 0,
          times.refrain,
          times.stopped,
          times.mpi_no_path,
          times.waited,
          times.blocked};
}

const char* name_of(PathKind kind) { return kind == PathKind::User ? "user" : kind == PathKind::Mpi ? "mpi" : "other"; }

void Counts::add(MetricId metric, std::int64_t value) {
  std::int64_t& sum = value_[place(metric)];
  sum = add_saturating(sum, value);
}

void Counts::add_asked_for(std::size_t place, std::int64_t value) {
  if (value == 0) return;
  if (asked_for_.size() <= place) asked_for_.resize(place + 1);
  asked_for_[place] = add_saturating(asked_for_[place], value);
}

Counts& Counts::operator+=(const Counts& other) {
  for (std::size_t i = 0; i < value_.size(); ++i) value_[i] = add_saturating(value_[i], other.value_[i]);
  for (std::size_t i = 0; i < other.asked_for_.size(); ++i) add_asked_for(i, other.asked_for_[i]);
  return *this;
}

bool Counts::all_zero() const {
  const auto zero = [](std::int64_t value) { return value == 0; };
  return std::ranges::all_of(value_, zero) && std::ranges::all_of(asked_for_, zero);
}

class CallTreeBuilder::Impl {
 public:
  Impl(const experiment::ProfileDefinitions& definitions, Symbolizer& symbolizer, const CallTreeOptions& options,
       bool one_rank)
      : definitions_(definitions), maker_(definitions, symbolizer, options) {
    maker_.place_all();
    for (std::size_t i = 0; i < pseudo_.size(); ++i)
      pseudo_[i] = maker_.pseudo_node(pseudo_paths[i].name, pseudo_paths[i].kind);
    const std::size_t size = maker_.size();
    tree_.nodes = maker_.take_nodes();
    for (std::uint32_t path = 0; path < definitions.paths.size(); ++path) tree_.node_of.push_back(maker_.node_of(path));
    tree_.notes = symbolizer.notes();
    tree_.totals.losses.assign(format::loss_count, 0);
    tree_.spread_over_threads = one_rank;
    spreader_ = Spreader(size);
    rank_inclusive_.assign(size, 0);
    weights_.assign(size, 0);
    sampled_s_.assign(size, 0);
  }

  void add(const experiment::Rank& rank, const experiment::Location& location, const experiment::RunTotals& of) {
    if (!tree_.spread_over_threads && last_rank_ != rank.rank) end_rank();
    last_rank_ = rank.rank;
    const auto seconds = [&](std::int64_t t) { return static_cast<double>(t) / rank.ticks_per_second; };
    ticks_.assign(tree_.nodes.size(), 0);
    sampled_.assign(tree_.nodes.size(), 0);
    const auto put = [&](std::uint32_t node, std::int64_t t) { ticks_[node] = add_saturating(ticks_[node], t); };
    LocationSummary summary{location.rank, location.thread, location.name};
    constexpr double s_per_ns = 1e-9;
    const bool tells_waiting = rank.off_cpu_is_counted && !location.has(format::Loss::RunDelayUnknown);
    for (const auto& row : of.paths) {
      const NodeKind kind = definitions_.paths[row.path].kind;
      const std::uint32_t node = tree_.node_of[row.path];
      TreeNode& at = tree_.nodes[node];
      put(node, row.ticks);
      if (format::is_sampled(kind)) sampled_[node] = add_saturating(sampled_[node], row.ticks);
      const auto value = [&](MetricId metric) {
        return format::value_of(kind, std::span(of.columns).subspan(row.first), metric);
      };
      for (const MetricId metric : counted_metrics)
        if (const std::int64_t count = value(metric)) {
          at.exclusive.add(metric, count);
          summary.counts.add(metric, count);
        }
      if (kind == NodeKind::Region) {
        const double off_s = static_cast<double>(value(MetricId::CallOffCpu)) * s_per_ns;
        at.off_cpu_s = at.off_cpu_s.value_or(0) + std::clamp(off_s, 0.0, std::max(seconds(row.ticks), 0.0));
        if (!rank.off_cpu_is_by_call) untold_calls_.insert(node);
      }
      weights_[node] += static_cast<double>(value(MetricId::Weight));
      at.mark_visits = add_saturating(at.mark_visits, value(MetricId::MarkVisits));
      at.mark_s += seconds(value(MetricId::MarkTime));
      if (!tells_waiting && value(MetricId::MarkVisits) > 0) untold_marks_.insert(node);
      if (tells_waiting && value(MetricId::MarkVisits) > 0) {
        const double off_s = std::max(0.0, static_cast<double>(value(MetricId::MarkOffCpu)) * s_per_ns),
                     waited_s = std::clamp(static_cast<double>(value(MetricId::MarkWaited)) * s_per_ns, 0.0, off_s);
        at.mark_waited_s = at.mark_waited_s.value_or(0) + waited_s;
        at.mark_blocked_s = at.mark_blocked_s.value_or(0) + off_s - waited_s;
      }
    }
    const format::UnitTimes& times = of.times;
    const auto of_no_path = pseudo_ticks(times, location);
    for (std::size_t i = 0; i < pseudo_.size(); ++i) put(pseudo_[i], of_no_path[i]);

    summary.wall_s = seconds(times.wall);
    summary.mpi_s = seconds(times.mpi);
    summary.user_s = seconds(times.user);
    summary.refrain_s = seconds(times.refrain);
    summary.stopped_s = seconds(times.stopped);
    summary.not_on_cpu_s = seconds(times.not_on_cpu);
    summary.waited_for_core_s = seconds(times.waited);
    summary.blocked_s = seconds(times.blocked);
    summary.off_untold_s = seconds(times.not_on_cpu - times.waited - times.blocked);
    summary.off_cpu_is_counted = rank.off_cpu_is_counted;
    summary.off_cpu_is_told_apart = tells_waiting;
    if (rank.off_cpu_is_counted)
      summary.mpi_off_cpu_s = std::clamp(static_cast<double>(of.totals.off_mpi_ns) * s_per_ns, 0.0, summary.mpi_s);
    summary.not_on_cpu_low_s = seconds(times.not_on_cpu_low);
    summary.not_on_cpu_high_s = seconds(times.not_on_cpu_high);
    summary.samples = of.totals.ticks_user;
    add_asked_for(rank, of, summary);

    Totals& totals = tree_.totals;
    totals.off_cpu_is_counted &= rank.off_cpu_is_counted;
    totals.off_cpu_is_told_apart &= tells_waiting;
    totals.not_on_cpu_low_s += summary.not_on_cpu_low_s;
    totals.not_on_cpu_high_s += summary.not_on_cpu_high_s;
    totals.mpi_calls = add_saturating(totals.mpi_calls, of.totals.mpi_calls);
    totals.ticks_user = add_saturating(totals.ticks_user, of.totals.ticks_user);
    totals.ticks_mpi = add_saturating(totals.ticks_mpi, of.totals.ticks_mpi);
    totals.ticks_without_sample = add_saturating(totals.ticks_without_sample, of.totals.ticks_lost);
    totals.weight_s += static_cast<double>(of.totals.weight_user_ns) * s_per_ns;
    totals.weight_squares_s2 += of.totals.weight_user_squared * 1e-18;
    for (std::size_t i = 0; i < location.losses.size() && i < totals.losses.size(); ++i)
      totals.losses[i] = add_saturating(totals.losses[i], location.losses[i]);
    totals.counts += summary.counts;
    totals.wall_s += summary.wall_s;
    totals.mpi_s += summary.mpi_s;
    totals.user_s += summary.user_s;
    totals.refrain_s += summary.refrain_s;
    totals.stopped_s += summary.stopped_s;
    totals.not_on_cpu_s += summary.not_on_cpu_s;
    totals.waited_for_core_s += summary.waited_for_core_s;
    totals.blocked_s += summary.blocked_s;
    totals.mpi_off_cpu_s += summary.mpi_off_cpu_s;
    tree_.locations.push_back(std::move(summary));

    inclusive_.resize(tree_.nodes.size());
    for (std::size_t i = 0; i < inclusive_.size(); ++i) {
      inclusive_[i] = seconds(ticks_[i]);
      tree_.nodes[i].exclusive_s += inclusive_[i];
      sampled_s_[i] += seconds(sampled_[i]);
    }
    include_children(tree_.nodes, inclusive_);
    for (std::size_t i = 0; i < inclusive_.size(); ++i) rank_inclusive_[i] += inclusive_[i];
    if (tree_.spread_over_threads) spreader_.add(inclusive_);
  }

  CallTree finish() {
    if (!tree_.spread_over_threads) end_rank();
    const std::size_t size = tree_.nodes.size();
    for (const std::uint32_t node : untold_calls_) tree_.nodes[node].off_cpu_s = std::nullopt;
    for (const std::uint32_t node : untold_marks_)
      tree_.nodes[node].mark_waited_s = tree_.nodes[node].mark_blocked_s = std::nullopt;
    for (TreeNode& node : tree_.nodes) {
      node.inclusive_s = node.exclusive_s;
      node.inclusive = node.exclusive;
      node.sampled_s = sampled_s_[static_cast<std::size_t>(&node - tree_.nodes.data())];
    }
    for (std::size_t i = size; i-- > 1;) {
      const TreeNode& node = tree_.nodes[i];
      TreeNode& parent = tree_.nodes[static_cast<std::size_t>(node.parent)];
      parent.inclusive_s += node.inclusive_s;
      parent.inclusive += node.inclusive;
      parent.sampled_s += node.sampled_s;
    }
    for (std::size_t i = 0; i < size; ++i) {
      TreeNode& node = tree_.nodes[i];
      node.exclusive_weight_s = weights_[i] * 1e-9;
      node.exclusive_error_s = tree_.standard_error_of(node.exclusive_weight_s);
    }
    include_children(tree_.nodes, weights_);
    for (std::size_t i = 0; i < size; ++i) {
      TreeNode& node = tree_.nodes[i];
      node.spread = spreader_.result(i, node.inclusive_s);
      node.weight_s = weights_[i] * 1e-9;
      node.standard_error_s = tree_.standard_error_of(node.weight_s);
    }
    tree_.nodes[0].standard_error_s = 0;  // everything is not divided
    prune(tree_);
    return std::move(tree_);
  }

 private:
  /// Inclusive seconds of one rank (or thread) after the other: minimum, sum and maximum.
  class Spreader {
   public:
    explicit Spreader(std::size_t nodes) : min_(nodes, std::numeric_limits<double>::infinity()), max_(nodes, 0) {}
    void add(const std::vector<double>& inclusive) {
      for (std::size_t i = 0; i < inclusive.size(); ++i) {
        min_[i] = std::min(min_[i], inclusive[i]);
        max_[i] = std::max(max_[i], inclusive[i]);
      }
      ++count_;
    }
    Spread result(std::size_t node, double sum) const {
      if (count_ == 0) return {};
      return {min_[node], sum / count_, max_[node]};
    }

   private:
    std::vector<double> min_, max_;
    int count_ = 0;
  };

  void end_rank() {
    if (!last_rank_) return;
    spreader_.add(rank_inclusive_);
    std::ranges::fill(rank_inclusive_, 0.0);
    last_rank_.reset();
  }

  /// Ranks have lists of their own: the tree's has what any of them has.
  void add_asked_for(const experiment::Rank& rank, const experiment::RunTotals& of, LocationSummary& summary) {
    TreeNode& no_sample = tree_.nodes[pseudo_[static_cast<std::size_t>(Pseudo::NoSample)]];
    for (std::size_t own = 0; own < rank.extra_metrics.size() && own < of.extra.totals.size(); ++own) {
      const auto known =
          std::ranges::find(tree_.extra_metrics, rank.extra_metrics[own].name, &experiment::ExtraMetric::name);
      const auto m = static_cast<std::size_t>(known - tree_.extra_metrics.begin());
      if (known == tree_.extra_metrics.end()) tree_.extra_metrics.push_back(rank.extra_metrics[own]);
      for (const experiment::PathValues& row : of.extra.values)
        tree_.nodes[tree_.node_of[row.path]].exclusive.add_asked_for(m, of.extra.of(row, own));
      if (own < of.extra_no_path.size()) no_sample.exclusive.add_asked_for(m, of.extra_no_path[own]);
      summary.counts.add_asked_for(m, of.extra.totals[own]);
    }
  }

  const experiment::ProfileDefinitions& definitions_;
  NamedPaths maker_;
  CallTree tree_;
  Spreader spreader_{0};
  ByPseudo<std::uint32_t> pseudo_{};           ///< their nodes
  std::vector<double> weights_, sampled_s_;    ///< by node, of all locations
  std::set<std::uint32_t> untold_marks_;       ///< of threads whose time off the CPU is not told apart
  std::set<std::uint32_t> untold_calls_;       ///< of ranks that do not tell it by call path
  std::vector<double> rank_inclusive_;         ///< of the rank in hand
  std::vector<std::int64_t> ticks_, sampled_;  ///< of the location in hand
  std::vector<double> inclusive_;
  std::optional<std::int32_t> last_rank_;
};

CallTreeBuilder::CallTreeBuilder(const experiment::ProfileDefinitions& definitions, Symbolizer& symbolizer,
                                 const CallTreeOptions& options, bool one_rank)
    : impl_(std::make_unique<Impl>(definitions, symbolizer, options, one_rank)) {}
CallTreeBuilder::~CallTreeBuilder() = default;
void CallTreeBuilder::add(const experiment::Rank& rank, const experiment::Location& location,
                          const experiment::RunTotals& totals) {
  impl_->add(rank, location, totals);
}
CallTree CallTreeBuilder::finish() { return impl_->finish(); }

namespace {

void add_rank(CallTreeBuilder& builder, const experiment::Rank& rank, std::span<const experiment::CallPath> paths,
              const CallTreeOptions& options) {
  for (const auto& location : rank.locations) {
    if (options.threads && !options.threads(rank.rank, location.thread)) continue;
    if (location.run) builder.add(rank, location, *location.run);
    else builder.add(rank, location, totals_of(location.units, rank, location, paths));
  }
}

}  // namespace

CallTree build_call_tree(const experiment::Experiment& experiment, Symbolizer& symbolizer,
                         const CallTreeOptions& options) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < experiment.ranks().size(); ++i)
    if (!options.ranks || options.ranks(experiment.ranks()[i])) places.push_back(i);
  CallTreeBuilder builder(experiment.definitions(), symbolizer, options, places.size() <= 1);
  for_each_rank(experiment, places, experiment::Depth::Run, [&](const experiment::RankHandle& rank) {
    if (!rank) return;
    add_rank(builder, *rank, experiment.definitions().paths, options);
    if (options.also) options.also(*rank);
  });
  return builder.finish();
}

CallTree build_call_tree(const experiment::Profile& profile, Symbolizer& symbolizer, const CallTreeOptions& options) {
  std::vector<const experiment::Rank*> ranks;
  for (const auto& rank : profile.ranks)
    if (!options.ranks || options.ranks(rank.rank)) ranks.push_back(&rank);
  CallTreeBuilder builder(profile, symbolizer, options, ranks.size() <= 1);
  for (const auto* rank : ranks) add_rank(builder, *rank, profile.paths, options);
  return builder.finish();
}

double CallTree::period_s() const {
  return totals.ticks_user > 0 ? totals.user_s / static_cast<double>(totals.ticks_user) : 0;
}

double CallTree::standard_error_of(double weight_s) const {
  const double share = totals.weight_s > 0 ? weight_s / totals.weight_s : 0;
  return nodes[0].sampled_s * statistics::error_of_share(share, totals.weight_s, totals.weight_squares_s2);
}

double elapsed_s(const CallTree& tree) {
  double seconds = 0;
  for (const LocationSummary& of : tree.locations)
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
