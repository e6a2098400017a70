#include "tests/unit/clustering/former/clusterer.hpp"

#include <algorithm>
#include <cstring>

#include "format/hashing.hpp"

namespace refrain::clustering::former {

bool Clusterer::create(const Settings& settings, Algorithm algorithm) {
  destroy();
  if (settings.metrics == 0 || settings.metrics > max_overall || settings.shapes.empty() ||
      settings.shapes.size() > max_shapes || settings.max_clusters == 0)
    return false;
  algorithm_ = algorithm;
  equivalence_ = settings.equivalence;
  max_clusters_ = settings.max_clusters;
  memory_limit_ = settings.memory_limit;
  metrics_ = settings.metrics;
  stride_ = (metrics_ + lanes - 1) / lanes * lanes;
  shapes_ = settings.shapes.size();
  for (std::size_t m = 0; m < metrics_; ++m) in_distance_[m] = true;
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
    }
  }
  flat_count_ = flat;
  for (const bool exact : {true, false}) {
    for (std::size_t f = 0; f < flat_count_; ++f) {
      FlatColumn& column = flat_[f];
      if (algorithm_ != Algorithm::Refrain || exact_[column.shape] != exact || column.overall == no_metric ||
          !settings.shapes[column.shape].columns[column.column].in_distance)
        continue;
      column.sketched = true;
      column.sketch_begin = static_cast<std::uint16_t>(sketch_dims_);
      sketched_[sketched_count_++] = static_cast<std::uint8_t>(f);
      all_sketched_ |= std::uint64_t{1} << f;
      sketch_dims_ += lanes;
    }
  }
  return take_newcomer_slot();
}

void Clusterer::destroy() {
  // Rows and lists all lie in the heap and go with it.
  heap_.release();
  classes_.release();
  class_lists_.release();
  clusters_.release();
  free_slots_.release();
  means_.release();
  sketches_.release();
  slot_class_.release();
  members_.release();
  statistics_.release();
  tables_.release();
  rows_.release();
  merges_.release();
  order_.release();
  integer_means_.release();
  key_values_.release();
  deltas_.release();
  delta_floats_.release();
  signs_.release();
  nearest_costs_.release();
  wards_.release();
  work_.release();
  work_b_.release();
  found_.release();
  sparse_.release();
  missing_.release();
  pick_a_.release();
  pick_b_.release();
  normalised_.release();
  work_floats_.release();
  metrics_ = stride_ = shapes_ = flat_count_ = sketch_dims_ = sketched_count_ = 0;
  cluster_count_ = next_label_ = 0;
  overflow_class_ = last_class_ = newcomer_ = delta_class_ = none;
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
    integer_total_[m] = 0;
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
  // A freed slot must find room in the list of free ones.
  if (!free_slots_.reserve(slots) || !means_.resize(slots * stride_) || !sketches_.resize(padded * sketch_dims_) ||
      !nearest_costs_.resize(padded) || !wards_.resize(padded) || !members_.resize(padded) ||
      !slot_class_.resize(padded) || !statistics_.resize(slots * statistics_bytes()) ||
      !tables_.resize(slots * 2 * shapes_) || !order_.reserve(slots) ||
      (algorithm_ == Algorithm::ScorePShipped && !integer_means_.resize(slots * metrics_)) || !clusters_.resize(slots))
    return false;
  newcomer_ = static_cast<std::uint32_t>(slots - 1);
  for (std::uint32_t slot = 0; slot < newcomer_; ++slot) point_to_slot(slot);
  for (std::size_t slot = newcomer_; slot < padded; ++slot) {
    nearest_costs_[slot] = huge_cost;
    slot_class_[slot] = none;
  }
  return true;
}

/// What a cluster has in arrays by slot, which move when they grow.
void Clusterer::point_to_slot(std::uint32_t slot) {
  clusters_[slot].statistics = statistics_.data() + slot * statistics_bytes();
  clusters_[slot].tables = tables_.data() + slot * 2 * shapes_;
}

bool Clusterer::valid(const IterationProfile& profile) const {
  if (profile.overall.size() != metrics_ || metrics_ == 0) return false;
  for (const TouchedPath& t : profile.paths)
    if (t.shape >= shapes_) return false;
  return true;
}

Added Clusterer::add(std::uint64_t iteration, const IterationProfile& profile) {
  if (metrics_ == 0) return {no_label, Error::BadProfile};
  if (next_label_ == static_cast<std::uint32_t>(no_label) || !take_newcomer_slot() ||
      !merges_.reserve(merges_.size() + 2))
    return {no_label, Error::NoMemory};
  order_valid_ = sparse_listed_ = false;
  rows_of_ = none;
  std::uint64_t hash = 0;
  std::uint32_t cls = last_class_;
  if (cls == none || !matches_in_order(classes_[cls], profile)) {
    if (!valid(profile)) return {no_label, Error::BadProfile};
    cls = find_class(profile, hash);
  }
  const bool known = cls != none;
  if (!known) {
    while (cluster_count_ >= max_clusters_ || bytes_in_use() + bytes_of_new_class(profile) > memory_limit_) {
      const Pair pair = closest_pair();
      if (pair.a == none || !merge(pair.a, pair.b)) break;
    }
    Error error = Error::None;
    if (cluster_count_ == 0 || bytes_in_use() + bytes_of_new_class(profile) <= memory_limit_)
      cls = make_class(profile, hash, false, error);
    if (error == Error::BadProfile) return {no_label, error};
    if (cls == none) {
      error = Error::None;
      cls = overflow_class_ != none ? overflow_class_ : make_class(profile, hash, true, error);
      if (cls == none) return {no_label, Error::NoMemory};
    }
  }
  count_totals(profile);
  PathClass& found = classes_[cls];
  if (!found.settled && found.adds >= found.settle_at) settle(found);
  learning_ = !found.settled || found.adds < eager_learning || found.adds % learning_stride == 0;
  if (!prepare_newcomer(found, profile)) return {no_label, Error::NoMemory};
  if (algorithm_ == Algorithm::Refrain) learn_slopes(found);

  std::uint32_t target = none;  // none: a cluster of its own
  const auto may_start = [this] { return bytes_in_use() < memory_limit_; };
  if (found.overflow && found.clusters) {
    target = found.head;
  } else if (found.clusters && algorithm_ == Algorithm::Refrain) {
    const Pair nearest = nearest_to_newcomer(found, cls);
    if (cluster_count_ >= max_clusters_) {
      const Pair pair = closest_pair_of_sketches();
      if (pair.a == none || nearest.cost <= pair.cost || !may_start() || !merge(pair.a, pair.b)) target = nearest.a;
    } else if (!may_start()) {
      target = nearest.a;
    }
  } else if (found.clusters && (cluster_count_ >= max_clusters_ || !may_start())) {
    const Pair pair = closest_pair_of_means(newcomer_, cls);
    if (pair.b == newcomer_) target = pair.a;
    else if (pair.a == none || !merge(pair.a, pair.b)) target = found.head;
  }
  if (target == none) {
    const std::uint32_t slot = newcomer_;
    if (!start_cluster(cls, iteration, profile)) {
      if (!classes_[cls].clusters) return {no_label, Error::NoMemory};
      target = classes_[cls].head;
    } else {
      newcomer_is_neighbour(slot);
      return {clusters_[slot].label, Error::None};
    }
  }
  if (!absorb(target, iteration, profile)) return {no_label, Error::NoMemory};
  return {clusters_[target].label, Error::None};
}

/// Running means. `paper` takes them as they are at every iteration; `refrain` needs a scale only.
void Clusterer::count_totals(const IterationProfile& profile) {
  ++iterations_;
  const std::int64_t* overall = profile.overall.data();
  std::size_t m = 0;
  for (; m + lanes <= metrics_; m += lanes)
    for (std::size_t i = 0; i < lanes; ++i) newcomer_overall_[m + i] = static_cast<double>(overall[m + i]);
  for (; m < metrics_; ++m) newcomer_overall_[m] = static_cast<double>(overall[m]);
  for (m = 0; m < stride_; m += lanes)
    for (std::size_t i = 0; i < lanes; ++i) total_[m + i] += newcomer_overall_[m + i];
  if (algorithm_ == Algorithm::Refrain) {
    if (iterations_ < next_mean_) return;
    next_mean_ = iterations_ + iterations_ / 16 + 1;
  } else {
    for (m = 0; m < metrics_; ++m) integer_total_[m] += static_cast<std::uint64_t>(profile.overall[m]);
  }
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
  const Cluster& c = clusters_[order_[index]];
  std::uint32_t count = classes_[c.cls].key_paths;
  if (c.layout) return count + list_rows(order_[index]);
  for (std::size_t s = 0; s < shapes_; ++s) count += c.tables[shapes_ + s].rows;
  return count;
}

PathRow Clusterer::path(std::uint32_t index, std::uint32_t row) const {
  (void)cluster(index);
  const Cluster& c = clusters_[order_[index]];
  const PathClass& cls = classes_[c.cls];
  PathRow out{};
  for (std::size_t s = 0; s < shapes_; ++s) {
    const Part& part = cls.parts[s];
    if (row >= part.count) {
      row -= part.count;
      continue;
    }
    out.path = PathId{part.paths[row]};
    out.shape = static_cast<std::uint8_t>(s);
    out.columns = columns_[s];
    for (unsigned k = 0; k < columns_[s]; ++k) {
      const unsigned flat = flat_begin_[s] + k;
      const auto base = static_cast<std::uint64_t>(part.base.get(row, k));
      out.sum[k] = static_cast<std::int64_t>(c.members * base + static_cast<std::uint64_t>(c.tables[s].get(row, k)));
      const Slopes slopes = slopes_of(cls, part, flat, row);
      out.slope[k] = slopes.first;
      out.second_slope[k] = slopes.second;
    }
    out.has_slopes = algorithm_ == Algorithm::Refrain;
    return out;
  }
  if (c.layout) {
    if (row >= list_rows(order_[index])) return out;
    std::size_t s = 0;
    while (row >= row_begin_[s + 1]) ++s;
    out.path = PathId{cls.lists[s].paths[rows_[row]]};
    out.shape = static_cast<std::uint8_t>(s);
    out.columns = columns_[s];
    for (unsigned k = 0; k < columns_[s]; ++k) out.sum[k] = c.tables[shapes_ + s].get(rows_[row], k);
    return out;
  }
  for (std::size_t s = 0; s < shapes_; ++s) {
    const PackedTable& table = c.tables[shapes_ + s];
    if (row >= table.rows) {
      row -= table.rows;
      continue;
    }
    out.path = PathId{static_cast<std::uint32_t>(table.get(row, 0))};
    out.shape = static_cast<std::uint8_t>(s);
    out.columns = columns_[s];
    for (unsigned k = 0; k < columns_[s]; ++k) out.sum[k] = table.get(row, k + 1);
    return out;
  }
  return out;
}

std::size_t Clusterer::bytes_in_use() const {
  return heap_.bytes_in_use() + classes_.size() * sizeof(PathClass) + class_lists_.size() * sizeof(std::uint32_t) +
         clusters_.size() * (sizeof(Cluster) + statistics_bytes() + 2 * shapes_ * sizeof(PackedTable)) +
         means_.size() * sizeof(float) + sketches_.size() * sizeof(float) + nearest_costs_.size() * 4 * sizeof(float) +
         integer_means_.size() * sizeof(std::uint64_t) + merges_.size() * sizeof(Merge);
}

std::size_t Clusterer::bytes_mapped() const {
  const auto pages = [](const auto& array) {
    return (array.size() * sizeof(*array.data()) + 4095) & ~std::size_t{4095};
  };
  return heap_.bytes_mapped() + pages(classes_) + pages(class_lists_) + pages(clusters_) + pages(free_slots_) +
         pages(means_) + pages(sketches_) + pages(merges_) + pages(integer_means_) + pages(key_values_) +
         pages(deltas_) + pages(statistics_) + pages(tables_) + pages(slot_class_) + pages(members_) + pages(rows_) +
         pages(delta_floats_) + pages(signs_) + pages(nearest_costs_) + pages(wards_) + pages(work_) + pages(work_b_) +
         pages(found_) + pages(sparse_) + pages(missing_) + pages(pick_a_) + pages(pick_b_) + pages(normalised_) +
         pages(work_floats_);
}

std::size_t Clusterer::profile_bytes() const {
  std::size_t bytes = 0;
  for (const PathClass& cls : classes_.view())
    for (std::size_t s = 0; s < shapes_; ++s) {
      bytes += cls.parts[s].count * 2 * sizeof(std::uint32_t) + BlockHeap::rounded(cls.parts[s].base.bytes());
      if (!cls.settled || !cls.lists[s].capacity) continue;
      bytes += BlockHeap::rounded(cls.lists[s].capacity * sizeof(std::uint32_t)) +
               BlockHeap::rounded(sizeof(std::uint64_t) << cls.lists[s].index_bits);
    }
  for (const Cluster& c : clusters_.view()) {
    if (!c.members) continue;
    bytes += metrics_ * sizeof(std::int64_t);
    for (std::size_t t = 0; t < 2 * shapes_; ++t) bytes += BlockHeap::rounded(c.tables[t].bytes());
  }
  return bytes;
}

std::size_t Clusterer::search_bytes() const {
  if (algorithm_ != Algorithm::Refrain) return 0;
  std::size_t bytes = cluster_count_ * (sketch_dims_ * sizeof(float) + 3 * sizeof(std::uint32_t) + 3 * sizeof(float));
  for (const PathClass& cls : classes_.view()) {
    bytes += 3 * flat_count_ * sizeof(double) + class_floats() * sizeof(float);
    for (std::size_t s = 0; s < shapes_; ++s)
      for (unsigned c = 0; cls.parts[s].count && c < columns_[s]; ++c)
        for (const float* const* scatters : {cls.parts[s].scatter, cls.parts[s].second_scatter})
          bytes += sizeof(float*) + (scatters[c] ? BlockHeap::rounded(cls.parts[s].count * sizeof(float)) : 0);
  }
  return bytes;
}

}  // namespace refrain::clustering::former
