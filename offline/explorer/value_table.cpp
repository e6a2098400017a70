#include "offline/explorer/value_table.hpp"

#include <algorithm>
#include <tuple>

namespace refrain::explorer {

void ValueTable::keep_by_place(std::uint32_t unit, bool are_kept) {
  if (unit >= by_place_.size()) by_place_.resize(unit + 1);
  by_place_[unit] = are_kept;
}

ValueTable::Entry& ValueTable::entry(std::uint32_t unit, std::size_t metric, std::uint32_t node) {
  const std::size_t row = unit * metrics_ + metric;
  if (row >= index_.size()) index_.resize(row + 1);
  std::vector<std::uint32_t>& by_node = index_[row];
  if (node >= by_node.size()) by_node.resize(nodes_);
  if (by_node[node] == 0) {
    entries_.push_back({unit, static_cast<std::uint32_t>(metric), node, 0, {}, {}});
    by_node[node] = static_cast<std::uint32_t>(entries_.size());
  }
  return entries_[by_node[node] - 1];
}

void ValueTable::put(Entry& to, std::size_t place, double value) {
  to.sum += value;
  if (to.unit >= by_place_.size() || !by_place_[to.unit]) return;
  if (to.by_place.empty()) to.by_place.resize(places_);
  to.by_place[place] += static_cast<float>(value);
}

void ValueTable::add(std::uint32_t unit, std::size_t metric, std::uint32_t node, std::size_t place, double value) {
  if (value != 0) put(entry(unit, metric, node), place, value);
}

void ValueTable::Extremes::add(std::int32_t rank, double value) {
  if (threads == 0 || value < least) least = value, least_rank = rank;
  if (threads == 0 || value > greatest) greatest = value, greatest_rank = rank;
  ++threads;
}

void ValueTable::add_thread(std::size_t metric, std::uint32_t node, std::size_t place, std::int32_t rank,
                            double value) {
  if (value == 0) return;
  Entry& of = entry(0, metric, node);
  put(of, place, value);
  of.extremes.add(rank, value);
}

void ValueTable::add_sum(std::uint32_t unit, std::size_t metric, std::uint32_t node, double value) {
  if (value != 0) entry(unit, metric, node).sum += value;
}

void ValueTable::scale(std::uint32_t unit, const std::function<double(std::size_t metric)>& factor_of) {
  for (Entry& of : entries_) {
    if (of.unit != unit) continue;
    const double factor = factor_of(of.metric);
    of.sum *= factor;
    for (float& value : of.by_place) value *= static_cast<float>(factor);
  }
}

std::vector<bool> ValueTable::used_metrics() const {
  std::vector<bool> used(metrics_);
  for (const Entry& of : entries_) used[of.metric] = used[of.metric] || of.sum != 0 || !of.by_place.empty();
  return used;
}

void ValueTable::finish(const std::vector<std::uint32_t>& number, Run& run) {
  for (Entry& of : entries_) of.metric = number[of.metric];
  std::ranges::sort(entries_, {}, [](const Entry& of) { return std::tuple(of.unit, of.metric, of.node); });
  for (Entry& of : entries_) {
    Sums* row = run.sums.empty() ? nullptr : &run.sums.back();
    if (!row || row->kind != Sums::Values || row->unit != of.unit || row->metric != of.metric)
      row = &run.sums.emplace_back(Sums{Sums::Values, of.unit, of.metric, {}, {}});
    row->nodes.push_back(of.node);
    row->values.push_back(of.sum);
    if (!of.by_place.empty()) run.cells.push_back({of.unit, of.metric, of.node, std::move(of.by_place)});
  }
  finish_extremes(run);
  entries_.clear();
  index_.clear();
}

/// Threads without a value count as 0.
void ValueTable::finish_extremes(Run& run) const {
  std::int64_t threads = 0;
  for (const Place& place : run.places) threads += place.locations;
  const auto put_rows = [&](Sums::Kind kind, const auto& value_of) {
    bool is_first = true;
    for (const Entry& of : entries_) {
      if (of.extremes.threads == 0) continue;
      if (is_first || run.sums.back().metric != of.metric) run.sums.push_back({kind, 0, of.metric, {}, {}});
      is_first = false;
      Extremes extremes = of.extremes;
      if (extremes.threads < threads) extremes.add(-1, 0);
      run.sums.back().nodes.push_back(of.node);
      run.sums.back().values.push_back(value_of(extremes));
    }
  };
  put_rows(Sums::Least, [](const Extremes& of) { return of.least; });
  put_rows(Sums::LeastRank, [](const Extremes& of) { return static_cast<double>(of.least_rank); });
  put_rows(Sums::Greatest, [](const Extremes& of) { return of.greatest; });
  put_rows(Sums::GreatestRank, [](const Extremes& of) { return static_cast<double>(of.greatest_rank); });
}

}  // namespace refrain::explorer
