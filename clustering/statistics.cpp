// What is known of a cluster's members but for their call paths.
#include <algorithm>
#include <cstring>

#include "clustering/clusterer.hpp"

namespace refrain::clustering {

void Clusterer::add_to_statistics(Cluster& c, std::uint64_t iteration, const IterationProfile& profile) {
  const auto slot = static_cast<std::uint32_t>(&c - clusters_.data());
  std::int64_t *sum = sums(c), *low = minima(c), *high = maxima(c);
  // Sums, and whether any value lies outside of what there was: the sign of one of two differences.
  using TwoIntegers = std::uint64_t __attribute__((vector_size(16)));
  const auto integers_at = [](const std::int64_t* from) {
    TwoIntegers out;
    std::memcpy(&out, from, sizeof out);
    return out;
  };
  TwoIntegers outside = {0, 0};
  std::size_t first = 0;
  for (; first + 2 <= metrics_; first += 2) {
    const TwoIntegers value = integers_at(profile.overall.data() + first), now = integers_at(sum + first) + value;
    std::memcpy(sum + first, &now, sizeof now);
    outside |= (value - integers_at(low + first)) | (integers_at(high + first) - value);
  }
  std::uint64_t any_outside = outside[0] | outside[1];
  if (first < metrics_) {
    sum[first] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum[first]) +
                                           static_cast<std::uint64_t>(profile.overall[first]));
    any_outside = ~std::uint64_t{0};
  }
  if (any_outside >> 63)
    for (std::size_t m = 0; m < metrics_; ++m) {
      low[m] = std::min(low[m], profile.overall[m]);
      high[m] = std::max(high[m], profile.overall[m]);
    }
  // Welford: the mean moves by a share of the difference, and the squares grow by the differences before and after.
  using Two = double __attribute__((vector_size(16)));
  using Four = float __attribute__((vector_size(16)));
  using FourBits = std::uint32_t __attribute__((vector_size(16)));
  const auto two_at = [](const double* from) {
    Two out;
    std::memcpy(&out, from, sizeof out);
    return out;
  };
  const auto four_at = [](const float* from) {
    Four out;
    std::memcpy(&out, from, sizeof out);
    return out;
  };
  const auto magnitude = [](Four v) {
    FourBits bits;
    std::memcpy(&bits, &v, sizeof bits);
    bits &= 0x7fffffffU;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  };
  double *means = exact_means(c), *square = squares(c);
  const double inverse = 1 / static_cast<double>(c.members + 1);
  float *example = exemplar_vector(c), *mean = mean_of(slot), *own = mean_of(newcomer_);
  Four example_distance = {0, 0, 0, 0}, own_distance = {0, 0, 0, 0};
  for (std::size_t m = 0; m < stride_; m += lanes) {
    using FourDoubles = double __attribute__((vector_size(32)));
    FourDoubles after;
    for (std::size_t i = 0; i < lanes; i += 2) {
      const Two value = two_at(newcomer_overall_ + m + i), before = two_at(means + m + i), apart = value - before;
      const Two now = before + apart * inverse;
      const Two squares_now = two_at(square + m + i) + apart * (value - now);
      std::memcpy(means + m + i, &now, sizeof now);
      after[i] = now[0];
      after[i + 1] = now[1];
      std::memcpy(square + m + i, &squares_now, sizeof squares_now);
    }
    const Four here = __builtin_convertvector(after, Four);
    std::memcpy(mean + m, &here, sizeof here);
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

void Clusterer::add_untouched(Label label, const Untouched& more) {
  const std::uint32_t slot = told_;
  if (slot == none || clusters_[slot].label != label || more.count == 0) return;
  alignas(8) std::byte statistics[max_overall * (5 * 8 + 4)];
  static_assert(max_overall % lanes == 0);
  Cluster from{};
  from.statistics = statistics;
  from.members = more.count;
  from.first = from.exemplar = more.first;
  from.last = more.last;
  for (std::size_t m = 0; m < metrics_; ++m) {
    sums(from)[m] = more.sum[m];
    minima(from)[m] = more.minimum[m];
    maxima(from)[m] = more.maximum[m];
    squares(from)[m] = more.squares[m];
    exemplar_vector(from)[m] = huge_cost;  // the exemplar stays an iteration that was looked at
    total_[m] += static_cast<double>(more.sum[m]);
  }
  iterations_ += more.count;
  add_to_statistics(clusters_[slot], from);
  members_changed(slot);
}

void Clusterer::add_to_statistics(Cluster& c, const Cluster& from) {
  const double n = static_cast<double>(c.members), k = static_cast<double>(from.members);
  float* mean = mean_of(static_cast<std::uint32_t>(&c - clusters_.data()));
  float distance_here = 0, distance_there = 0;
  for (std::size_t m = 0; m < metrics_; ++m) {
    const double apart = static_cast<double>(sums(c)[m]) / n - static_cast<double>(sums(from)[m]) / k;
    squares(c)[m] += squares(from)[m] + apart * apart * (n * k / (n + k));
    sums(c)[m] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(sums(c)[m]) + static_cast<std::uint64_t>(sums(from)[m]));
    minima(c)[m] = std::min(minima(c)[m], minima(from)[m]);
    maxima(c)[m] = std::max(maxima(c)[m], maxima(from)[m]);
    exact_means(c)[m] = static_cast<double>(sums(c)[m]) / (n + k);
    mean[m] = static_cast<float>(exact_means(c)[m]);
    distance_here += __builtin_fabsf(exemplar_vector(c)[m] - mean[m]) * inverse_mean_[m];
    distance_there += __builtin_fabsf(exemplar_vector(from)[m] - mean[m]) * inverse_mean_[m];
  }
  if (distance_there < distance_here) {
    c.exemplar = from.exemplar;
    std::memcpy(exemplar_vector(c), exemplar_vector(from), metrics_ * sizeof(float));
  }
  c.first = std::min(c.first, from.first);
  c.last = std::max(c.last, from.last);
  c.members += from.members;
}

}  // namespace refrain::clustering
