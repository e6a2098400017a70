// The representation of an iteration before it joins a cluster: its vector of overall metrics, and the sketch of its
// call paths relative to its class.
#include <algorithm>
#include <bit>
#include <cstring>

#include "clustering/clusterer.hpp"
#include "format/bytes.hpp"
#include "format/hashing.hpp"

namespace refrain::clustering {

namespace {

/// Differences between sampled values are ignored up to this many times the expected difference of equal ones.
constexpr double sampling_doubt = 3;

/// Four integers as floats.
inline Four floats_of(TwoIntegers first, TwoIntegers second) {
  const auto a = vector_at<FourInts>(&first), b = vector_at<FourInts>(&second);
  const FourInts low = __builtin_shuffle(a, b, FourInts{0, 2, 4, 6});
  const FourInts high = __builtin_shuffle(a, b, FourInts{1, 3, 5, 7});
  const FourInts rest = high ^ (low >> 31);  // not 0: more than 32 bits
  const auto too_large = vector_at<TwoIntegers>(&rest);
  if ((too_large[0] | too_large[1]) == 0) [[likely]]
    return __builtin_convertvector(low, Four);
  const auto float_of = [](std::uint64_t bits) { return static_cast<float>(static_cast<std::int64_t>(bits)); };
  return Four{float_of(first[0]), float_of(first[1]), float_of(second[0]), float_of(second[1])};
}

}  // namespace

/// Computes the vector of the newcomer and, now and then, the scale of each metric: its mean over all iterations.
void Clusterer::count_totals(const IterationProfile& profile) {
  ++iterations_;
  const std::int64_t* overall = profile.overall.data();
  std::size_t m = 0;
  for (; m + lanes <= metrics_; m += lanes)
    for (std::size_t i = 0; i < lanes; ++i) newcomer_overall_[m + i] = static_cast<double>(overall[m + i]);
  for (; m < metrics_; ++m) newcomer_overall_[m] = static_cast<double>(overall[m]);
  float* mean = mean_of(newcomer_);
  for (m = 0; m < stride_; m += lanes)
    for (std::size_t i = 0; i < lanes; ++i) {
      total_[m + i] += newcomer_overall_[m + i];
      mean[m + i] = static_cast<float>(newcomer_overall_[m + i]);
    }
  if (iterations_ < next_mean_) return;
  next_mean_ = iterations_ + iterations_ / 16 + 1;
  for (m = 0; m < metrics_; ++m) {
    const double of_all = total_[m] / static_cast<double>(iterations_);
    inverse_mean_[m] = of_all != 0 ? static_cast<float>(1 / (of_all < 0 ? -of_all : of_all)) : 0.0F;
  }
}

/// Sums the values of key paths, minus those of the class's first iteration, with the signs of the sketch. `out`: the
/// padded columns of all shapes, for each of four lanes. Returns the set of flat columns in which any value differs.
std::uint64_t Clusterer::add_up_keys(const IterationClass& cls, float* out) const {
  alignas(16) std::int64_t differ[max_padded];
  std::memset(differ, 0, padded_count_ * sizeof *differ);
  std::memset(out, 0, lanes * padded_count_ * sizeof *out);
  std::uint32_t number[max_shapes] = {};  // of the path in its shape
  const ClassPath* path = paths_.data() + cls.first_path;
  const std::int64_t* base = cls.base;
  for (std::uint32_t i = 0; i < cls.key_paths; ++i, ++path) {
    const std::int64_t* values = key_values_[i];
    const unsigned count = columns_[path->shape], begin = padded_begin_[path->shape];
    const std::uint32_t n = number[path->shape]++;
    const float sign = signs_[n];
    float* sum = out + n % lanes * padded_count_ + begin;
    std::int64_t* any = differ + begin;
    unsigned c = 0;
    for (; c + lanes <= count; c += lanes) {
      const TwoIntegers first = vector_at<TwoIntegers>(values + c) - vector_at<TwoIntegers>(base + c);
      const TwoIntegers second = vector_at<TwoIntegers>(values + c + 2) - vector_at<TwoIntegers>(base + c + 2);
      store(any + c, vector_at<TwoIntegers>(any + c) | first);
      store(any + c + 2, vector_at<TwoIntegers>(any + c + 2) | second);
      store(sum + c, four_at(sum + c) + sign * floats_of(first, second));
    }
    for (; c < count; ++c) {
      const std::int64_t delta = format::wrapping_difference(values[c], base[c]);
      any[c] |= delta;
      sum[c] += sign * static_cast<float>(delta);
    }
    base += count;
  }
  std::uint64_t differing = 0;
  for (std::size_t f = 0; f < flat_count_; ++f) {
    const bool any = differ[padded_begin_[flat_[f].shape] + flat_[f].column] != 0;
    differing |= std::uint64_t{any} << f;
  }
  return differing;
}

/// Computes the newcomer's sketch: for each column, a few sums of the values of many call paths with random signs. The
/// expected distance between sketches is that between the full vectors (Charikar, Chen, Farach-Colton: Finding frequent
/// items in data streams).
void Clusterer::sketch_newcomer(IterationClass& cls) {
  alignas(16) float keys[lanes * max_padded];
  const std::uint64_t differing = add_up_keys(cls, keys) & all_sketched_;
  std::uint64_t sketched = differing;
  for (std::uint32_t i = 0; i < other_count_; ++i) sketched |= flats_of(others_[i].shape) & all_sketched_;
  for (std::uint64_t left = sketched & ~cls.in_order; left; left &= left - 1)
    add_to_order(cls, static_cast<unsigned>(std::countr_zero(left)));
  for (std::uint8_t o = 0; o < cls.order_count; ++o) store(newcomer_sketch_ + cls.order[o] * lanes, Four{0, 0, 0, 0});
  for (std::uint64_t left = differing; left; left &= left - 1) {
    const FlatColumn& flat = flat_[std::countr_zero(left)];
    const float* sum = keys + padded_begin_[flat.shape] + flat.column;
    for (unsigned d = 0; d < lanes; ++d) newcomer_sketch_[flat.sketch_begin + d] = sum[d * padded_count_];
  }
  double noise[max_flat] = {};
  for (std::uint32_t i = 0; i < other_count_; ++i) {
    const TouchedPath& t = others_[i];
    const std::uint64_t hash = format::spread(static_cast<std::uint32_t>(t.path));
    const std::uint32_t sign = static_cast<std::uint32_t>(~hash >> 32) & 0x80000000U;  // highest bit 0: negative
    const bool sampled = learning_ && !exact_[t.shape];
    const std::int64_t samples = sampled && visits_[t.shape] != no_column ? t.values[visits_[t.shape]] : 1;
    for (unsigned c = 0; c < columns_[t.shape]; ++c) {
      const unsigned f = flat_begin_[t.shape] + c;
      if (!flat_[f].sketched) continue;
      const auto value = static_cast<float>(t.values[c]);
      newcomer_sketch_[flat_[f].sketch_begin + (hash >> 40 & (lanes - 1))] +=
          std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ sign);
      if (!sampled) continue;
      noise[f] += samples > 1 ? static_cast<double>(value * value * (1.0F / static_cast<float>(samples)))
                              : static_cast<double>(value * value);
    }
  }
  if (!learning_) return;
  const double weight = cls.adds >= eager_learning ? learning_stride : 1;
  noise_weight_ += weight;
  for (std::size_t f = 0; f < flat_count_; ++f) sampling_noise_[f] += weight * noise[f];
}

/// Makes the newcomer's sketch comparable with those of its class's clusters. Slopes are computed anew at growing
/// intervals.
void Clusterer::learn_slopes(IterationClass& cls) {
  float* sketch = newcomer_sketch_;
  const float* mean = mean_of(newcomer_);
  for (std::uint8_t o = 0; o < cls.order_count && learning_; ++o) {
    const std::size_t f = sketched_[cls.order[o]];
    const FlatColumn& column = flat_[f];
    if (cls.key_count[column.shape]) continue;
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
    const auto slope = four_at(cls.slope_sketch + column.sketch_begin);
    Four rest = four_at(out) - mean[column.overall] * slope;
    if (column.second != no_metric) rest -= mean[column.second] * four_at(cls.second_sketch + column.sketch_begin);
    rest *= scale;
    store(out, rest);
  }
}

}  // namespace refrain::clustering
