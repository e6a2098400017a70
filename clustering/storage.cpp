// The contents of clusters, and the addition of iterations and clusters to them. Each change allocates its memory first
// and cannot fail afterwards.
#include <algorithm>
#include <cstring>

#include "clustering/clusterer.hpp"
#include "format/bytes.hpp"

namespace refrain::clustering {

namespace {

constexpr std::size_t page_size = 4096;

/// Adds `values` to `sums`, two at a time.
inline void add_values(std::int64_t* sums, const std::int64_t* values, std::size_t count) {
  std::size_t i = 0;
  for (; i + 2 <= count; i += 2) store(sums + i, vector_at<TwoIntegers>(sums + i) + vector_at<TwoIntegers>(values + i));
  if (i < count) sums[i] = format::wrapping_sum(sums[i], values[i]);
}

/// A sum over members, minus the base times their number.
inline float from_base(std::int64_t sum, std::uint64_t members, std::int64_t base) {
  return static_cast<float>(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) - members * static_cast<std::uint64_t>(base)));
}

}  // namespace

// --- memory ----------------------------------------------------------------------------------------------------------

bool Clusterer::take_newcomer_slot() {
  if (newcomer_ != none) return true;
  if (!free_slots_.empty()) {
    newcomer_ = free_slots_.back();
    (void)free_slots_.resize(free_slots_.size() - 1);
    return true;
  }
  const std::size_t slots = clusters_.size() + 1, padded = (slots + lanes - 1) / lanes * lanes;
  // There must be room for a freed slot in the list of free ones.
  if (!free_slots_.reserve(slots) || !means_.resize(slots * stride_) || !sketches_.resize(padded * sketch_dims_) ||
      !nearest_costs_.resize(padded) || !wards_.resize(padded) || !members_.resize(padded) ||
      !slot_class_.resize(padded) || !statistics_.resize(slots * statistics_bytes()) || !order_.reserve(slots) ||
      !clusters_.resize(slots))
    return false;
  newcomer_ = static_cast<std::uint32_t>(slots - 1);
  for (std::size_t slot = newcomer_; slot < padded; ++slot) {
    nearest_costs_[slot] = huge_cost;
    slot_class_[slot] = none;
  }
  return true;
}

/// Bytes of the overflow class, which do not count against the limit.
std::size_t Clusterer::overflow_bytes() const {
  if (overflow_class_ == none) return 0;
  return classes_[overflow_class_].block_bytes + classes_[overflow_class_].paths * path_bytes;
}

/// Bytes in front of the profiles in a class's block.
std::size_t Clusterer::head_bytes(std::uint32_t key_width) const {
  const std::size_t floats = (class_floats() * sizeof(float) + 7) & ~std::size_t{7};
  return 3 * flat_count_ * sizeof(double) + floats + key_width * (sizeof(std::int64_t) + sizeof(Products));
}

std::size_t Clusterer::block_bytes(std::uint32_t key_width, std::uint32_t clusters, std::uint32_t stride) const {
  const std::size_t profiles = std::size_t{clusters} * stride * sizeof(std::int64_t);
  return (head_bytes(key_width) + profiles + page_size - 1) & ~(page_size - 1);
}

/// The number of values to allocate for a profile of `width` values, with room for further call paths.
std::uint32_t Clusterer::roomy(std::uint32_t width, std::uint32_t key_width) {
  return width + (width - key_width) / 16 + 8;
}

/// Allocates room for `clusters` profiles of `stride` values, not fewer than the class has. False: no memory, and
/// nothing has changed.
bool Clusterer::resize(IterationClass& cls, std::uint32_t clusters, std::uint32_t stride) {
  const std::size_t bytes = block_bytes(cls.key_width, clusters, stride);
  if (bytes > cls.block_bytes) {
    void* grown = cls.block ? platform::remap_pages(cls.block, cls.block_bytes, bytes) : platform::map_pages(bytes);
    if (!grown) return false;
    blocks_ += bytes - cls.block_bytes;
    cls.block = static_cast<std::byte*>(grown);
    cls.block_bytes = bytes;
    cls.overall_scatter = reinterpret_cast<double*>(cls.block);
    cls.second_scatter = cls.overall_scatter + flat_count_;
    cls.cross_scatter = cls.second_scatter + flat_count_;
    cls.slope_sketch = reinterpret_cast<float*>(cls.cross_scatter + flat_count_);
    cls.second_sketch = cls.slope_sketch + sketch_dims_;
    cls.direction = cls.second_sketch + sketch_dims_;
    cls.scale = cls.direction + sketch_dims_ + flat_count_;
    cls.profiles = reinterpret_cast<std::int64_t*>(cls.block + head_bytes(cls.key_width));
    cls.products = reinterpret_cast<Products*>(cls.profiles) - cls.key_width;
    cls.base = reinterpret_cast<std::int64_t*>(cls.products) - cls.key_width;
  }
  if (stride == cls.stride) return true;
  for (std::size_t row = cls.clusters; row-- > 0;) {  // from the last one, so that none is overwritten before it moves
    std::int64_t* to = cls.profiles + row * stride;
    std::memmove(to, cls.profiles + row * cls.stride, cls.width * sizeof *to);
    std::memset(to + cls.width, 0, (stride - cls.width) * sizeof *to);
  }
  cls.stride = stride;
  return true;
}

/// Unmaps pages behind the last profile.
void Clusterer::trim(IterationClass& cls) {
  const std::size_t bytes = block_bytes(cls.key_width, std::max(cls.clusters, 1U), cls.stride);
  if (bytes >= cls.block_bytes) return;
  platform::unmap_pages(cls.block + bytes, cls.block_bytes - bytes);
  blocks_ -= cls.block_bytes - bytes;
  cls.block_bytes = bytes;
}

/// Makes room for one more profile, and for a quarter more if there is memory. False: no memory.
bool Clusterer::reserve_row(IterationClass& cls) {
  const std::uint32_t most = std::max(max_clusters_, cls.clusters + 1);
  for (const std::uint32_t rows : {std::min(cls.clusters + cls.clusters / 4 + 1, most), cls.clusters + 1}) {
    const std::size_t bytes = block_bytes(cls.key_width, rows, cls.stride);
    if (bytes <= cls.block_bytes) return true;
    if (fits(bytes - cls.block_bytes)) return resize(cls, rows, cls.stride);
  }
  return false;
}

/// Makes room for `paths` more call paths, so that each profile of the class has `width` values. Merges clusters of the
/// class if there is not enough memory. False: that was not enough. The overflow class has no limit.
bool Clusterer::reserve_width(IterationClass& cls, std::uint32_t width, std::uint32_t paths) {
  const auto fits_in = [&](std::size_t block) {
    return cls.overflow || fits(paths * path_bytes + block, cls.block_bytes);
  };
  const std::uint32_t least = std::max(width, cls.stride);
  if (!fits_in(block_bytes(cls.key_width, 1, least))) return false;
  for (;;) {
    const std::uint32_t rows = std::max(cls.clusters, 1U);
    for (const std::uint32_t stride : {width > cls.stride ? roomy(width, cls.key_width) : least, least}) {
      const std::size_t block = block_bytes(cls.key_width, rows, stride);
      if (fits_in(std::max(block, cls.block_bytes))) return resize(cls, rows, stride);
    }
    const Pair pair = closest_pair_of(cls);
    if (pair.a == none || !merge(pair.a, pair.b)) return false;
    trim(cls);
  }
}

// --- profiles --------------------------------------------------------------------------------------------------------

void Clusterer::add_to_profile(const IterationClass& cls, std::int64_t* profile) {
  const ClassPath* path = paths_.data() + cls.first_path;
  std::int64_t* key = profile;
  for (std::uint32_t i = 0; i < cls.key_paths; ++i, ++path) {
    const std::size_t count = columns_[path->shape];
    add_values(key, key_values_[i], count);
    key += count;
  }
  for (std::uint32_t i = 0; i < other_count_; ++i)
    add_values(profile + other_at_[i], others_[i].values, columns_[others_[i].shape]);
}

/// Updates the products from which slopes are computed, before `members` iterations with this mean vector join the
/// cluster `into`. `incoming(path, column, value)`: the sum over these iterations, minus the base, of a column of a key
/// path; `value` is the index of that column in a profile.
template <class Incoming>
void Clusterer::learn_products(IterationClass& cls, std::uint32_t into, const float* mean, double members,
                               const Incoming& incoming) {
  const std::uint64_t n = clusters_[into].members;
  const double na = static_cast<double>(n), both = na * members / (na + members);
  const float* mean_here = mean_of(into);
  float weight[max_flat], second_weight[max_flat];
  for (std::size_t f = 0; f < flat_count_; ++f) {
    weight[f] = second_weight[f] = 0;
    if (cls.key_count[flat_[f].shape] == 0) continue;
    const auto difference = [&](std::uint8_t metric) {
      return metric == no_metric ? 0.0 : static_cast<double>(mean[metric]) - static_cast<double>(mean_here[metric]);
    };
    const double first = difference(flat_[f].overall), second = difference(flat_[f].second);
    cls.overall_scatter[f] += first * first * both;
    cls.cross_scatter[f] += first * second * both;
    cls.second_scatter[f] += second * second * both;
    weight[f] = static_cast<float>(first * both);
    second_weight[f] = static_cast<float>(second * both);
  }
  const auto inverse_here = static_cast<float>(1 / na), inverse_there = static_cast<float>(1 / members);
  const std::int64_t* here = profile_of(clusters_[into]);
  const ClassPath* path = paths_.data() + cls.first_path;
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < cls.key_paths; ++i, ++path) {
    const unsigned flat = flat_begin_[path->shape];
    for (unsigned c = 0; c < columns_[path->shape]; ++c, ++value) {
      const float apart =
          incoming(i, c, value) * inverse_there - from_base(here[value], n, cls.base[value]) * inverse_here;
      cls.products[value].first += weight[flat + c] * apart;
      cls.products[value].second += second_weight[flat + c] * apart;
    }
  }
}

void Clusterer::start_cluster(std::uint32_t cls, std::uint64_t iteration, const IterationProfile& profile) {
  const std::uint32_t slot = newcomer_;
  IterationClass& owner = classes_[cls];
  Cluster& c = clusters_[slot];
  c = Cluster{};
  c.cls = cls;
  c.row = owner.clusters;
  c.nearest = none;
  std::int64_t* values = profile_of(c);
  std::memset(values, 0, owner.stride * sizeof *values);
  add_to_profile(owner, values);
  std::byte* statistics = statistics_of(slot);
  std::memset(statistics, 0, statistics_bytes());
  for (std::int64_t* to : {sums(statistics), minima(statistics), maxima(statistics)})
    std::memcpy(to, profile.overall.data(), metrics_ * sizeof *to);
  std::memcpy(exact_means(statistics), newcomer_overall_, stride_ * sizeof(double));
  std::memcpy(exemplar_vector(statistics), mean_of(slot), stride_ * sizeof(float));
  float* sketch = sketch_of(slot);
  for (std::size_t d = 0; d < sketch_dims_; ++d) sketch[d * lanes] = 0;
  for (std::uint8_t o = 0; o < owner.order_count; ++o)
    for (std::size_t d = 0, at = std::size_t{owner.order[o]} * lanes; d < lanes; ++d, ++at)
      sketch[at * lanes] = newcomer_sketch_[at];
  slot_class_[slot] = cls;
  closest_known_ = false;
  c.label = Label{next_label_++};
  c.members = 1;
  c.first = c.last = c.exemplar = iteration;
  c.check_at = 2;
  c.next = owner.head;
  owner.head = slot;
  ++owner.clusters;
  ++owner.adds;
  ++cluster_count_;
  members_changed(slot);
  newcomer_ = none;
  if (!owner.overflow) find_nearest(slot);
}

void Clusterer::absorb(std::uint32_t slot, std::uint64_t iteration, const IterationProfile& profile) {
  Cluster& c = clusters_[slot];
  IterationClass& cls = classes_[c.cls];
  if (learning_)
    learn_products(cls, slot, mean_of(newcomer_), 1, [&](std::uint32_t path, unsigned column, std::uint32_t value) {
      return from_base(key_values_[path][column], 1, cls.base[value]);
    });
  add_to_profile(cls, profile_of(c));
  float* sketch = sketch_of(slot);
  const float share = 1.0F / static_cast<float>(c.members + 1);
  for (std::uint8_t o = 0; o < cls.order_count; ++o)
    for (std::size_t d = 0, at = std::size_t{cls.order[o]} * lanes; d < lanes; ++d, ++at)
      sketch[at * lanes] += (newcomer_sketch_[at] - sketch[at * lanes]) * share;
  if (slot == closest_.a || slot == closest_.b) closest_known_ = false;
  add_to_statistics(slot, iteration, profile);
  members_changed(slot);
  ++cls.adds;
  if (c.members >= c.check_at && !cls.overflow) find_nearest(slot);
}

/// Merges two clusters; the larger one keeps its label. False: no memory to note the merge.
bool Clusterer::merge(std::uint32_t a, std::uint32_t b) {
  if (clusters_[b].members > clusters_[a].members ||
      (clusters_[b].members == clusters_[a].members && clusters_[b].label < clusters_[a].label))
    std::swap(a, b);
  Cluster &to = clusters_[a], &from = clusters_[b];
  IterationClass& cls = classes_[to.cls];
  if (!merges_.push_back({{from.label, to.label}, from.is_logged})) return false;
  to.is_logged = to.is_logged || from.is_logged;
  const std::int64_t* more = profile_of(from);
  learn_products(cls, a, mean_of(b), static_cast<double>(from.members),
                 [&](std::uint32_t, unsigned, std::uint32_t value) {
                   return from_base(more[value], from.members, cls.base[value]);
                 });
  add_values(profile_of(to), more, cls.width);
  float *sketch = sketch_of(a), *added = sketch_of(b);
  const float share =
      static_cast<float>(static_cast<double>(from.members) / static_cast<double>(to.members + from.members));
  for (std::size_t d = 0; d < sketch_dims_; ++d) sketch[d * lanes] += (added[d * lanes] - sketch[d * lanes]) * share;
  closest_known_ = false;
  add_to_statistics(a, from, statistics_of(b));
  members_changed(a);
  free_cluster(b);
  find_nearest(a);
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next)
    if (clusters_[i].nearest == b) find_nearest(i);
  return true;
}

void Clusterer::free_cluster(std::uint32_t slot) {
  Cluster& c = clusters_[slot];
  IterationClass& cls = classes_[c.cls];
  for (std::uint32_t* link = &cls.head; *link != none; link = &clusters_[*link].next)
    if (*link == slot) {
      *link = c.next;
      break;
    }
  --cls.clusters;
  --cluster_count_;
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next)  // the last profile moves to the free row
    if (clusters_[i].row == cls.clusters) {
      std::memcpy(profile_of(c), profile_of(clusters_[i]), cls.stride * sizeof(std::int64_t));
      clusters_[i].row = c.row;
      break;
    }
  c = Cluster{};
  nearest_costs_[slot] = huge_cost;
  slot_class_[slot] = none;
  (void)free_slots_.push_back(slot);
}

// --- statistics ------------------------------------------------------------------------------------------------------

void Clusterer::members_changed(std::uint32_t slot) {
  const auto n = static_cast<float>(clusters_[slot].members);
  wards_[slot] = n / (n + 1);
  members_[slot] = n;
}

void Clusterer::add_to_statistics(std::uint32_t slot, std::uint64_t iteration, const IterationProfile& profile) {
  Cluster& c = clusters_[slot];
  std::byte* statistics = statistics_of(slot);
  std::int64_t *sum = sums(statistics), *low = minima(statistics), *high = maxima(statistics);
  // Adds to the sums, and checks whether any value is outside of its range: then one of two differences is negative.
  const auto integers_at = [](const std::int64_t* from) { return vector_at<TwoIntegers>(from); };
  TwoIntegers outside = {0, 0};
  std::size_t first = 0;
  for (; first + 2 <= metrics_; first += 2) {
    const TwoIntegers value = integers_at(profile.overall.data() + first), now = integers_at(sum + first) + value;
    store(sum + first, now);
    outside |= (value - integers_at(low + first)) | (integers_at(high + first) - value);
  }
  std::uint64_t any_outside = outside[0] | outside[1];
  if (first < metrics_) {
    sum[first] = format::wrapping_sum(sum[first], profile.overall[first]);
    any_outside = ~std::uint64_t{0};
  }
  if (any_outside >> 63)
    for (std::size_t m = 0; m < metrics_; ++m) {
      low[m] = std::min(low[m], profile.overall[m]);
      high[m] = std::max(high[m], profile.overall[m]);
    }
  // Welford: the mean moves by a share of the difference, and the squares grow by the differences before and after.
  const auto two_at = [](const double* from) { return vector_at<TwoDoubles>(from); };
  const auto magnitude = [](Four v) {
    const FourInts bits = vector_at<FourInts>(&v) & 0x7fffffff;
    return vector_at<Four>(&bits);
  };
  double *means = exact_means(statistics), *square = squares(statistics);
  const double inverse = 1 / static_cast<double>(c.members + 1);
  float *example = exemplar_vector(statistics), *mean = mean_of(slot), *own = mean_of(newcomer_);
  Four example_distance = {0, 0, 0, 0}, own_distance = {0, 0, 0, 0};
  for (std::size_t m = 0; m < stride_; m += lanes) {
    using FourDoubles = double __attribute__((vector_size(32)));
    FourDoubles after;
    for (std::size_t i = 0; i < lanes; i += 2) {
      const TwoDoubles value = two_at(newcomer_overall_ + m + i), before = two_at(means + m + i),
                       apart = value - before;
      const TwoDoubles now = before + apart * inverse;
      const TwoDoubles squares_now = two_at(square + m + i) + apart * (value - now);
      store(means + m + i, now);
      after[i] = now[0];
      after[i + 1] = now[1];
      store(square + m + i, squares_now);
    }
    const Four here = __builtin_convertvector(after, Four);
    store(mean + m, here);
    const Four weight = four_at(inverse_mean_ + m);
    example_distance += magnitude(four_at(example + m) - here) * weight;
    own_distance += magnitude(four_at(own + m) - here) * weight;
  }
  const Four nearer = example_distance - own_distance;
  if (nearer[0] + nearer[1] + nearer[2] + nearer[3] > 0) {
    c.exemplar = iteration;
    std::memcpy(example, own, stride_ * sizeof(float));
  }
  c.last = iteration;
  ++c.members;
}

void Clusterer::add_to_statistics(std::uint32_t slot, const Cluster& from, const std::byte* other) {
  Cluster& c = clusters_[slot];
  std::byte* own = statistics_of(slot);
  const double n = static_cast<double>(c.members), k = static_cast<double>(from.members);
  float* mean = mean_of(slot);
  float distance_here = 0, distance_there = 0;
  for (std::size_t m = 0; m < metrics_; ++m) {
    const double apart = static_cast<double>(sums(own)[m]) / n - static_cast<double>(sums(other)[m]) / k;
    squares(own)[m] += squares(other)[m] + apart * apart * (n * k / (n + k));
    sums(own)[m] = format::wrapping_sum(sums(own)[m], sums(other)[m]);
    minima(own)[m] = std::min(minima(own)[m], minima(other)[m]);
    maxima(own)[m] = std::max(maxima(own)[m], maxima(other)[m]);
    exact_means(own)[m] = static_cast<double>(sums(own)[m]) / (n + k);
    mean[m] = static_cast<float>(exact_means(own)[m]);
    distance_here += __builtin_fabsf(exemplar_vector(own)[m] - mean[m]) * inverse_mean_[m];
    distance_there += __builtin_fabsf(exemplar_vector(other)[m] - mean[m]) * inverse_mean_[m];
  }
  if (distance_there < distance_here) {
    c.exemplar = from.exemplar;
    std::memcpy(exemplar_vector(own), exemplar_vector(other), metrics_ * sizeof(float));
  }
  c.first = std::min(c.first, from.first);
  c.last = std::max(c.last, from.last);
  c.members += from.members;
}

}  // namespace refrain::clustering
