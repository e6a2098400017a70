#include "offline/explorer/own_values.hpp"

#include <algorithm>

namespace refrain::explorer {

OwnValues::OwnValues(const run::Run& run)
    : run_(run), by_node_(run::by_node(run.nodes())), metrics_(run.metrics().list()), columns_(run.metrics().listed()) {
  columns_.push_back(run.metrics().of(format::MetricId::Weight));
}

std::size_t OwnValues::place_of(std::size_t metric) const {
  return static_cast<std::size_t>(std::ranges::find(columns_, metric) - columns_.begin());
}

bool OwnValues::is_below(std::size_t metric, std::string_view above) const {
  for (int at = static_cast<int>(metric); at >= 0; at = metrics_[static_cast<std::size_t>(at)].parent)
    if (metrics_[static_cast<std::size_t>(at)].name == above) return true;
  return false;
}

std::vector<OwnValue> OwnValues::of(const run::Leaf& leaf, std::vector<double>* weights) const {
  // Metrics that tools have found for a run have values at nodes without rows, too.
  const run::Keys few = leaf.is_whole_run ? run::Keys() : run::nodes_of(leaf, run_.nodes());
  const run::Keys& keys = leaf.is_whole_run ? by_node_ : few;
  const run::Answer answer =
      answer_of(leaf, run_.nodes(), run_.metrics(),
                {.keys = &keys, .metrics = columns_, .has_errors = false, .has_inclusive = false});
  std::vector<OwnValue> values;
  std::vector<run::Integer> own(metrics_.size());
  for (std::uint32_t key = 0; key < keys.size(); ++key) {
    if (!answer.has(key)) continue;
    for (std::size_t m = 0; m < own.size(); ++m) own[m] = answer.exclusive_value(key, m);
    for (std::size_t m = 0; m < own.size(); ++m)
      if (const run::Metric& of = metrics_[m]; of.parent >= 0 && of.from != run::Metric::Found)
        own[static_cast<std::size_t>(of.parent)] -= answer.exclusive_value(key, m);
    for (std::size_t m = 0; m < own.size(); ++m)
      if (own[m] != 0) values.push_back({static_cast<std::uint32_t>(m), keys.first[key], metrics_[m].in_unit(own[m])});
    if (weights) (*weights)[keys.first[key]] += static_cast<double>(answer.exclusive_value(key, own.size()));
  }
  return values;
}

}  // namespace refrain::explorer
