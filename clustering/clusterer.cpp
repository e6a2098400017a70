#include "clustering/clusterer.hpp"

#include <algorithm>

namespace refrain::clustering {

bool Clusterer::create(const Settings& settings) {
  if (settings.metrics == 0 || settings.metrics > max_overall || settings.shapes.empty() ||
      settings.shapes.size() > max_shapes || settings.max_clusters == 0)
    return false;
  equivalence_ = settings.equivalence;
  max_clusters_ = settings.max_clusters;
  memory_limit_ = settings.memory_limit;
  shapes_ = settings.shapes.size();
  std::size_t flat = 0;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const Shape& shape = settings.shapes[s];
    if (shape.columns.empty() || shape.columns.size() > max_columns || flat + shape.columns.size() > max_flat)
      return false;
    exact_[s] = shape.exact;
    key_shape_[s] = equivalence_ == Equivalence::All || (equivalence_ != Equivalence::None && shape.exact);
    visits_[s] = shape.visits;
    columns_[s] = static_cast<std::uint8_t>(shape.columns.size());
    flat_begin_[s] = static_cast<std::uint8_t>(flat);
    padded_begin_[s] = padded_count_;
    padded_count_ = static_cast<std::uint8_t>(padded_count_ + (columns_[s] + lanes - 1) / lanes * lanes);
    for (std::size_t c = 0; c < shape.columns.size(); ++c, ++flat) {
      const std::uint8_t overall = shape.columns[c].scales_with;
      const std::uint8_t second = shape.columns[c].also_scales_with;
      if (overall != no_metric && overall >= settings.metrics) return false;
      if (second != no_metric && (second >= settings.metrics || overall == no_metric)) return false;
      flat_[flat] = {static_cast<std::uint8_t>(s),
                     static_cast<std::uint8_t>(c),
                     overall,
                     second == overall ? no_metric : second,
                     false,
                     0};
    }
  }
  flat_count_ = flat;
  for (const bool exact : {true, false}) {
    for (std::size_t f = 0; f < flat_count_; ++f) {
      FlatColumn& column = flat_[f];
      if (exact_[column.shape] != exact || column.overall == no_metric ||
          !settings.shapes[column.shape].columns[column.column].in_distance)
        continue;
      column.sketched = true;
      column.sketch_begin = static_cast<std::uint16_t>(sketch_dims_);
      sketched_[sketched_count_++] = static_cast<std::uint8_t>(f);
      all_sketched_ |= std::uint64_t{1} << f;
      sketch_dims_ += lanes;
    }
  }
  metrics_ = settings.metrics;
  stride_ = (metrics_ + lanes - 1) / lanes * lanes;
  return take_newcomer_slot();
}

Clusterer::~Clusterer() {
  for (const IterationClass& cls : classes_) platform::unmap_pages(cls.block, cls.block_bytes);
}

Label Clusterer::add(std::uint64_t iteration, const IterationProfile& profile) {
  if (next_label_ == static_cast<std::uint32_t>(no_label) || !take_newcomer_slot() || !reserve_newcomer(profile))
    return no_label;
  order_valid_ = false;
  std::uint32_t cls = last_class_;
  if (cls == none || !matches_in_order(classes_[cls], profile)) {
    if (!is_valid(profile)) return no_label;
    cls = class_of(profile);
  }
  if (cls == none || !find_other_columns(cls)) cls = overflow_class(profile);
  if (cls == none) return no_label;

  count_totals(profile);
  IterationClass& found = classes_[cls];
  learning_ = found.adds < eager_learning || found.adds % learning_stride == 0;
  sketch_newcomer(found);
  learn_slopes(found);
  std::uint32_t slot = choose(cls);
  if (slot == none) {
    slot = newcomer_;
    start_cluster(cls, iteration, profile);
  } else {
    absorb(slot, iteration, profile);
  }
  last_slot_ = slot;
  return clusters_[slot].label;
}

std::uint32_t Clusterer::slot_of(std::uint32_t index) const {
  if (!order_valid_) {
    order_.clear();
    for (std::uint32_t slot = 0; slot < clusters_.size(); ++slot)
      if (clusters_[slot].members) (void)order_.push_back(slot);
    std::sort(order_.begin(), order_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return clusters_[a].label < clusters_[b].label; });
    order_valid_ = true;
  }
  return order_[index];
}

ClusterView Clusterer::cluster(std::uint32_t index) const {
  const std::uint32_t slot = slot_of(index);
  const Cluster& c = clusters_[slot];
  const std::byte* statistics = statistics_of(slot);
  return {c.label,
          c.cls,
          classes_[c.cls].overflow,
          c.members,
          c.first,
          c.last,
          c.exemplar,
          {sums(statistics), metrics_},
          {minima(statistics), metrics_},
          {maxima(statistics), metrics_},
          {squares(statistics), metrics_}};
}

bool Clusterer::is_touched(const Cluster& c, std::uint32_t path) const {
  const std::int64_t* sum = profile_of(c) + paths_[path].at;
  return std::any_of(sum, sum + columns_[paths_[path].shape], [](std::int64_t value) { return value != 0; });
}

PathRow Clusterer::row_of(const Cluster& c, std::uint32_t path, bool key) const {
  const ClassPath& of = paths_[path];
  PathRow out{};
  out.path = PathId{of.path};
  out.shape = of.shape;
  out.columns = columns_[of.shape];
  out.has_slopes = key;
  std::copy_n(profile_of(c) + of.at, out.columns, out.sum);
  for (unsigned k = 0; key && k < out.columns; ++k) {
    const Slopes slopes = slopes_of(classes_[c.cls], flat_begin_[of.shape] + k, of.at + k);
    out.slope[k] = slopes.first;
    out.second_slope[k] = slopes.second;
  }
  return out;
}

std::size_t Clusterer::bytes_in_use() const {
  return blocks_ + classes_.size() * sizeof(IterationClass) + class_table_.bytes() + paths_.size() * sizeof(ClassPath) +
         path_index_.bytes() + clusters_.size() * (sizeof(Cluster) + statistics_bytes()) +
         means_.size() * sizeof(float) + sketches_.size() * sizeof(float) + nearest_costs_.size() * 4 * sizeof(float) +
         merges_.size() * sizeof(Merge);
}

}  // namespace refrain::clustering
