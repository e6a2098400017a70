#include "offline/run/group.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>

namespace refrain::run {

using format::MetricId;

/// The sums of one place while it is being added up. What is by slot is by node, or without keys has one value.
struct Grouping::Open {
  std::string machine;
  std::int32_t rank = 0, thread = 0;
  std::size_t leaves = 0;
  std::vector<std::vector<Integer>> values;  ///< by column, then by slot
  std::vector<Integer> sampled;              ///< by slot
  std::vector<std::uint8_t> flags;           ///< by slot
  std::vector<double> exclusive_variance, inclusive_variance;  ///< by key
  Integer below = 0, above = 0;
  bool is_exact = true, tells_waiting = true;
  std::vector<double> found_errors;  ///< by column
};

Grouping::Grouping(const Nodes& nodes, const Metrics& metrics, Question question, Take take)
    : nodes_(nodes), metrics_(metrics), question_(std::move(question)), take_(std::move(take)) {
  if (std::ranges::find(question_.nodes, false) == question_.nodes.end()) question_.nodes.clear();
  sort_columns();
}

void Grouping::sort_columns() {
  for (std::size_t c = 0; c < question_.metrics.size(); ++c) {
    const Metric& metric = metrics_[question_.metrics[c]];
    const auto columns = [&]() -> std::vector<Column>& {
      switch (metric.from) {
        case Metric::Rules: return times_;
        case Metric::Columns:
          return format::row_of(static_cast<MetricId>(metric.number)).kind == format::NodeKind::Region ? of_mpi_
                                                                                                      : of_functions_;
        case Metric::Marks: return of_marks_;
        case Metric::AskedFor: return asked_for_;
        case Metric::Found: break;
      }
      return found_;
    };
    columns().push_back({c, metric.number});
  }
}
Grouping::~Grouping() = default;

Grouping::Open& Grouping::open_for(const Leaf& leaf) {
  const auto is_same = [&](const std::unique_ptr<Open>& of) {
    switch (question_.place) {
      case Place::Everywhere: return true;
      case Place::Machine: return of->machine == leaf.rank.host;
      case Place::Rank: return of->rank == leaf.rank.rank;
      case Place::Thread: return of->rank == leaf.rank.rank && of->thread == leaf.location.thread;
    }
    return false;
  };
  const bool may_come_again = question_.place == Place::Machine;
  const auto at = may_come_again ? std::ranges::find_if(open_, is_same)
                                 : open_.end() - (!open_.empty() && is_same(open_.back()));
  if (at != open_.end()) return **at;
  if (take_ && !may_come_again)
    for (const auto& of : std::exchange(open_, {})) take_(answer(*of));
  Open& made = *open_.emplace_back(std::make_unique<Open>());
  made.machine = leaf.rank.host;
  made.rank = leaf.rank.rank;
  made.thread = leaf.location.thread;
  made.values.assign(question_.metrics.size(), std::vector<Integer>(slots()));
  made.sampled.resize(slots());
  made.flags.resize(slots());
  made.exclusive_variance.resize(keys());
  made.inclusive_variance.resize(keys());
  made.found_errors.resize(question_.metrics.size());
  return made;
}

void Grouping::add(const Leaf& leaf) {
  Open& to = open_for(leaf);
  ++to.leaves;
  to.is_exact &= leaf.is_exact;
  to.tells_waiting &= tells_waiting(leaf.rank, leaf.location);
  weights_.assign(slots(), 0);
  const format::UnitTotals& totals = leaf.totals.totals;
  Stratum stratum{0, static_cast<double>(totals.weight_user_ns), totals.weight_user_squared};
  for (const Row& row : leaf.rows) {
    const bool is_sampled = row.is_divided && row.path != Row::by_rules;
    if (is_sampled) stratum.time += static_cast<double>(row.ns);
    const std::uint32_t node = leaf.node_of(nodes_, row);
    if (!is_chosen(node)) continue;
    const std::size_t slot = question_.keys ? node : 0;
    add_row(to, leaf, row, slot);
    if (!is_sampled) continue;
    to.sampled[slot] += row.ns;
    weights_[slot] += static_cast<double>(row.value(MetricId::Weight));
  }
  if (question_.has_errors) add_variance(to, stratum);
  if (leaf.is_whole_run) add_found(to, leaf);
}

void Grouping::add_row(Open& to, const Leaf& leaf, const Row& row, std::size_t slot) {
  using Flag = Answer::Flag;
  to.flags[slot] |= Flag::HasRow;
  if (row.is_divided) to.flags[slot] |= Flag::IsDivided;
  if (row.below != 0 || row.above != 0) to.flags[slot] |= Flag::IsBounded;
  to.below += row.below;
  to.above += row.above;
  for (const Column& of : times_) to.values[of.column][slot] += row.has(static_cast<TimeMetric>(of.number)) ? row.ns : 0;
  if (row.kind == format::NodeKind::Marked) {
    for (const Column& of : of_marks_)
      to.values[of.column][slot] += leaf.mark_of(row, static_cast<MetricId>(of.number));
    if (row.value(MetricId::MarkVisits) > 0 && !tells_waiting(leaf.rank, leaf.location))
      to.flags[slot] |= Flag::IsUntold;
  } else if (row.kind != format::NodeKind::Root) {
    for (const Column& of : format::is_sampled(row.kind) ? of_functions_ : of_mpi_)
      to.values[of.column][slot] += row.value(static_cast<MetricId>(of.number));
  }
  if (row.asked_for.empty()) return;
  const auto& own = leaf.rank.extra_metrics;
  const auto add = [&](std::size_t column, std::string_view name) {
    const auto at = static_cast<std::size_t>(std::ranges::find(own, name, &experiment::ExtraMetric::name) - own.begin());
    if (at < row.asked_for.size()) to.values[column][slot] += row.asked_for[at];
  };
  for (const Column& of : asked_for_) add(of.column, metrics_.asked_for()[of.number].name);
  if (!question_.all_asked_for) return;
  const std::size_t first = question_.metrics.size();
  if (to.values.size() < first + metrics_.asked_for().size())
    to.values.resize(first + metrics_.asked_for().size(), std::vector<Integer>(slots()));
  for (std::size_t m = 0; m < metrics_.asked_for().size(); ++m) add(first + m, metrics_.asked_for()[m].name);
}

/// What tools have kept of this location.
void Grouping::add_found(Open& to, const Leaf& leaf) {
  const std::pair place(leaf.rank.rank, leaf.location.thread);
  const auto place_of = [](const auto& row) { return std::pair(row.rank, row.thread); };
  for (const Column& column : found_) {
    const experiment::SavedMetric& found = metrics_.found()[column.number];
    const double scale = metrics_[question_.metrics[column.column]].scale;
    for (const auto& of : std::ranges::equal_range(found.values, place, {}, place_of)) {
      const std::uint32_t node = of.path < 0 ? 0 : nodes_.of_path(static_cast<std::uint32_t>(of.path));
      if (is_chosen(node)) to.values[column.column][question_.keys ? node : 0] += std::llround(of.seconds * scale);
    }
    for (const auto& of : std::ranges::equal_range(found.locations, place, {}, place_of))
      to.found_errors[column.column] = of.error_s;
  }
}

template <class Value>
void Grouping::include_children(std::vector<Value>& values) const {
  for (std::size_t node = values.size(); node-- > 1;) {
    Value& above = values[nodes_.parent(static_cast<std::uint32_t>(node))];
    if constexpr (std::is_same_v<Value, std::uint8_t>) above |= values[node];
    else above += values[node];
  }
}

/// Shares of a stratum are correlated: the weights of a key add up first. Of everything nothing is divided.
void Grouping::add_variance(Open& to, const Stratum& stratum) {
  if (!(stratum.time > 0)) return;
  if (!question_.keys) {
    if (!question_.nodes.empty()) to.exclusive_variance[0] += stratum.variance_of(weights_[0]);
    return;
  }
  const Keys& of = *question_.keys;
  const auto add = [&](std::vector<double>& variance, bool is_inclusive) {
    key_weights_.assign(keys(), 0);
    for (std::size_t node = is_inclusive; node < weights_.size(); ++node)
      if (of.of_node[node] != Keys::none && (!is_inclusive || of.is_outermost[node]))
        key_weights_[of.of_node[node]] += weights_[node];
    for (std::size_t key = 0; key < key_weights_.size(); ++key) variance[key] += stratum.variance_of(key_weights_[key]);
  };
  add(to.exclusive_variance, false);
  include_children(weights_);
  add(to.inclusive_variance, true);
}

Answer Grouping::answer(Open& of) const {
  Answer answer;
  answer.machine = of.machine;
  answer.rank = of.rank;
  answer.thread = of.thread;
  answer.metrics_ = &metrics_;
  answer.columns_ = question_.metrics;
  answer.asked_for_ = question_.metrics.size();
  if (question_.all_asked_for)
    for (std::size_t m = 0; m < metrics_.asked_for().size(); ++m)
      answer.columns_.push_back(Metrics::asked_for_begin() + m);
  of.values.resize(answer.columns_.size(), std::vector<Integer>(slots()));
  answer.below_ = of.below;
  answer.above_ = of.above;
  answer.is_exact_ = of.is_exact;
  answer.tells_waiting_ = of.tells_waiting;
  answer.has_found_error_ = of.leaves == 1 && question_.nodes.empty();
  answer.found_errors_ = std::move(of.found_errors);
  if (!question_.keys) {
    if (question_.nodes.empty()) answer.everything_ = 0;
    answer.exclusive_ = {std::move(of.values), std::move(of.sampled), std::move(of.exclusive_variance),
                         std::move(of.flags)};
    answer.inclusive_ = answer.exclusive_;
    return answer;
  }
  const Keys& by = *question_.keys;
  if (question_.nodes.empty()) answer.everything_ = by.of_node[0];
  const auto add_up = [&](auto& by_slot, auto& exclusive, auto& inclusive) {
    exclusive.assign(by.size(), 0);
    inclusive.assign(by.size(), 0);
    using Value = std::remove_cvref_t<decltype(by_slot[0])>;
    const auto add = [](Value& to, Value value) {
      if constexpr (std::is_same_v<Value, std::uint8_t>) to |= value;
      else to += value;
    };
    for (std::size_t node = 0; node < by_slot.size(); ++node)
      if (by.of_node[node] != Keys::none) add(exclusive[by.of_node[node]], by_slot[node]);
    include_children(by_slot);
    for (std::size_t node = 0; node < by_slot.size(); ++node)
      if (by.is_outermost[node]) add(inclusive[by.of_node[node]], by_slot[node]);
  };
  answer.exclusive_.values.resize(of.values.size());
  answer.inclusive_.values.resize(of.values.size());
  for (std::size_t c = 0; c < of.values.size(); ++c)
    add_up(of.values[c], answer.exclusive_.values[c], answer.inclusive_.values[c]);
  add_up(of.sampled, answer.exclusive_.sampled, answer.inclusive_.sampled);
  add_up(of.flags, answer.exclusive_.flags, answer.inclusive_.flags);
  answer.exclusive_.variance = std::move(of.exclusive_variance);
  answer.inclusive_.variance = std::move(of.inclusive_variance);
  return answer;
}

std::vector<Answer> Grouping::finish() {
  std::vector<Answer> answers;
  for (const auto& of : std::exchange(open_, {})) {
    if (take_) take_(answer(*of));
    else answers.push_back(answer(*of));
  }
  return answers;
}

Answer answer_of(const Leaf& leaf, const Nodes& nodes, const Metrics& metrics, Question question) {
  Grouping grouping(nodes, metrics, std::move(question));
  grouping.add(leaf);
  return std::move(grouping.finish()[0]);
}

Quantity Answer::quantity(std::size_t key, std::size_t column, const Sums& of) const {
  const Metric& metric = (*metrics_)[columns_[column]];
  const std::uint8_t flags = of.flags[key];
  const bool is_everything = key == everything_ && &of == &inclusive_;
  Quantity result;
  result.value = of.values[column][key];
  if (!is_exact_ && !is_everything) result.known = Known::Reconstructed;
  const bool is_divided = metric.adds == Adds::Samples && !is_everything;
  if (metric.adds == Adds::Samples) result.sampled = of.sampled[key];
  if (is_divided) result.variance = of.variance[key];
  if ((flags & IsBounded) && (is_divided || metric.adds == Adds::Bounds)) {
    result.below = below_;
    result.above = above_;
    result.known = Known::Sampled;
  }
  if (is_divided && (flags & IsDivided)) result.known = Known::Sampled;
  if (metric.adds == Adds::Estimate) {
    result.known = Known::Sampled;
    result.has_error = has_found_error_ && is_everything && found_errors_[column] >= 0;
    if (result.has_error) result.variance = found_errors_[column] * found_errors_[column] * metric.scale * metric.scale;
  }
  if (metric.from == Metric::Rules && (metric.number == waited_for_core || metric.number == blocked))
    result.is_known = tells_waiting_;
  if (metric.from == Metric::Marks && metric.number != static_cast<std::size_t>(MetricId::MarkVisits) &&
      metric.number != static_cast<std::size_t>(MetricId::MarkTime))
    result.is_known = !(flags & IsUntold);
  return result;
}

}  // namespace refrain::run
