// The choice of the cluster that an iteration joins, and of the clusters to merge.
#include <algorithm>

#include "clustering/clusterer.hpp"

namespace refrain::clustering {

namespace {

inline Four all(float value) { return Four{value, value, value, value}; }

inline bool any(FourInts flags) {
#ifdef __SSE__
  return __builtin_ia32_movmskps(vector_at<Four>(&flags)) != 0;
#else
  return (flags[0] | flags[1] | flags[2] | flags[3]) != 0;
#endif
}

/// Columns of the sketch with less than this share in the distances of clusters are not searched.
constexpr float negligible = 1e-5F;

/// Two overall metrics count as different if 1 - r^2 is at least this.
constexpr double min_determinant = 1e-4;

}  // namespace

/// The slot of the cluster that the newcomer joins: the nearest, unless merging the closest pair costs less. none: it
/// gets a cluster of its own, for which there is room.
std::uint32_t Clusterer::choose(std::uint32_t index) {
  IterationClass& cls = classes_[index];
  if (cls.clusters == 0) return none;
  if (cls.overflow) return cls.head;
  const Pair nearest = nearest_to_newcomer(cls, index);
  const std::uint32_t joined = nearest.a == none ? cls.head : nearest.a;
  if (cluster_count_ < max_clusters_) return reserve_row(cls) ? none : joined;
  const Pair pair = closest_pair();
  if (pair.a == none || nearest.cost <= pair.cost) return joined;
  const bool leaves_room = clusters_[pair.a].cls == index || reserve_row(cls);
  return leaves_room && merge(pair.a, pair.b) ? none : joined;
}

/// The regression of a path's values inside clusters on one overall metric, or on two if these differ enough. `value`:
/// the index of the column in a profile.
Clusterer::Slopes Clusterer::slopes_of(const IterationClass& cls, unsigned flat, std::uint32_t value) const {
  const double squares = cls.overall_scatter[flat], cross = cls.cross_scatter[flat];
  const double second_squares = cls.second_scatter[flat], determinant = squares * second_squares - cross * cross;
  const auto first = static_cast<double>(cls.products[value].first);
  const auto second = static_cast<double>(cls.products[value].second);
  if (determinant > min_determinant * squares * second_squares)
    return {static_cast<float>((first * second_squares - second * cross) / determinant),
            static_cast<float>((second * squares - first * cross) / determinant)};
  if (squares <= 0) return {};
  return {static_cast<float>(first / squares), 0};
}

/// Applies the present scale and slopes to the sketches of all clusters of the class. A sketch is linear in both, so
/// the part subtracted with the old slopes can be added back.
void Clusterer::refresh_sketches(IterationClass& cls) {
  float all_slopes[sketch_limit] = {}, all_second[sketch_limit] = {};
  std::uint32_t number[max_shapes] = {};  // of the path in its shape
  const ClassPath* path = paths_.data() + cls.first_path;
  for (std::uint32_t i = 0; i < cls.key_paths; ++i, ++path) {
    const std::uint32_t n = number[path->shape]++;
    for (unsigned c = 0; c < columns_[path->shape]; ++c) {
      const unsigned flat = flat_begin_[path->shape] + c;
      if (!flat_[flat].sketched) continue;
      const Slopes slope = slopes_of(cls, flat, path->at + c);
      all_slopes[flat_[flat].sketch_begin + n % lanes] += signs_[n] * slope.first;
      all_second[flat_[flat].sketch_begin + n % lanes] += signs_[n] * slope.second;
    }
  }
  for (std::size_t k = 0; k < sketched_count_; ++k) {
    const std::size_t flat = sketched_[k];
    const FlatColumn& column = flat_[flat];
    float *slopes = all_slopes + column.sketch_begin, *second_slopes = all_second + column.sketch_begin;
    const float whole = cls.direction[sketch_dims_ + flat];
    if (cls.key_count[column.shape] == 0 && whole > 0)
      for (unsigned d = 0; d < lanes; ++d) slopes[d] = cls.direction[column.sketch_begin + d] / whole;
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
  order_columns(cls);
  closest_known_ = false;
}

/// Adds a column of the sketch that is no longer zero everywhere to the order.
void Clusterer::add_to_order(IterationClass& cls, unsigned flat) {
  cls.in_order |= std::uint64_t{1} << flat;
  std::uint8_t at = cls.order_count++;
  if (!exact_[flat_[flat].shape]) {
    for (; at > cls.sampled_count; --at) cls.order[at] = cls.order[at - 1];
    ++cls.sampled_count;
  }
  cls.order[at] = static_cast<std::uint8_t>(flat_[flat].sketch_begin / lanes);
  cls.telling_count = cls.order_count;
}

/// Sorts the columns by how much they distinguish clusters, so that most clusters are excluded after the first ones.
/// Columns that hardly distinguish clusters do not help to find the nearest.
void Clusterer::order_columns(IterationClass& cls) {
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

/// Ward's cost of merging two clusters, without the part that the overall metrics explain: these are known exactly for
/// every iteration and need no clusters. Between two samplings of equal iterations the expectation of Ward's cost is
/// the variance of the sampling, whatever the sizes of the clusters, so costs up to `sampling_doubt` times that are
/// ignored.
float Clusterer::cost(std::uint32_t a, std::uint32_t b) const {
  const IterationClass& cls = classes_[clusters_[a].cls];
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

/// Squared distance between the newcomer and a cluster, over columns [begin, end) of the class's order.
float Clusterer::apart(const IterationClass& cls, std::uint32_t slot, std::uint8_t begin, std::uint8_t end) const {
  const float* sketch = sketch_of(slot);
  float sum = 0;
  for (std::uint8_t o = begin; o < end; ++o)
    for (std::size_t d = 0, at = std::size_t{cls.order[o]} * lanes; d < lanes; ++d, ++at) {
      const float difference = sketch[at * lanes] - newcomer_sketch_[at];
      sum += difference * difference;
    }
  return sum;
}

/// Calls `cheaper(slot, cost)` for the clusters of a class whose cost of joining `wanted` is less than
/// `limit_of(slot)`, in ascending order of slot. `ward_of(slot)` is the weight of the squared distance; both return
/// values for four slots. Only columns that distinguish clusters count. A cluster is excluded as soon as its cost is
/// known to be too large.
template <class Ward, class Limit, class Cheaper>
inline void Clusterer::for_cheaper(const IterationClass& cls, std::uint32_t class_index, const Four* wanted,
                                   const Ward& ward_of, const Limit& limit_of, const Cheaper& cheaper) const {
  const Four nothing = all(0), doubt = all(sampled_doubt_);
  const auto slots = static_cast<std::uint32_t>(slot_class_.size());
  const auto cls_number = static_cast<std::int32_t>(class_index);
  const FourInts wanted_class = {cls_number, cls_number, cls_number, cls_number};
  const float* sketches = sketches_.data();
  const std::uint8_t *begin = cls.order, *exact_begin = begin + cls.sampled_count, *end = begin + cls.telling_count;
  for (std::uint32_t slot = 0; slot < slots; slot += lanes, sketches += sketch_dims_ * lanes) {
    FourInts alive = vector_at<FourInts>(slot_class_.data() + slot) == wanted_class;
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

void Clusterer::find_nearest(std::uint32_t slot) {
  Cluster& c = clusters_[slot];
  const IterationClass& cls = classes_[c.cls];
  set_nearest(slot, none, huge_cost);
  c.check_at = c.members + c.members / 4 + 1;
  if (cls.clusters == 1) return;
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
      [&](std::uint32_t at) {  // nearer than the nearest so far of this cluster, or of the other one
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

/// The pair of clusters with the lowest cost. Nearest neighbours are cached and checked only when they are about to be
/// used, so a decrease of a cost is noticed late; that affects quality, not correctness.
Clusterer::Pair Clusterer::closest_pair() {
  if (!closest_known_) closest_ = find_closest_pair();
  closest_known_ = true;
  return closest_;
}

Clusterer::Pair Clusterer::find_closest_pair() {
  Pair best;
  for (int attempt = 0; attempt < 8; ++attempt) {
    // Finds the minimum, four at a time, then its slot.
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
    find_nearest(candidate);
  }
  return best;
}

/// The same among the clusters of one class, by the cached neighbours only; used when memory is short.
Clusterer::Pair Clusterer::closest_pair_of(const IterationClass& cls) const {
  Pair best;
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next)
    if (clusters_[i].nearest != none && (best.a == none || nearest_costs_[i] < best.cost))
      best = {i, clusters_[i].nearest, nearest_costs_[i]};
  return best;
}

Clusterer::Pair Clusterer::nearest_to_newcomer(IterationClass& cls, std::uint32_t class_index) {
  Four wanted[sketch_limit];
  for (std::uint8_t o = 0; o < cls.telling_count; ++o)
    for (std::size_t d = 0, at = std::size_t{cls.order[o]} * lanes; d < lanes; ++d, ++at)
      wanted[at] = all(newcomer_sketch_[at]);
  Pair best{none, newcomer_, huge_cost};
  // The last iteration's nearest cluster comes first: it is hard to beat, so most others are excluded after a column or
  // two.
  const std::uint32_t favourite = cls.clusters == 1 ? cls.head : cls.favourite;
  if (favourite < slot_class_.size() && slot_class_[favourite] == class_index) {
    const float sampled = wards_[favourite] * apart(cls, favourite, 0, cls.sampled_count) - sampled_doubt_;
    const float exact = wards_[favourite] * apart(cls, favourite, cls.sampled_count, cls.telling_count);
    best = {favourite, newcomer_, exact + (sampled > 0 ? sampled : 0)};
  }
  if (cls.clusters > 1)
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

}  // namespace refrain::clustering
