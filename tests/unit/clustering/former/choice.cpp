// Which clusters become one: the distances of the algorithms.
#include <algorithm>

#include "tests/unit/clustering/former/clusterer.hpp"

namespace refrain::clustering::former {

namespace {

/// The heuristic of the paper's authors: the more members, the farther apart.
float reluctance(double members) {
  const auto grown = static_cast<float>(0.4 + 0.05 * members);
  return grown <= 1 ? grown : __builtin_sqrtf(grown);
}

using Four = float __attribute__((vector_size(16)));
using FourFlags = std::int32_t __attribute__((vector_size(16)));

inline Four four_at(const float* from) {
  Four out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}

inline Four all(float value) { return Four{value, value, value, value}; }

inline bool any(FourFlags flags) {
#ifdef __SSE__
  Four values;
  __builtin_memcpy(&values, &flags, sizeof values);
  return __builtin_ia32_movmskps(values) != 0;
#else
  return (flags[0] | flags[1] | flags[2] | flags[3]) != 0;
#endif
}

/// Differences between sampled values count only beyond so many times what sampling alone makes of equal ones.
constexpr double sampling_doubt = 3;

/// Columns of the sketch that have less than this share in what sets clusters apart are not searched.
constexpr float negligible = 1e-5F;

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
    const Pair pair = algorithm_ == Algorithm::Paper
                          ? closest_by_sweep(count, dims, newcomer, best.a == none ? huge_cost : best.cost)
                          : closest_as_shipped(count, used, dims, newcomer);
    if (pair.a != none && (best.a == none || pair.cost < best.cost)) best = pair;
  }
  return best;
}

/// Of the clusters in missing_ with their vectors in normalised_: the pair of least distance, the first one of several.
/// Costs above `at_least` need not be found. Only pairs are looked at that are near in the entry that varies most.
Clusterer::Pair Clusterer::closest_by_sweep(std::uint32_t count, std::size_t dims, std::uint32_t newcomer,
                                            float at_least) {
  Pair best;
  if (count < 2 || !found_.resize(count) || !work_floats_.resize(count)) return best;
  std::size_t widest = 0;
  float width = -1;
  for (std::size_t d = 0; d < dims; ++d) {
    float sum = 0, squares = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const float value = normalised_[i * dims + d];
      sum += value;
      squares += value * value;
    }
    const float variance = squares - sum * sum / static_cast<float>(count);
    if (variance <= width) continue;
    width = variance;
    widest = d;
  }
  const auto members_of = [&](std::uint32_t i) {
    return missing_[i] == newcomer ? 1.0 : static_cast<double>(clusters_[missing_[i]].members);
  };
  const auto place = [&](std::uint32_t i) { return dims ? normalised_[i * dims + widest] : 0.0F; };
  for (std::uint32_t i = 0; i < count; ++i) {
    found_[i] = i;
    work_floats_[i] = reluctance(members_of(i) + 1);
  }
  std::sort(found_.begin(), found_.begin() + count,
            [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b) || (place(a) == place(b) && a < b); });
  float least = at_least;
  std::uint32_t best_i = none, best_j = none;
  for (std::uint32_t first = 0; first < count; ++first)
    for (std::uint32_t second = first + 1; second < count; ++second) {
      // A sum of floats is at least each of its terms, also as rounded.
      const float gap = place(found_[second]) - place(found_[first]);
      if (gap * work_floats_[found_[first]] > least) break;
      const std::uint32_t i = std::max(found_[first], found_[second]), j = std::min(found_[first], found_[second]);
      float distance = 0;
      for (std::size_t d = 0; d < dims; ++d)
        distance += __builtin_fabsf(normalised_[i * dims + d] - normalised_[j * dims + d]);
      if (distance * work_floats_[i] > least) continue;
      distance *= reluctance(members_of(i) + members_of(j));
      if (distance > least || (distance == least && (i > best_i || (i == best_i && j > best_j)))) continue;
      best = {missing_[i], missing_[j], distance};
      least = distance;
      best_i = i;
      best_j = j;
    }
  return best;
}

Clusterer::Pair Clusterer::closest_as_shipped(std::uint32_t count, const std::size_t* used, std::size_t dims,
                                              std::uint32_t newcomer) const {
  Pair best;
  for (std::uint32_t i = 1; i < count; ++i) {
    const double members = static_cast<double>(clusters_[missing_[i]].members);
    for (std::uint32_t j = 0; j < i; ++j) {
      float distance = 0;
      for (std::size_t d = 0; d < dims; ++d) {
        const std::uint64_t mean = integer_total_[used[d]] / iterations_;
        const std::uint64_t apart =
            integer_means_[missing_[i] * metrics_ + used[d]] - integer_means_[missing_[j] * metrics_ + used[d]];
        if (mean) distance += static_cast<float>(apart) / static_cast<float>(mean);  // wraps, as shipped
      }
      const double others = missing_[j] == newcomer ? 1 : static_cast<double>(clusters_[missing_[j]].members);
      distance *= reluctance(members + others);
      if (best.a == none || distance < best.cost) best = {missing_[i], missing_[j], distance};
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
      if (!column.sketched) continue;
      float slopes[lanes] = {}, second_slopes[lanes] = {};
      const float whole = cls.direction[sketch_dims_ + flat];
      if (part.count == 0) {
        for (unsigned d = 0; whole > 0 && d < lanes; ++d) slopes[d] = cls.direction[column.sketch_begin + d] / whole;
      } else if (part.scatter[c]) {
        for (std::uint32_t i = 0; i < part.count; ++i) {
          const Slopes slope = slopes_of(cls, part, flat, i);
          slopes[i % lanes] += signs_[i] * slope.first;
          second_slopes[i % lanes] += signs_[i] * slope.second;
        }
      }
      float *known = cls.slope_sketch + column.sketch_begin, *known_second = cls.second_sketch + column.sketch_begin;
      const float scale = inverse_mean_[column.overall], before = cls.scale[flat];
      const float back = before > 0 ? 1 / before : 0;
      for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next) {
        float* sketch = sketch_of(i) + column.sketch_begin * lanes;
        const float mean = mean_of(i)[column.overall];
        const float second_mean = column.second == no_metric ? 0 : mean_of(i)[column.second];
        for (unsigned d = 0; d < lanes; ++d)
          sketch[d * lanes] = scale * (sketch[d * lanes] * back + (known[d] - slopes[d]) * mean +
                                       (known_second[d] - second_slopes[d]) * second_mean);
      }
      for (unsigned d = 0; d < lanes; ++d) {
        known[d] = slopes[d];
        known_second[d] = second_slopes[d];
      }
      cls.scale[flat] = scale;
    }
  }
  order_columns(cls);
  closest_known_ = false;
}

/// A column of the sketch is not zero everywhere any more.
void Clusterer::to_order(PathClass& cls, unsigned flat) {
  cls.in_order |= std::uint64_t{1} << flat;
  std::uint8_t at = cls.order_count++;
  if (!exact_[flat_[flat].shape]) {
    for (; at > cls.sampled_count; --at) cls.order[at] = cls.order[at - 1];
    ++cls.sampled_count;
  }
  cls.order[at] = static_cast<std::uint8_t>(flat_[flat].sketch_begin / lanes);
  cls.telling_count = cls.order_count;
}

/// The columns that set the clusters apart most come first: most clusters are given up after them. Those that set them
/// apart by next to nothing do not help to find the nearest.
void Clusterer::order_columns(PathClass& cls) {
  float apart[max_flat], whole = 0;
  for (std::uint8_t o = 0; o < cls.order_count; ++o) {
    float sums[lanes] = {}, squares = 0;
    for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next) {
      const float* sketch = sketch_of(i) + std::size_t{cls.order[o]} * lanes * lanes;
      for (unsigned d = 0; d < lanes; ++d) {
        sums[d] += sketch[d * lanes];
        squares += sketch[d * lanes] * sketch[d * lanes];
      }
    }
    for (const float sum : sums) squares -= sum * sum / static_cast<float>(cls.clusters);
    whole += squares;
    const std::uint8_t column = cls.order[o], first = o < cls.sampled_count ? 0 : cls.sampled_count;
    std::uint8_t at = o;
    for (; at > first && apart[at - 1] < squares; --at) {
      apart[at] = apart[at - 1];
      cls.order[at] = cls.order[at - 1];
    }
    apart[at] = squares;
    cls.order[at] = column;
  }
  cls.telling_count = cls.order_count;
  while (cls.telling_count > cls.sampled_count && apart[cls.telling_count - 1] < negligible * whole)
    --cls.telling_count;
}

/// The newcomer's sketch becomes comparable with those of its class's clusters, whose slopes are computed anew after
/// more and more iterations.
void Clusterer::learn_slopes(PathClass& cls) {
  float* sketch = newcomer_sketch_;
  const float* mean = mean_of(newcomer_);
  for (std::uint8_t o = 0; o < cls.order_count && learning_; ++o) {
    const std::size_t f = sketched_[cls.order[o]];
    const FlatColumn& column = flat_[f];
    if (cls.parts[column.shape].count) continue;
    cls.direction[sketch_dims_ + f] += mean[column.overall];
    for (unsigned d = 0; d < lanes; ++d) cls.direction[column.sketch_begin + d] += sketch[column.sketch_begin + d];
  }
  if (cls.adds >= cls.next_refresh) {
    cls.next_refresh = cls.adds + cls.adds / 8 + 1;
    refresh_sketches(cls);
    double noise = 0;
    for (std::size_t f = 0; f < flat_count_; ++f)
      if (!exact_[flat_[f].shape] && flat_[f].sketched)
        noise += sampling_noise_[f] * inverse_mean_[flat_[f].overall] * inverse_mean_[flat_[f].overall];
    sampled_doubt_ = static_cast<float>(sampling_doubt * noise / noise_weight_);
  }
  for (std::uint8_t o = 0; o < cls.order_count; ++o) {
    const FlatColumn& column = flat_[sketched_[cls.order[o]]];
    const float scale = cls.scale[sketched_[cls.order[o]]];
    float* out = sketch + column.sketch_begin;
    Four rest = four_at(out) - mean[column.overall] * four_at(cls.slope_sketch + column.sketch_begin);
    if (column.second != no_metric) rest -= mean[column.second] * four_at(cls.second_sketch + column.sketch_begin);
    rest *= scale;
    __builtin_memcpy(out, &rest, sizeof rest);
  }
}

/// Ward's cost of making one cluster of two, after what the overall metrics explain has been taken away: those are
/// known exactly for every iteration and need no clusters. Between two samplings of the same thing Ward's cost is the
/// variance of the sampling in expectation, however large the clusters are: `sampling_doubt` times that says nothing.
float Clusterer::cost(std::uint32_t a, std::uint32_t b) const {
  const PathClass& cls = classes_[clusters_[a].cls];
  const float *x = sketch_of(a), *y = sketch_of(b);
  float exact = 0, sampled = 0;
  for (std::uint8_t o = 0; o < cls.telling_count; ++o) {
    const std::size_t column = std::size_t{cls.order[o]} * lanes * lanes;
    float sum = 0;
    for (unsigned d = 0; d < lanes; ++d) {
      const float apart = x[column + d * lanes] - y[column + d * lanes];
      sum += apart * apart;
    }
    (o < cls.sampled_count ? sampled : exact) += sum;
  }
  const float ward = members_[a] * members_[b] / (members_[a] + members_[b]);
  const float rest = ward * sampled - sampled_doubt_;
  return ward * exact + (rest > 0 ? rest : 0);
}

/// Squared distance between the newcomer and a cluster, by a part of the class's order.
float Clusterer::apart(const PathClass& cls, std::uint32_t slot, std::uint8_t begin, std::uint8_t end) const {
  const float* sketch = sketch_of(slot);
  float sum = 0;
  for (std::uint8_t o = begin; o < end; ++o)
    for (std::size_t d = 0, at = std::size_t{cls.order[o]} * lanes; d < lanes; ++d, ++at) {
      const float difference = sketch[at * lanes] - newcomer_sketch_[at];
      sum += difference * difference;
    }
  return sum;
}

/// Calls `cheaper(slot, cost)` for the clusters of a class whose cost beside `wanted` is less than `limit_of(slot)`
/// says, in ascending order of slot. `ward_of(slot)` weighs the squared distance; both answer for four slots at once.
/// Only the columns that tell clusters apart count. Clusters are given up as soon as their cost is known to be too
/// large.
template <class Ward, class Limit, class Cheaper>
inline void Clusterer::for_cheaper(const PathClass& cls, std::uint32_t class_index, const Four* wanted,
                                   const Ward& ward_of, const Limit& limit_of, const Cheaper& cheaper) const {
  const Four nothing = all(0), doubt = all(sampled_doubt_);
  const auto slots = static_cast<std::uint32_t>(slot_class_.size());
  const auto cls_number = static_cast<std::int32_t>(class_index);
  const FourFlags wanted_class = {cls_number, cls_number, cls_number, cls_number};
  const float* sketches = sketches_.data();
  const std::uint8_t *begin = cls.order, *exact_begin = begin + cls.sampled_count, *end = begin + cls.telling_count;
  for (std::uint32_t slot = 0; slot < slots; slot += lanes, sketches += sketch_dims_ * lanes) {
    FourFlags alive;
    __builtin_memcpy(&alive, slot_class_.data() + slot, sizeof alive);
    alive = alive == wanted_class;
    if (!any(alive)) continue;
    const Four ward = ward_of(slot);
    const auto add_column = [&](Four& sum, const std::uint8_t* o) {
      const std::size_t first = std::size_t{*o} * lanes;
      const float* values = sketches + first * lanes;
      const Four* from = wanted + first;
      for (unsigned d = 0; d < lanes; ++d) {
        const Four apart = four_at(values + d * lanes) - from[d];
        sum += apart * apart;
      }
    };
    Four sum = nothing;
    bool given_up = false;
    for (const std::uint8_t* o = exact_begin; o != end && !given_up; ++o) {
      add_column(sum, o);
      alive &= ward * sum < limit_of(slot);
      given_up = !any(alive);
    }
    if (given_up) continue;
    Four cost = ward * sum;
    if (begin != exact_begin) {
      sum = nothing;
      for (const std::uint8_t* o = begin; o != exact_begin; ++o) add_column(sum, o);
      const Four sampled = ward * sum - doubt;
      cost += sampled > nothing ? sampled : nothing;
    }
    alive &= cost < limit_of(slot);
    if (!any(alive)) continue;
    for (unsigned i = 0; i < lanes; ++i)
      if (alive[i]) cheaper(slot + i, cost[i]);
  }
}

void Clusterer::set_nearest(std::uint32_t slot, std::uint32_t nearest, float nearest_cost) {
  clusters_[slot].nearest = nearest;
  nearest_costs_[slot] = nearest_cost;
  closest_known_ = false;
}

void Clusterer::look_for_nearest(std::uint32_t slot) {
  Cluster& c = clusters_[slot];
  const PathClass& cls = classes_[c.cls];
  set_nearest(slot, none, huge_cost);
  c.check_at = c.members + c.members / 4 + 1;
  Four wanted[sketch_limit];
  const float* sketch = sketch_of(slot);
  for (std::uint8_t o = 0; o < cls.telling_count; ++o)
    for (std::size_t d = 0, at = std::size_t{cls.order[o]} * lanes; d < lanes; ++d, ++at)
      wanted[at] = all(sketch[at * lanes]);
  const Four n = all(members_[slot]);
  float least = huge_cost;
  for_cheaper(
      cls, c.cls, wanted,
      [&](std::uint32_t at) {
        const Four other = four_at(members_.data() + at);
        return n * other / (n + other);
      },
      [&](std::uint32_t at) {  // a find for itself, or for the other one
        const Four theirs = four_at(nearest_costs_.data() + at), own = all(least);
        return own > theirs ? own : theirs;
      },
      [&](std::uint32_t other, float cost) {
        if (other == slot) return;
        if (cost < least) {
          least = cost;
          set_nearest(slot, other, cost);
        }
        if (cost < nearest_costs_[other]) set_nearest(other, slot, cost);
      });
}

/// The pair of least cost among all clusters. Nearest neighbours are remembered and looked at again only when they are
/// about to be used, so a cost that has fallen since is noticed late: a matter of quality, not of correctness.
Clusterer::Pair Clusterer::closest_pair_of_sketches() {
  if (!closest_known_) closest_ = look_for_closest_pair();
  closest_known_ = true;
  return closest_;
}

Clusterer::Pair Clusterer::look_for_closest_pair() {
  Pair best;
  for (int attempt = 0; attempt < 8; ++attempt) {
    // The least first, four at a time, then where it is.
    const float* costs = nearest_costs_.data();
    const auto slots = static_cast<std::uint32_t>(nearest_costs_.size());
    Four leasts = all(huge_cost);
    for (std::uint32_t slot = 0; slot < slots; slot += lanes) {
      const Four here = four_at(costs + slot);
      leasts = here < leasts ? here : leasts;
    }
    const float least =
        std::min(std::min(float{leasts[0]}, float{leasts[1]}), std::min(float{leasts[2]}, float{leasts[3]}));
    if (least == huge_cost) return best;
    std::uint32_t candidate = 0;
    while (costs[candidate] != least) ++candidate;
    const float now = cost(candidate, clusters_[candidate].nearest);
    if (best.a == none || now < best.cost) best = {candidate, clusters_[candidate].nearest, now};
    if (now <= least * 1.001F) return best;
    look_for_nearest(candidate);
  }
  return best;
}

Clusterer::Pair Clusterer::nearest_to_newcomer(PathClass& cls, std::uint32_t class_index) {
  Four wanted[sketch_limit];
  for (std::uint8_t o = 0; o < cls.telling_count; ++o)
    for (std::size_t d = 0, at = std::size_t{cls.order[o]} * lanes; d < lanes; ++d, ++at)
      wanted[at] = all(newcomer_sketch_[at]);
  Pair best{none, newcomer_, huge_cost};
  // The nearest of last time first: it is hard to beat, and most others are given up after a column or two.
  const std::uint32_t favourite = cls.favourite;
  if (favourite < slot_class_.size() && slot_class_[favourite] == class_index) {
    const float sampled = wards_[favourite] * apart(cls, favourite, 0, cls.sampled_count) - sampled_doubt_;
    const float exact = wards_[favourite] * apart(cls, favourite, cls.sampled_count, cls.telling_count);
    best = {favourite, newcomer_, exact + (sampled > 0 ? sampled : 0)};
  }
  for_cheaper(
      cls, class_index, wanted, [&](std::uint32_t at) { return four_at(wards_.data() + at); },
      [&](std::uint32_t) { return all(best.cost); },
      [&](std::uint32_t slot, float cost) {
        if (cost < best.cost) best = {slot, newcomer_, cost};
      });
  cls.favourite = best.a;
  if (best.a != none) best.cost += wards_[best.a] * apart(cls, best.a, cls.telling_count, cls.order_count);
  return best;
}

/// The newcomer has become a cluster in `slot`.
void Clusterer::newcomer_is_neighbour(std::uint32_t slot) {
  if (algorithm_ == Algorithm::Refrain && !classes_[clusters_[slot].cls].overflow) look_for_nearest(slot);
}

}  // namespace refrain::clustering::former
