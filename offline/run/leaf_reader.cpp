#include "offline/run/leaf_reader.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "offline/run/iteration_profile.hpp"
#include "offline/run/iterations.hpp"
#include "offline/run/totals.hpp"

namespace refrain::run {

std::optional<std::vector<experiment::Unit>> LeafReader::units_of(const experiment::Location& location,
                                                                  const UnitRef& unit, bool& is_exact) const {
  if (unit.of == UnitRef::Run) return location.units;
  // Units that cannot be read are not known to be empty.
  if (location.units.empty() && location.run) return std::nullopt;
  std::vector<experiment::Unit> units;
  if (unit.of != UnitRef::Iteration) {
    const bool is_outside = unit.of == UnitRef::Outside;
    std::ranges::copy_if(location.units, std::back_inserter(units), [&](const experiment::Unit& of) {
      return is_outside ? of.loop < 0 : std::cmp_equal(of.loop, unit.loop) && of.cluster == unit.number;
    });
    if (is_outside) return units;
  } else if (unit.loop < location.loops.size()) {
    const IterationProfiles profiles(experiment_.definitions(), *rank_, location, unit.loop);
    with_iteration(profiles.loop(), unit.number,
                   [&](std::int64_t iteration, std::int32_t cluster, std::span<const std::int64_t> row) {
                     is_exact = profiles.is_exact(cluster);
                     units.push_back(profiles.unit_of(iteration, cluster, row));
                   });
  }
  return units.empty() ? std::nullopt : std::optional(std::move(units));
}

const Leaf* LeafReader::of(std::int32_t rank, std::int32_t thread, const UnitRef& unit) {
  leaf_.reset();
  const auto depth = unit.of == UnitRef::Run ? experiment::Depth::Run : experiment::Depth::Whole;
  if (!rank_ || rank_->rank != rank || depth_ < depth) {
    const std::vector<std::int32_t>& all = experiment_.ranks();
    const auto at = std::ranges::lower_bound(all, rank);
    const bool is_there = at != all.end() && *at == rank;
    rank_ = is_there ? experiment_.rank(static_cast<std::size_t>(at - all.begin()), depth) : nullptr;
    depth_ = depth;
  }
  if (!rank_) return nullptr;
  const auto location = std::ranges::find(rank_->locations, thread, &experiment::Location::thread);
  if (location == rank_->locations.end()) return nullptr;
  const bool is_whole_run = unit.of == UnitRef::Run, has_totals = is_whole_run && location->run;
  bool is_exact = true;
  if (!has_totals) {
    const auto units = units_of(*location, unit, is_exact);
    if (!units) return nullptr;
    totals_ = totals_of(*units, *rank_, *location, leaves_.definitions().paths);
  }
  leaf_.emplace(leaves_.of(*rank_, *location, has_totals ? *location->run : totals_));
  leaf_->is_whole_run = is_whole_run;
  leaf_->is_exact = is_exact;
  return &*leaf_;
}

ValueReader::ValueReader(const Run& run)
    : run_(run), by_node_(by_node(run.nodes())), metrics_(run.metrics().listed()), leaves_(run.experiment()) {}

void ValueReader::for_each_node(std::int32_t rank, std::int32_t thread, const UnitRef& unit, const Take& take) {
  const Leaf* leaf = leaves_.of(rank, thread, unit);
  if (!leaf) return;
  const Keys own = leaf->is_whole_run ? Keys() : nodes_of(*leaf, run_.nodes());
  const Keys& keys = leaf->is_whole_run ? by_node_ : own;
  const Answer answer = answer_of(*leaf, run_.nodes(), run_.metrics(),
                                  {.keys = &keys, .metrics = metrics_, .has_errors = false, .has_inclusive = false});
  std::vector<double> values(metrics_.size());
  for (std::size_t key = 0; key < keys.size(); ++key) {
    if (keys.first[key] == 0 || !answer.has(key)) continue;
    for (std::size_t m = 0; m < metrics_.size(); ++m)
      values[m] = run_.metrics()[metrics_[m]].in_unit(answer.exclusive(key, m));
    take(keys.first[key], values);
  }
}

}  // namespace refrain::run
