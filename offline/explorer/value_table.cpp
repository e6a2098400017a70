#include "offline/explorer/value_table.hpp"

#include <algorithm>
#include <tuple>

namespace refrain::explorer {

void ValueTable::keep_by_place(std::uint32_t unit, bool are_kept) {
  if (unit >= by_place_.size()) by_place_.resize(unit + 1);
  by_place_[unit] = are_kept;
}

ValueTable::Entry& ValueTable::entry(std::uint32_t unit, std::size_t metric, std::uint32_t node) {
  const std::uint64_t key = (std::uint64_t{unit} * metrics_ + metric) * nodes_ + node;
  const auto [at, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(entries_.size()));
  if (is_new) entries_.push_back({unit, static_cast<std::uint32_t>(metric), node, 0, {}});
  return entries_[at->second];
}

void ValueTable::add(std::uint32_t unit, std::size_t metric, std::uint32_t node, std::size_t place, double value) {
  if (value == 0) return;
  Entry& of = entry(unit, metric, node);
  of.sum += value;
  if (unit >= by_place_.size() || !by_place_[unit]) return;
  if (of.by_place.empty()) of.by_place.resize(places_);
  of.by_place[place] += static_cast<float>(value);
}

void ValueTable::add_sum(std::uint32_t unit, std::size_t metric, std::uint32_t node, double value) {
  if (value != 0) entry(unit, metric, node).sum += value;
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
  entries_.clear();
  index_.clear();
}

}  // namespace refrain::explorer
