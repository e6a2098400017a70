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

using Four = float __attribute__((vector_size(16)));

inline Four four_at(const float* from) {
  Four out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}

inline float sum_of(Four v) {
  using Indices = std::int32_t __attribute__((vector_size(16)));
  v += __builtin_shuffle(v, Indices{2, 3, 0, 1});
  return v[0] + v[1];
}

/// Squared distance in four parts; `count` is a multiple of 4.
inline Four squared_distances(const float* a, const float* b, std::size_t count, Four sum = Four{0, 0, 0, 0}) {
  for (std::size_t d = 0; d < count; d += 4) {
    const Four t = four_at(a + d) - four_at(b + d);
    sum += t * t;
  }
  return sum;
}

inline float squared_distance(const float* a, const float* b, std::size_t count) {
  return sum_of(squared_distances(a, b, count));
}

/// Differences between sampled values count from so many times what sampling alone makes of equal ones.
constexpr double sampling_doubt = 3;

/// 1 - r^2 of two overall metrics from which on they count as different.
constexpr double least_determinant = 1e-4;

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

/// The regression of the path's values inside clusters on one overall metric, or on two where the two can be told
/// apart.
Clusterer::Slopes Clusterer::slopes_of(const PathClass& cls, const Part& part, unsigned flat, std::uint32_t row) const {
  if (algorithm_ != Algorithm::Refrain) return {};
  const double squares = cls.overall_scatter[flat];
  const float *first = part.scatter[flat_[flat].column], *second = part.second_scatter[flat_[flat].column];
  if (first && second) {
    const double cross = cls.cross_scatter[flat], second_squares = cls.second_scatter[flat];
    const double determinant = squares * second_squares - cross * cross;
    if (determinant > least_determinant * squares * second_squares)
      return {
          static_cast<float>(
              (static_cast<double>(first[row]) * second_squares - static_cast<double>(second[row]) * cross) /
              determinant),
          static_cast<float>((static_cast<double>(second[row]) * squares - static_cast<double>(first[row]) * cross) /
                             determinant)};
  }
  if (!first || squares <= 0) return {};
  return {static_cast<float>(static_cast<double>(first[row]) / squares), 0};
}

/// The scale and the slopes as they are known now, for all clusters of the class. What has been taken away with the old
/// slopes is given back: a sketch is linear in both.
void Clusterer::refresh_sketches(PathClass& cls) {
  for (std::size_t s = 0; s < shapes_; ++s) {
    const Part& part = cls.parts[s];
    for (unsigned c = 0; c < columns_[s]; ++c) {
      const unsigned flat = flat_begin_[s] + c;
      const FlatColumn& column = flat_[flat];
      if (!column.sketch_dims) continue;
      float slopes[sketch_limit] = {}, second_slopes[sketch_limit] = {};
      const float whole = cls.direction[sketch_dims_ + flat];
      if (part.count == 0) {
        for (unsigned d = 0; whole > 0 && d < column.sketch_dims; ++d)
          slopes[d] = cls.direction[column.sketch_begin + d] / whole;
      } else if (part.scatter[c]) {
        for (std::uint32_t i = 0; i < part.count; ++i) {
          const Slopes slope = slopes_of(cls, part, flat, i);
          slopes[i & (column.sketch_dims - 1U)] += signs_[i] * slope.first;
          second_slopes[i & (column.sketch_dims - 1U)] += signs_[i] * slope.second;
        }
      }
      float *known = cls.slope_sketch + column.sketch_begin, *known_second = cls.second_sketch + column.sketch_begin;
      const float scale = inverse_mean_[column.overall], before = cls.scale[flat];
      const float back = before > 0 ? 1 / before : 0;
      for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next) {
        float* sketch = sketch_of(i) + column.sketch_begin;
        const float mean = mean_of(i)[column.overall];
        const float second_mean = column.second == no_metric ? 0 : mean_of(i)[column.second];
        for (unsigned d = 0; d < column.sketch_dims; ++d)
          sketch[d] = scale * (sketch[d] * back + (known[d] - slopes[d]) * mean +
                               (known_second[d] - second_slopes[d]) * second_mean);
      }
      for (unsigned d = 0; d < column.sketch_dims; ++d) {
        known[d] = slopes[d];
        known_second[d] = second_slopes[d];
      }
      cls.scale[flat] = scale;
    }
  }
}

/// The newcomer's sketch becomes comparable with those of its class's clusters, whose slopes follow at growing
/// distances.
void Clusterer::learn_slopes(PathClass& cls) {
  float* sketch = sketch_of(newcomer_);
  const float* mean = mean_of(newcomer_);
  for (std::size_t f = 0; f < flat_count_; ++f) {
    const FlatColumn& column = flat_[f];
    if (!column.sketch_dims || cls.parts[column.shape].count) continue;
    cls.direction[sketch_dims_ + f] += mean[column.overall];
    for (unsigned d = 0; d < column.sketch_dims; ++d)
      cls.direction[column.sketch_begin + d] += sketch[column.sketch_begin + d];
  }
  if (cls.adds >= cls.next_refresh) {
    cls.next_refresh = cls.adds + cls.adds / 8 + 1;
    refresh_sketches(cls);
    double noise = 0;
    for (std::size_t f = 0; f < flat_count_; ++f)
      if (!exact_[flat_[f].shape] && flat_[f].sketch_dims)
        noise += sampling_noise_[f] * inverse_mean_[flat_[f].overall] * inverse_mean_[flat_[f].overall];
    sampled_doubt_ = static_cast<float>(sampling_doubt * noise / static_cast<double>(iterations_));
  }
  for (std::size_t f = 0; f < flat_count_; ++f) {
    const FlatColumn& column = flat_[f];
    if (!column.sketch_dims) continue;
    const float whole = mean[column.overall], scale = cls.scale[f];
    const float* slopes = cls.slope_sketch + column.sketch_begin;
    float* out = sketch + column.sketch_begin;
    const float second = column.second == no_metric ? 0 : mean[column.second];
    const float* second_slopes = cls.second_sketch + column.sketch_begin;
    for (unsigned d = 0; d < column.sketch_dims; d += 4) {
      Four rest = four_at(out + d) - whole * four_at(slopes + d);
      if (second != 0) rest -= second * four_at(second_slopes + d);
      rest *= scale;
      __builtin_memcpy(out + d, &rest, sizeof rest);
    }
  }
}

/// Ward's cost of making one cluster of two, after what the overall metrics explain has been taken away: those are
/// known exactly for every iteration and need no clusters. Between two samplings of the same thing Ward's cost is the
/// variance of the sampling in expectation, however large the clusters are: so much of it and more says nothing.
inline float Clusterer::cost(std::uint32_t a, float na, std::uint32_t b, float nb) const {
  const float ward = na * nb / (na + nb);
  const float *x = sketches_.data() + a * sketch_dims_, *y = sketches_.data() + b * sketch_dims_;
  const float sampled =
      ward * squared_distance(x + exact_dims_, y + exact_dims_, sketch_dims_ - exact_dims_) - sampled_doubt_;
  return ward * squared_distance(x, y, exact_dims_) + (sampled > 0 ? sampled : 0);
}

void Clusterer::set_nearest(std::uint32_t slot, std::uint32_t nearest, float nearest_cost) {
  clusters_[slot].nearest = nearest;
  nearest_costs_[slot] = nearest_cost;
}

void Clusterer::look_for_nearest(std::uint32_t slot) {
  Cluster& c = clusters_[slot];
  set_nearest(slot, none, huge_cost);
  c.check_at = c.members + c.members / 4 + 1;
  const auto n = static_cast<float>(c.members);
  for (std::uint32_t i = classes_[c.cls].head; i != none; i = clusters_[i].next) {
    if (i == slot) continue;
    const float d = cost(slot, n, i, static_cast<float>(clusters_[i].members));
    if (d < nearest_costs_[slot]) set_nearest(slot, i, d);
    if (d < nearest_costs_[i]) set_nearest(i, slot, d);
  }
}

/// The pair of least cost among all clusters. Nearest neighbours are remembered and looked at again only when they are
/// about to be used, so a cost that has fallen since is noticed late: a matter of quality, not of correctness.
Clusterer::Pair Clusterer::closest_pair_of_sketches() {
  Pair best;
  for (int attempt = 0; attempt < 8; ++attempt) {
    // The least first, four at a time, then where it is.
    const float* costs = nearest_costs_.data();
    const auto slots = static_cast<std::uint32_t>(clusters_.size());
    Four leasts = {huge_cost, huge_cost, huge_cost, huge_cost};
    std::uint32_t candidate = 0;
    for (; candidate + 4 <= slots; candidate += 4) {
      const Four here = four_at(costs + candidate);
      leasts = here < leasts ? here : leasts;
    }
    for (; candidate < slots; ++candidate) leasts[0] = std::min(leasts[0], costs[candidate]);
    const float least =
        std::min(std::min(float{leasts[0]}, float{leasts[1]}), std::min(float{leasts[2]}, float{leasts[3]}));
    if (least == huge_cost) return best;
    for (candidate = 0; costs[candidate] != least;) ++candidate;
    Cluster& c = clusters_[candidate];
    const float now =
        cost(candidate, static_cast<float>(c.members), c.nearest, static_cast<float>(clusters_[c.nearest].members));
    if (best.a == none || now < best.cost) best = {candidate, c.nearest, now};
    if (now <= least * 1.001F) return best;
    look_for_nearest(candidate);
  }
  return best;
}

Clusterer::Pair Clusterer::nearest_to_newcomer(PathClass& cls) {
  Pair best;
  const Cluster* clusters = clusters_.data();
  // The nearest of last time first: it is hard to beat, and most others are given up after a few dimensions.
  const std::uint32_t favourite = cls.favourite;
  if (favourite < clusters_.size() && clusters[favourite].members && &classes_[clusters[favourite].cls] == &cls)
    best = {favourite, newcomer_, cost(newcomer_, 1, favourite, static_cast<float>(clusters[favourite].members))};
  const float *x = sketch_of(newcomer_), *sketches = sketches_.data(), *wards = wards_.data();
  const std::size_t dims = sketch_dims_, exact_dims = exact_dims_;
  const float doubt = sampled_doubt_;
  float least = best.a == none ? huge_cost : best.cost;
  for (std::uint32_t i = cls.head; i != none; i = clusters[i].next) {
    const float ward = wards[i], *y = sketches + i * dims;
    Four sums = {0, 0, 0, 0};
    float exact = 0;
    std::size_t d = 0;
    for (; d + 16 <= exact_dims && exact < least; d += 16) {
      sums = squared_distances(x + d, y + d, 16, sums);
      exact = ward * sum_of(sums);
    }
    if (exact >= least) continue;
    if (d < exact_dims) {
      exact = ward * sum_of(squared_distances(x + d, y + d, exact_dims - d, sums));
      if (exact >= least) continue;
    }
    const float sampled = ward * squared_distance(x + exact_dims, y + exact_dims, dims - exact_dims) - doubt;
    const float cost_here = exact + (sampled > 0 ? sampled : 0);
    if (cost_here >= least) continue;
    least = cost_here;
    best = {i, newcomer_, cost_here};
  }
  cls.favourite = best.a;
  return best;
}

/// The newcomer has become a cluster in `slot`.
void Clusterer::newcomer_is_neighbour(std::uint32_t slot) {
  if (algorithm_ == Algorithm::Refrain && !classes_[clusters_[slot].cls].overflow) look_for_nearest(slot);
}

}  // namespace refrain::clustering
