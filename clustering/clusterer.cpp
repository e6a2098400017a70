#include "clustering/clusterer.hpp"

#include <algorithm>
#include <cstring>

#include "format/hashing.hpp"

namespace refrain::clustering {

bool Clusterer::create(const Settings& settings) {
  destroy();
  if (settings.overall.empty() || settings.overall.size() > max_overall || settings.shapes.empty() ||
      settings.shapes.size() > max_shapes || settings.max_clusters == 0)
    return false;
  equivalence_ = settings.equivalence;
  max_clusters_ = settings.max_clusters;
  memory_limit_ = settings.memory_limit;
  metrics_ = settings.overall.size();
  stride_ = (metrics_ + lanes - 1) / lanes * lanes;
  shapes_ = settings.shapes.size();
  BlockForm form{};
  form.shapes = shapes_;
  std::size_t flat = 0;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const Shape& shape = settings.shapes[s];
    if (shape.columns.empty() || shape.columns.size() > max_columns || flat + shape.columns.size() > max_flat)
      return false;
    exact_[s] = shape.exact;
    key_shape_[s] = equivalence_ == Equivalence::All || (equivalence_ != Equivalence::None && shape.exact);
    visits_[s] = shape.visits;
    form.columns[s] = columns_[s] = static_cast<std::uint8_t>(shape.columns.size());
    form.flat_begin[s] = flat_begin_[s] = static_cast<std::uint8_t>(flat);
    for (std::size_t c = 0; c < shape.columns.size(); ++c, ++flat) {
      const std::uint8_t overall = shape.columns[c].scales_with;
      const std::uint8_t second = shape.columns[c].also_scales_with;
      if (overall != no_metric && overall >= metrics_) return false;
      if (second != no_metric && (second >= metrics_ || overall == no_metric)) return false;
      flat_[flat] = {static_cast<std::uint8_t>(s),
                     static_cast<std::uint8_t>(c),
                     overall,
                     second == overall ? no_metric : second,
                     false,
                     0};
      form.shape_of[flat] = static_cast<std::uint8_t>(s);
      if (flat_[flat].second != no_metric) form.twice |= std::uint64_t{1} << flat;
    }
  }
  form.flat_begin[shapes_] = static_cast<std::uint8_t>(flat);
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
  form.sketch_dims = sketch_dims_;
  blocks_.set_form(form);
  return take_newcomer_slot();
}

void Clusterer::destroy() {
  blocks_.release();
  classes_.release();
  class_lists_.release();
  clusters_.release();
  free_slots_.release();
  means_.release();
  sketches_.release();
  slot_class_.release();
  members_.release();
  statistics_.release();
  rows_.release();
  merges_.release();
  order_.release();
  key_values_.release();
  deltas_.release();
  signs_.release();
  nearest_costs_.release();
  wards_.release();
  found_.release();
  sparse_.release();
  metrics_ = stride_ = shapes_ = flat_count_ = sketch_dims_ = sketched_count_ = 0;
  cluster_count_ = next_label_ = 0;
  overflow_class_ = last_class_ = newcomer_ = delta_class_ = told_ = none;
  iterations_ = next_mean_ = all_sketched_ = 0;
  noise_weight_ = 0;
  closest_known_ = sparse_listed_ = false;
  rows_of_ = none;
  sampled_doubt_ = 0;
  for (double& noise : sampling_noise_) noise = 0;
  order_valid_ = false;
  for (std::size_t m = 0; m < max_overall; ++m) {
    total_[m] = 0;
    inverse_mean_[m] = 0;
  }
}

bool Clusterer::take_newcomer_slot() {
  if (newcomer_ != none) return true;
  if (!free_slots_.empty()) {
    newcomer_ = free_slots_.back();
    (void)free_slots_.resize(free_slots_.size() - 1);
    return true;
  }
  const std::size_t slots = clusters_.size() + 1, padded = (slots + lanes - 1) / lanes * lanes;
  const std::byte* statistics = statistics_.data();
  // A freed slot must find room in the list of free ones.
  const bool enough =
      free_slots_.reserve(slots) && means_.resize(slots * stride_) && sketches_.resize(padded * sketch_dims_) &&
      nearest_costs_.resize(padded) && wards_.resize(padded) && members_.resize(padded) && slot_class_.resize(padded) &&
      statistics_.resize(slots * statistics_bytes()) && order_.reserve(slots) && clusters_.resize(slots);
  if (statistics != statistics_.data())
    for (std::uint32_t slot = 0; slot < clusters_.size(); ++slot) point_to_slot(slot);
  if (!enough) return false;
  newcomer_ = static_cast<std::uint32_t>(slots - 1);
  for (std::size_t slot = newcomer_; slot < padded; ++slot) {
    nearest_costs_[slot] = huge_cost;
    slot_class_[slot] = none;
  }
  return true;
}

/// The array of statistics moves when it grows.
void Clusterer::point_to_slot(std::uint32_t slot) {
  clusters_[slot].statistics = statistics_.data() + slot * statistics_bytes();
}

bool Clusterer::valid(const IterationProfile& profile) const {
  if (profile.overall.size() != metrics_ || metrics_ == 0) return false;
  for (const TouchedPath& t : profile.paths)
    if (t.shape >= shapes_) return false;
  return true;
}

/// Merges until there is room for a class of this iteration, as far as anything can be merged.
void Clusterer::merge_to_make_room(const IterationProfile& profile) {
  const std::size_t bytes = bytes_of_new_class(profile);
  const auto is_short = [&] { return bytes_in_use() + bytes > memory_limit_; };
  while (cluster_count_ >= max_clusters_ || is_short()) {
    const Pair pair = closest_pair();
    if (pair.a == none) return;
    PathClass& cls = classes_[clusters_[pair.a].cls];
    if (!merge(pair.a, pair.b)) return;
    if (is_short()) give_rows_back(cls);
  }
}

Added Clusterer::add(std::uint64_t iteration, const IterationProfile& profile) {
  if (metrics_ == 0) return {no_label, Error::BadProfile};
  if (next_label_ == static_cast<std::uint32_t>(no_label) || !take_newcomer_slot() ||
      !merges_.reserve(merges_.size() + 2))
    return {no_label, Error::NoMemory};
  order_valid_ = sparse_listed_ = false;
  rows_of_ = told_ = none;
  std::uint64_t hash = 0;
  std::uint32_t cls = last_class_;
  if (cls == none || !matches_in_order(classes_[cls], profile)) {
    if (!valid(profile)) return {no_label, Error::BadProfile};
    cls = find_class(profile, hash);
  }
  if (cls == none) {
    merge_to_make_room(profile);
    Error error = Error::None;
    if (cluster_count_ == 0 || bytes_in_use() + bytes_of_new_class(profile) <= memory_limit_)
      cls = make_class(profile, hash, false, error);
    if (error == Error::BadProfile) return {no_label, error};
    if (cls == none) cls = overflow_class(profile);
    if (cls == none) return {no_label, Error::NoMemory};
  }
  count_totals(profile);
  if (!prepare_newcomer(classes_[cls], profile)) return {no_label, Error::NoMemory};
  if (!classes_[cls].overflow && !merge_for_longer_rows(classes_[cls]))
    if (const std::uint32_t shared = overflow_class(profile); shared != none) {
      cls = shared;
      sparse_listed_ = false;
      if (!prepare_newcomer(classes_[cls], profile)) return {no_label, Error::NoMemory};
    }
  PathClass& found = classes_[cls];
  learn_slopes(found);

  std::uint32_t target = none;  // none: a cluster of its own
  const auto may_start = [this] { return bytes_in_use() < memory_limit_; };
  if (found.overflow && found.clusters) {
    target = found.head;
  } else if (found.clusters) {
    const Pair nearest = nearest_to_newcomer(found, cls);
    if (cluster_count_ >= max_clusters_) {
      const Pair pair = closest_pair();
      if (pair.a == none || nearest.cost <= pair.cost || !may_start() || !merge(pair.a, pair.b)) target = nearest.a;
    } else if (!may_start()) {
      target = nearest.a;
    }
  }
  if (target == none) {
    const std::uint32_t slot = newcomer_;
    if (start_cluster(cls, iteration, profile)) {
      told_ = slot;
      return {clusters_[slot].label, Error::None};
    }
    if (!classes_[cls].clusters) return {no_label, Error::NoMemory};
    target = classes_[cls].head;
  }
  if (!absorb(target, iteration, profile)) return {no_label, Error::NoMemory};
  told_ = target;
  return {clusters_[target].label, Error::None};
}

/// Running means, which are a scale only: computed anew now and then.
void Clusterer::count_totals(const IterationProfile& profile) {
  ++iterations_;
  const std::int64_t* overall = profile.overall.data();
  std::size_t m = 0;
  for (; m + lanes <= metrics_; m += lanes)
    for (std::size_t i = 0; i < lanes; ++i) newcomer_overall_[m + i] = static_cast<double>(overall[m + i]);
  for (; m < metrics_; ++m) newcomer_overall_[m] = static_cast<double>(overall[m]);
  for (m = 0; m < stride_; m += lanes)
    for (std::size_t i = 0; i < lanes; ++i) total_[m + i] += newcomer_overall_[m + i];
  if (iterations_ < next_mean_) return;
  next_mean_ = iterations_ + iterations_ / 16 + 1;
  for (m = 0; m < metrics_; ++m) {
    const double mean = total_[m] / static_cast<double>(iterations_);
    inverse_mean_[m] = mean != 0 ? static_cast<float>(1 / (mean < 0 ? -mean : mean)) : 0.0F;
  }
}

ClusterView Clusterer::cluster(std::uint32_t index) const {
  if (!order_valid_) {
    order_.clear();
    for (std::uint32_t slot = 0; slot < clusters_.size(); ++slot)
      if (clusters_[slot].members) (void)order_.push_back(slot);
    std::sort(order_.begin(), order_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return clusters_[a].label < clusters_[b].label; });
    order_valid_ = true;
  }
  const Cluster& c = clusters_[order_[index]];
  return {c.label,
          c.cls,
          classes_[c.cls].overflow,
          c.members,
          c.first,
          c.last,
          c.exemplar,
          {sums(c), metrics_},
          {minima(c), metrics_},
          {maxima(c), metrics_},
          {squares(c), metrics_}};
}

std::uint32_t Clusterer::path_count(std::uint32_t index) const {
  (void)cluster(index);
  return classes_[clusters_[order_[index]].cls].block.key_paths() + list_rows(order_[index]);
}

PathRow Clusterer::path(std::uint32_t index, std::uint32_t row) const {
  (void)cluster(index);
  const Cluster& c = clusters_[order_[index]];
  const PathClass& cls = classes_[c.cls];
  const ClassBlock& block = cls.block;
  const std::int64_t* sums = row_of(c);
  PathRow out{};
  if (row >= block.key_paths()) {
    row -= block.key_paths();
    if (row >= list_rows(order_[index])) return out;
    const Listed& listed = blocks_.list(block)[rows_[row]];
    out.path = PathId{listed.path};
    out.shape = static_cast<std::uint8_t>(listed.shape);
    out.columns = columns_[listed.shape];
    std::copy_n(sums + block.key_columns + listed.place, out.columns, out.sum);
    return out;
  }
  std::size_t s = 0;
  while (row >= block.first[s + 1]) ++s;
  row -= block.first[s];
  out.path = PathId{blocks_.paths(block, s)[row]};
  out.shape = static_cast<std::uint8_t>(s);
  out.columns = columns_[s];
  out.has_slopes = true;
  const std::int64_t* base = blocks_.base(block, s) + row;
  for (unsigned k = 0; k < out.columns; ++k, base += block.count(s)) {
    const unsigned flat = flat_begin_[s] + k;
    std::uint64_t sum = c.members * static_cast<std::uint64_t>(*base);
    if (block.rooms.varies >> flat & 1)
      sum += static_cast<std::uint64_t>(sums[blocks_.place_in_row(block, flat) + row]);
    out.sum[k] = static_cast<std::int64_t>(sum);
    const Slopes slopes = slopes_of(cls, flat, row);
    out.slope[k] = slopes.first;
    out.second_slope[k] = slopes.second;
  }
  return out;
}

std::size_t Clusterer::bytes_in_use() const {
  return blocks_.bytes_in_use() + classes_.size() * sizeof(PathClass) + class_lists_.size() * sizeof(std::uint32_t) +
         clusters_.size() * (sizeof(Cluster) + statistics_bytes()) + means_.size() * sizeof(float) +
         sketches_.size() * sizeof(float) + nearest_costs_.size() * 4 * sizeof(float) + merges_.size() * sizeof(Merge);
}

std::size_t Clusterer::bytes_mapped() const {
  const auto pages = [](const auto& array) {
    return (array.size() * sizeof(*array.data()) + 4095) & ~std::size_t{4095};
  };
  return blocks_.bytes_mapped() + pages(classes_) + pages(class_lists_) + pages(clusters_) + pages(free_slots_) +
         pages(means_) + pages(sketches_) + pages(merges_) + pages(key_values_) + pages(deltas_) + pages(statistics_) +
         pages(slot_class_) + pages(members_) + pages(rows_) + pages(signs_) + pages(nearest_costs_) + pages(wards_) +
         pages(found_) + pages(sparse_);
}

std::size_t Clusterer::profile_bytes() const {
  std::size_t bytes = cluster_count_ * metrics_ * sizeof(std::int64_t);
  for (const PathClass& cls : classes_.view()) bytes += cls.block.bytes - blocks_.search_bytes(cls.block);
  return bytes;
}

std::size_t Clusterer::search_bytes() const {
  std::size_t bytes = cluster_count_ * (sketch_dims_ * sizeof(float) + 3 * sizeof(std::uint32_t) + 3 * sizeof(float));
  for (const PathClass& cls : classes_.view()) bytes += blocks_.search_bytes(cls.block);
  return bytes;
}

}  // namespace refrain::clustering
