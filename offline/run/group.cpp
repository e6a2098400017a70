#include "offline/run/group.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

namespace refrain::run {

using format::MetricId;

Grouping::Grouping(const Nodes& nodes, const Metrics& metrics, Question question, Take take)
    : nodes_(nodes), metrics_(metrics), question_(std::move(question)), take_(std::move(take)) {
  if (std::ranges::find(question_.nodes, false) == question_.nodes.end()) question_.nodes.clear();
  for (std::size_t c = 0; c < question_.metrics.size(); ++c) {
    const Metric& metric = metrics_[question_.metrics[c]];
    const bool is_of_mpi = metric.from == Metric::Columns &&
                           format::row_of(static_cast<MetricId>(metric.number)).kind == format::NodeKind::Region;
    std::vector<Column>* columns[] = {&times_, is_of_mpi ? &of_mpi_ : &of_functions_, &of_marks_, &asked_for_, &found_};
    columns[metric.from]->push_back(
        {c, metric.from == Metric::Columns ? format::column_indices[metric.number] : metric.number});
  }
}

bool Grouping::is_place_of(const Answer& answer, const Leaf& leaf) const {
  switch (question_.place) {
    case Place::Everywhere: return true;
    case Place::Machine: return answer.machine == leaf.rank.host;
    case Place::Rank: return answer.rank == leaf.rank.rank;
    case Place::Thread: return answer.rank == leaf.rank.rank && answer.thread == leaf.location.thread;
  }
  return false;
}

Answer& Grouping::answer_for(const Leaf& leaf) {
  const auto is_here = [&](const Answer& answer) { return is_place_of(answer, leaf); };
  // A machine may come again; any other place can only continue the last answer.
  const bool may_come_again = question_.place == Place::Machine;
  const auto first = may_come_again || answers_.empty() ? answers_.begin() : answers_.end() - 1;
  if (const auto at = std::find_if(first, answers_.end(), is_here); at != answers_.end()) return *at;
  if (!may_come_again) hand_over();
  Answer& made = answers_.emplace_back();
  made.machine = leaf.rank.host;
  made.rank = leaf.rank.rank;
  made.thread = leaf.location.thread;
  made.metrics_ = &metrics_;
  made.columns_ = question_.metrics;
  made.asked_for_ = question_.metrics.size();
  made.found_errors_.resize(question_.metrics.size());
  made.exclusive_ = zeros();
  made.inclusive_ = std::move(handed_over_.inclusive_);
  made.inclusive_.variance.assign(keys(), 0);
  made.missing_.resize(question_.metrics.size());
  return made;
}

Answer::Sums Grouping::zeros() {
  Answer::Sums sums = std::move(handed_over_.exclusive_);
  sums.values.resize(question_.metrics.size());
  for (std::vector<Integer>& of_column : sums.values) of_column.assign(slots(), 0);
  if (question_.has_errors) sums.sampled.assign(slots(), 0);
  sums.variance.assign(keys(), 0);
  sums.flags.assign(slots(), {});
  sums.replicates.resize(question_.metrics.size());
  for (const Column& column : found_)
    if (has_replicates(column)) sums.replicates[column.column].assign(slots(), {});
  return sums;
}

void Grouping::add(const Leaf& leaf) {
  Answer& to = answer_for(leaf);
  ++to.leaves_;
  to.is_exact_ &= leaf.is_exact;
  to.tells_waiting_ &= tells_waiting(leaf.rank, leaf.location);
  to.knows_off_cpu_of_calls_ &= leaf.rank.off_cpu_of_calls_is_counted;
  if (question_.has_errors) weights_.assign(slots(), 0);
  for (const Row& row : leaf.rows) {
    const std::uint32_t node = leaf.node_of(nodes_, row);
    if (!is_chosen(node)) continue;
    const std::size_t slot = slot_of(node);
    add_row(to, leaf, row, slot);
    if (!question_.has_errors || !row.is_sampled()) continue;
    to.exclusive_.sampled[slot] += row.ns;
    weights_[slot] += static_cast<double>(row.value(MetricId::Weight));
  }
  for (const Column& of : of_mpi_)
    if (of.number == format::column_of(MetricId::OffCpuMpi)) add_unassigned(to, leaf, of.column);
  if (question_.has_errors)
    if (const Stratum stratum = leaf.stratum(); stratum.time > 0) add_variance(to, stratum);
  if (leaf.is_whole_run) add_found(to, leaf);
}

void Grouping::add_row(Answer& to, const Leaf& leaf, const Row& row, std::size_t slot) {
  using Flags = Answer::Flags;
  auto& values = to.exclusive_.values;
  Flags& flags = to.exclusive_.flags[slot];
  flags += {Flags::Row};
  if (row.is_divided) flags += {Flags::Divided};
  if (row.below != 0 || row.above != 0) flags += {Flags::Bounded};
  to.below_ += row.below;
  to.above_ += row.above;
  for (const Column& of : times_) values[of.column][slot] += row.has(static_cast<TimeMetric>(of.number)) ? row.ns : 0;
  if (row.kind == format::NodeKind::Marked) {
    for (const Column& of : of_marks_) values[of.column][slot] += leaf.mark_of(row, static_cast<MetricId>(of.number));
    if (row.value(MetricId::MarkVisits) > 0 && !tells_waiting(leaf.rank, leaf.location)) flags += {Flags::Untold};
  } else if (const bool is_of_mpi = row.kind == format::NodeKind::Region; is_of_mpi || format::is_sampled(row.kind)) {
    for (const Column& of : is_of_mpi ? of_mpi_ : of_functions_)
      if (of.number < row.columns.size() && row.columns[of.number] != 0)  // most are 0
        values[of.column][slot] += row.columns[of.number];
  }
  if (row.asked_for.empty()) return;
  const auto add = [&](std::size_t column, std::string_view name) {
    const auto& own = leaf.rank.extra_metrics;
    const auto at = std::ranges::find(own, name, &experiment::ExtraMetric::name) - own.begin();
    if (static_cast<std::size_t>(at) < row.asked_for.size())
      values[column][slot] += row.asked_for[static_cast<std::size_t>(at)];
  };
  const auto& all = metrics_.asked_for();
  for (const Column& of : asked_for_) add(of.column, all[of.number].name);
  if (!question_.all_asked_for) return;
  if (values.size() < to.asked_for_ + all.size())
    values.resize(to.asked_for_ + all.size(), std::vector<Integer>(slots()));
  for (std::size_t m = 0; m < all.size(); ++m) add(to.asked_for(m), all[m].name);
}

/// Adds the time off the CPU in MPI that the measurement could assign to no call path.
void Grouping::add_unassigned(Answer& to, const Leaf& leaf, std::size_t column) const {
  const std::uint32_t node = nodes_.of(Pseudo::MpiWithoutPath);
  if (!leaf.rank.off_cpu_of_calls_is_counted || !is_chosen(node)) return;
  Integer rest = leaf.totals.totals.off_mpi_ns;
  for (const Row& row : leaf.rows) rest -= row.value(MetricId::OffCpuMpi);
  if (rest > 0) to.exclusive_.values[column][slot_of(node)] += rest;
}

/// Adds the values that tools have saved for this location.
void Grouping::add_found(Answer& to, const Leaf& leaf) {
  const std::pair place(leaf.rank.rank, leaf.location.thread);
  const auto place_of = [](const auto& row) { return std::pair(row.rank, row.thread); };
  for (const Column& column : found_) {
    const experiment::SavedMetric& found = metrics_.found()[column.number];
    const double scale = metrics_[question_.metrics[column.column]].scale;
    for (const auto& of : std::ranges::equal_range(found.values, place, {}, place_of)) {
      const std::uint32_t node = of.path < 0 ? 0 : nodes_.of_path(static_cast<std::uint32_t>(of.path));
      if (!is_chosen(node)) continue;
      const std::size_t slot = slot_of(node);
      to.exclusive_.values[column.column][slot] += std::llround(of.seconds * scale);
      to.exclusive_.flags[slot] += {Answer::Flags::Row};
    }
    for (const auto& of : std::ranges::equal_range(found.locations, place, {}, place_of))
      to.found_errors_[column.column] = of.error_s;
    if (has_replicates(column)) add_replicates(to, leaf, column);
  }
}

/// The replicates of a block of ranks are added with the first of its locations that has an error. The other locations
/// with an error must be added too, or the sum has more replicates than values.
void Grouping::add_replicates(Answer& to, const Leaf& leaf, const Column& column) {
  const experiment::SavedMetric& found = metrics_.found()[column.number];
  const std::int32_t first = leaf.rank.rank - leaf.rank.rank % found.ranks_in_block;
  const std::int64_t end = std::int64_t{first} + found.ranks_in_block;
  const auto from = std::ranges::lower_bound(found.locations, first, {}, &experiment::SavedMetric::OfLocation::rank);
  const experiment::SavedMetric::OfLocation* leader = nullptr;
  std::int64_t members = 0;
  bool is_member = false;
  for (auto at = from; at != found.locations.end() && at->rank < end; ++at) {
    if (at->error_s == 0) continue;
    if (!leader) leader = &*at;
    ++members;
    is_member |= at->rank == leaf.rank.rank && at->thread == leaf.location.thread;
  }
  if (!is_member) return;
  std::int64_t& missing = to.missing_[column.column][first];
  --missing;
  if (leader->rank != leaf.rank.rank || leader->thread != leaf.location.thread) return;
  missing += members;
  for (const auto& of :
       std::ranges::equal_range(found.replicates, first, {}, &experiment::SavedMetric::Replicated::rank)) {
    const std::uint32_t node = of.path < 0 ? 0 : nodes_.of_path(static_cast<std::uint32_t>(of.path));
    if (is_chosen(node)) to.exclusive_.replicates[column.column][slot_of(node)] += Replicates{of.ns};
  }
}

template <class Value>
void Grouping::add_children(std::vector<Value>& by_node) const {
  for (auto node = static_cast<std::uint32_t>(by_node.size()); node-- > 1;)
    by_node[nodes_.parent(node)] += by_node[node];
}

template <class Value>
std::vector<Value> Grouping::by_key(const std::vector<Value>& by_node, bool outermost_only) const {
  const Keys& of = *question_.keys;
  std::vector<Value> sums(of.size());
  for (std::size_t node = 0; node < by_node.size(); ++node)
    if (of.of_node[node] != Keys::none && (!outermost_only || of.is_outermost[node]))
      sums[of.of_node[node]] += by_node[node];
  return sums;
}

/// Shares of a stratum are correlated, so the weights of a key are added up first.
void Grouping::add_variance(Answer& to, const Stratum& stratum) {
  const auto add = [&](const std::vector<double>& weights, std::vector<double>& variance) {
    stratum.add_variances(std::span(weights).first(variance.size()), variance);
  };
  if (!question_.keys || !question_.has_inclusive) return add(weights_, to.exclusive_.variance);
  const auto add_by_key = [&](bool outermost_only, std::vector<double>& variance) {
    if (question_.keys->is_by_node()) add(weights_, variance);
    else add(by_key(weights_, outermost_only), variance);
  };
  add_by_key(false, to.exclusive_.variance);
  add_children(weights_);
  add_by_key(true, to.inclusive_.variance);
}

/// Turns sums by node into sums by key.
void Grouping::close(Answer& answer) const {
  Answer::Sums &own = answer.exclusive_, &all = answer.inclusive_;
  if (question_.all_asked_for)
    for (std::size_t m = 0; m < metrics_.asked_for().size(); ++m)
      answer.columns_.push_back(Metrics::asked_for_begin() + m);
  while (own.values.size() < answer.columns_.size()) own.values.emplace_back(slots());
  if (question_.nodes.empty()) answer.everything_ = question_.keys ? question_.keys->of_node[0] : 0;
  if (!question_.keys) all = own;
  if (!question_.keys || !question_.has_inclusive) return;
  const auto add_up = [this](auto& exclusive, auto& inclusive) {
    if (question_.keys->is_by_node()) {
      inclusive = exclusive;
      return add_children(inclusive);
    }
    auto by_node = std::exchange(exclusive, by_key(exclusive, false));
    add_children(by_node);
    inclusive = by_key(by_node, true);
  };
  all.values.resize(own.values.size());
  for (std::size_t c = 0; c < own.values.size(); ++c) add_up(own.values[c], all.values[c]);
  if (question_.has_errors) add_up(own.sampled, all.sampled);
  add_up(own.flags, all.flags);
  all.replicates.resize(own.replicates.size());
  for (std::size_t c = 0; c < own.replicates.size(); ++c)
    if (!own.replicates[c].empty()) add_up(own.replicates[c], all.replicates[c]);
}

void Grouping::hand_over() {
  if (!take_) return;
  for (Answer& answer : answers_) {
    close(answer);
    take_(answer);
    handed_over_ = std::move(answer);
  }
  answers_.clear();
}

std::vector<Answer> Grouping::finish() {
  hand_over();
  for (Answer& answer : answers_) close(answer);
  return std::exchange(answers_, {});
}

Keys nodes_of(const Leaf& leaf, const Nodes& nodes) {
  std::vector<bool> has(nodes.size());
  for (const Row& row : leaf.rows) has[leaf.node_of(nodes, row)] = true;
  Keys keys;
  std::uint32_t key = 0;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) keys.put(nodes, node, has[node] ? key++ : Keys::none);
  return keys;
}

Answer answer_of(const Leaf& leaf, const Nodes& nodes, const Metrics& metrics, Question question) {
  Grouping grouping(nodes, metrics, std::move(question));
  grouping.add(leaf);
  return std::move(grouping.finish()[0]);
}

Quantity Answer::quantity(std::size_t key, std::size_t column, const Sums& of) const {
  const Metric& metric = (*metrics_)[columns_[column]];
  const Flags flags = of.flags[key];
  // The inclusive value of all nodes is not divided.
  const bool is_everything = key == everything_ && &of == &inclusive_;
  const bool is_part_of_time = metric.adds == Adds::Samples && !is_everything;
  Quantity result;
  result.value = of.values[column][key];
  if (!is_exact_ && !is_everything) result.known = Known::Reconstructed;
  if (metric.adds == Adds::Samples && !of.sampled.empty()) result.sampled = of.sampled[key];
  if (is_part_of_time) result.variance = of.variance[key];
  if (is_part_of_time && flags.has(Flags::Divided)) result.known = Known::Sampled;
  if (flags.has(Flags::Bounded) && (is_part_of_time || metric.adds == Adds::Bounds)) {
    result.below = below_;
    result.above = above_;
    result.known = Known::Sampled;
  }
  if (metric.adds == Adds::Estimate) {
    result.known = Known::Sampled;
    const bool is_location = leaves_ == 1 && is_everything && found_errors_[column] >= 0;
    const bool has_replicates =
        column < of.replicates.size() && !of.replicates[column].empty() &&
        std::ranges::all_of(missing_[column], [](const auto& block) { return block.second == 0; });
    result.has_error = is_location || has_replicates;
    const double error_s = is_location      ? found_errors_[column]
                           : has_replicates ? of.replicates[column][key].error_ns() * 1e-9
                                            : 0;
    result.variance = error_s * metric.scale * error_s * metric.scale;
  }
  const auto is = [&](Metric::From from, auto... numbers) {
    return metric.from == from && ((metric.number == static_cast<std::size_t>(numbers)) || ...);
  };
  if (is(Metric::Rules, waited_for_core, blocked)) result.is_known = tells_waiting_;
  if (is(Metric::Columns, MetricId::OffCpuMpi)) result.is_known = knows_off_cpu_of_calls_;
  if (is(Metric::Marks, MetricId::MarkOffCpu, MetricId::MarkWaited)) result.is_known = !flags.has(Flags::Untold);
  return result;
}

}  // namespace refrain::run
