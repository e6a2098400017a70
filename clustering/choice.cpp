// Which clusters become one: the distances of the algorithms.
#include <algorithm>

#include "clustering/clusterer.hpp"

namespace refrain::clustering {

namespace {

/// The heuristic of the paper's authors: the more members, the farther apart.
float reluctance(double members) {
  const auto grown = static_cast<float>(0.4 + 0.05 * members);
  return grown <= 1 ? grown : __builtin_sqrtf(grown);
}

/// Differences between sampled values count from so many times what sampling alone makes of equal ones.
constexpr double sampling_doubt = 2;

}  // namespace

Clusterer::Pair Clusterer::closest_pair() {
  return algorithm_ == Algorithm::Refrain ? closest_pair_of_sketches() : closest_pair_of_means(none, none);
}

// --- paper -----------------------------------------------------------------------------------------------------------

/// The closest pair by the vectors of overall metrics, among all classes; `newcomer` is a cluster of one that is not in
/// its class's list yet and comes back as `b`.
Clusterer::Pair Clusterer::closest_pair_of_means(std::uint32_t newcomer, std::uint32_t newcomer_class) {
  Pair best;
  std::size_t dims = 0;
  std::size_t used[max_overall];
  for (std::size_t m = 0; m < metrics_; ++m)
    if (in_distance_[m] && inverse_mean_[m] != 0) used[dims++] = m;
  for (std::uint32_t cls = 0; cls < classes_.size(); ++cls) {
    std::uint32_t count = 0;
    if (classes_[cls].overflow || !missing_.resize(classes_[cls].clusters + 1) ||
        !normalised_.resize((classes_[cls].clusters + 1) * dims))
      continue;
    if (cls == newcomer_class) missing_[count++] = newcomer;  // the list is newest first
    for (std::uint32_t i = classes_[cls].head; i != none; i = clusters_[i].next) missing_[count++] = i;
    for (std::uint32_t i = 0; i < count; ++i)
      for (std::size_t d = 0; d < dims; ++d)
        normalised_[i * dims + d] = mean_of(missing_[i])[used[d]] * inverse_mean_[used[d]];
    for (std::uint32_t i = 1; i < count; ++i) {
      const double members = static_cast<double>(clusters_[missing_[i]].members);
      for (std::uint32_t j = 0; j < i; ++j) {
        float distance = 0;
        if (algorithm_ == Algorithm::Paper) {
          for (std::size_t d = 0; d < dims; ++d)
            distance += __builtin_fabsf(normalised_[i * dims + d] - normalised_[j * dims + d]);
        } else {
          for (std::size_t d = 0; d < dims; ++d) {
            const std::uint64_t mean = integer_total_[used[d]] / iterations_;
            const std::uint64_t apart =
                integer_means_[missing_[i] * metrics_ + used[d]] - integer_means_[missing_[j] * metrics_ + used[d]];
            if (mean) distance += static_cast<float>(apart) / static_cast<float>(mean);  // wraps, as shipped
          }
        }
        const double others = missing_[j] == newcomer ? 1 : static_cast<double>(clusters_[missing_[j]].members);
        distance *= reluctance(members + others);
        if (best.a == none || distance < best.cost) best = {missing_[i], missing_[j], distance};
      }
    }
  }
  return best;
}

// --- refrain ---------------------------------------------------------------------------------------------------------

float Clusterer::slope_of(const PathClass& cls, const Part& part, unsigned flat, std::uint32_t row) const {
  const float* scatter = algorithm_ == Algorithm::Refrain ? part.scatter[flat_[flat].column] : nullptr;
  if (!scatter || cls.overall_scatter[flat] <= 0) return 0;
  return static_cast<float>(static_cast<double>(scatter[row]) / cls.overall_scatter[flat]);
}

void Clusterer::refresh_slope_sketch(PathClass& cls) {
  for (std::size_t d = 0; d < sketch_dims_; ++d) cls.slope_sketch[d] = 0;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const Part& part = cls.parts[s];
    for (unsigned c = 0; c < columns_[s]; ++c) {
      const unsigned flat = flat_begin_[s] + c;
      const FlatColumn& column = flat_[flat];
      if (!column.sketch_dims) continue;
      float* out = cls.slope_sketch + column.sketch_begin;
      if (part.count && !part.scatter[c]) continue;
      for (std::uint32_t i = 0; i < part.count; ++i)
        out[i & (column.sketch_dims - 1U)] += signs_[i] * slope_of(cls, part, flat, i);
      const float whole = cls.direction[sketch_dims_ + flat];
      if (part.count == 0 && whole > 0)
        for (unsigned d = 0; d < column.sketch_dims; ++d) out[d] = cls.direction[column.sketch_begin + d] / whole;
    }
  }
}

/// After an iteration of this class: the sketch of the slopes follows, at growing distances.
void Clusterer::learn_slopes(PathClass& cls) {
  const float* sketch = sketch_of(newcomer_);
  const float* mean = mean_of(newcomer_);
  for (std::size_t f = 0; f < flat_count_; ++f) {
    const FlatColumn& column = flat_[f];
    if (!column.sketch_dims || cls.parts[column.shape].count) continue;
    cls.direction[sketch_dims_ + f] += mean[column.overall];
    for (unsigned d = 0; d < column.sketch_dims; ++d)
      cls.direction[column.sketch_begin + d] += sketch[column.sketch_begin + d];
  }
  if (cls.adds < cls.next_refresh) return;
  cls.next_refresh = cls.adds + cls.adds / 8 + 1;
  refresh_slope_sketch(cls);
}

/// Makes ready for cost() between clusters of this class.
void Clusterer::activate(const PathClass& cls) {
  active_count_ = 0;
  active_slopes_ = cls.slope_sketch;
  for (std::size_t f = 0; f < flat_count_; ++f) {
    const FlatColumn& column = flat_[f];
    if (!column.sketch_dims || inverse_mean_[column.overall] == 0) continue;
    if (cls.parts[column.shape].count && !((cls.varies | delta_nonzero_) >> f & 1)) continue;
    const float weight = inverse_mean_[column.overall] * inverse_mean_[column.overall];
    const double noise = iterations_ ? sampling_noise_[f] / static_cast<double>(iterations_) : 0;
    active_[active_count_++] = {column.sketch_begin, column.sketch_dims, column.overall, weight,
                                static_cast<float>(sampling_doubt * noise) * weight};
  }
}

/// Ward's cost of making one cluster of two, after what the overall metrics explain has been taken away: those are
/// known exactly for every iteration and need no clusters.
float Clusterer::cost(std::uint32_t a, double na, std::uint32_t b, double nb) {
  const float *mean_a = mean_of(a), *mean_b = mean_of(b);
  const float *x = sketch_of(a), *y = sketch_of(b);
  const auto ward = static_cast<float>(na * nb / (na + nb));
  float sum = 0;
  for (std::size_t g = 0; g < active_count_; ++g) {
    const ActiveGroup& group = active_[g];
    const float apart = mean_a[group.overall] - mean_b[group.overall];
    const float *p = x + group.begin, *q = y + group.begin, *slope = active_slopes_ + group.begin;
    float square[4] = {};
    if (group.dims >= 4) {
      for (unsigned d = 0; d < group.dims; d += 4)
        for (unsigned k = 0; k < 4; ++k) {
          const float t = p[d + k] - q[d + k] - apart * slope[d + k];
          square[k] += t * t;
        }
    } else {
      for (unsigned d = 0; d < group.dims; ++d) {
        const float t = p[d] - q[d] - apart * slope[d];
        square[0] += t * t;
      }
    }
    // Between two samplings of the same thing Ward's cost is that noise in expectation, however large the clusters are.
    const float part = ward * group.weight * (square[0] + square[1] + square[2] + square[3]) - group.noise;
    sum += part > 0 ? part : 0;
  }
  return sum;
}

void Clusterer::look_for_nearest(std::uint32_t slot) {
  Cluster& c = clusters_[slot];
  c.nearest = none;
  c.check_at = c.members + c.members / 4 + 1;
  const double n = static_cast<double>(c.members);
  for (std::uint32_t i = classes_[c.cls].head; i != none; i = clusters_[i].next) {
    if (i == slot) continue;
    const float d = cost(slot, n, i, static_cast<double>(clusters_[i].members));
    if (c.nearest == none || d < c.nearest_cost) {
      c.nearest = i;
      c.nearest_cost = d;
    }
    if (d < clusters_[i].nearest_cost || clusters_[i].nearest == none) {
      clusters_[i].nearest = slot;
      clusters_[i].nearest_cost = d;
    }
  }
}

/// The pair of least cost among all clusters. Nearest neighbours are remembered and looked at again only when they are
/// about to be used, so a cost that has fallen since is noticed late: a matter of quality, not of correctness.
Clusterer::Pair Clusterer::closest_pair_of_sketches() {
  Pair best;
  for (int attempt = 0; attempt < 8; ++attempt) {
    std::uint32_t candidate = none;
    for (std::uint32_t i = 0; i < clusters_.size(); ++i)
      if (clusters_[i].members && clusters_[i].nearest != none &&
          (candidate == none || clusters_[i].nearest_cost < clusters_[candidate].nearest_cost))
        candidate = i;
    if (candidate == none) return {};
    Cluster& c = clusters_[candidate];
    activate(classes_[c.cls]);
    const float now =
        cost(candidate, static_cast<double>(c.members), c.nearest, static_cast<double>(clusters_[c.nearest].members));
    if (best.a == none || now < best.cost) best = {candidate, c.nearest, now};
    if (now <= c.nearest_cost * 1.001F) return best;
    look_for_nearest(candidate);
  }
  return best;
}

Clusterer::Pair Clusterer::nearest_to_newcomer(const PathClass& cls) {
  Pair best;
  activate(cls);
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next) {
    const float d = cost(newcomer_, 1, i, static_cast<double>(clusters_[i].members));
    costs_[i] = d;
    if (best.a == none || d < best.cost) best = {i, newcomer_, d};
  }
  return best;
}

/// The newcomer has become a cluster in `slot`; its costs are those that nearest_to_newcomer() has left.
void Clusterer::newcomer_is_neighbour(const PathClass& cls, std::uint32_t slot, const Pair& nearest) {
  if (algorithm_ != Algorithm::Refrain || nearest.a == none) return;
  clusters_[slot].nearest = nearest.a;
  clusters_[slot].nearest_cost = nearest.cost;
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next)
    if (i != slot && (clusters_[i].nearest == none || costs_[i] < clusters_[i].nearest_cost)) {
      clusters_[i].nearest = slot;
      clusters_[i].nearest_cost = costs_[i];
    }
}

}  // namespace refrain::clustering
