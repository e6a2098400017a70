#include "bench/clustering/reference.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace refrain::bench {

using namespace clustering;

namespace {

/// A factor for distances, by the heuristic of the paper's authors: clusters with many members count as farther apart.
float reluctance(double members) {
  const auto grown = static_cast<float>(0.4 + 0.05 * members);
  return grown <= 1 ? grown : std::sqrt(grown);
}

std::uint64_t key_of(const TouchedPath& t) { return static_cast<std::uint64_t>(t.path) << 8 | t.shape; }

}  // namespace

ReferenceClusterer::ReferenceClusterer(Algorithm algorithm, std::uint32_t max_clusters,
                                       const std::vector<bool>& in_distance, std::span<const Shape> shapes)
    : algorithm_(algorithm),
      max_clusters_(max_clusters),
      metrics_(in_distance.size()),
      in_distance_(in_distance),
      total_(metrics_),
      integer_total_(metrics_),
      inverse_mean_(metrics_) {
  for (const Shape& shape : shapes) {
    exact_.push_back(shape.exact);
    columns_.push_back(static_cast<std::uint32_t>(shape.columns.size()));
  }
}

Label ReferenceClusterer::add(std::uint64_t iteration, const IterationProfile& profile) {
  ++iterations_;
  used_.clear();
  for (std::size_t m = 0; m < metrics_; ++m) {
    total_[m] += static_cast<double>(profile.overall[m]);
    integer_total_[m] += static_cast<std::uint64_t>(profile.overall[m]);
    const double mean = total_[m] / static_cast<double>(iterations_);
    inverse_mean_[m] = mean != 0 ? static_cast<float>(1 / std::fabs(mean)) : 0.0F;
    if (in_distance_[m] && mean != 0) used_.push_back(m);
  }
  const std::size_t newcomer = start(iteration, class_of(profile), profile);
  Label label = clusters_[newcomer].label;
  while (order_.size() > max_clusters_) {
    const Pair pair = closest_pair();
    if (!pair.found) break;
    std::size_t to = pair.a, from = pair.b;
    if (clusters_[from].members > clusters_[to].members ||
        (clusters_[from].members == clusters_[to].members && clusters_[from].label < clusters_[to].label))
      std::swap(to, from);
    if (clusters_[from].label == label) label = clusters_[to].label;  // as if it had never been a cluster
    else merges_.push_back({clusters_[from].label, clusters_[to].label});
    merge(to, from);
  }
  return label;
}

std::size_t ReferenceClusterer::class_of(const IterationProfile& profile) {
  std::vector<std::uint64_t> key;
  for (const TouchedPath& t : profile.paths)
    if (exact_[t.shape]) key.push_back(key_of(t));
  std::ranges::sort(key);
  const auto [at, fresh] = class_table_.try_emplace(std::move(key), classes_.size());
  if (fresh) classes_.emplace_back();
  return at->second;
}

std::size_t ReferenceClusterer::start(std::uint64_t iteration, std::size_t number, const IterationProfile& profile) {
  std::size_t slot = clusters_.size();
  if (free_.empty()) {
    clusters_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Class& cls = classes_[number];
  for (const TouchedPath& t : profile.paths) {
    if (!cls.index.try_emplace(key_of(t), cls.paths.size()).second) continue;
    cls.paths.push_back({static_cast<std::uint32_t>(t.path), t.shape, cls.width});
    cls.width += columns_[t.shape];
  }
  Cluster& c = clusters_[slot];
  c = Cluster{};
  c.label = Label{next_label_++};
  c.cls = number;
  c.members = 1;
  c.first = c.last = iteration;
  c.sum.assign(profile.overall.begin(), profile.overall.end());
  c.minimum = c.maximum = c.sum;
  c.squares.assign(metrics_, 0);
  c.integer_mean.assign(profile.overall.begin(), profile.overall.end());
  c.values.assign(cls.width, 0);
  for (const TouchedPath& t : profile.paths)
    for (std::uint32_t k = 0; k < columns_[t.shape]; ++k)
      c.values[cls.paths[cls.index.at(key_of(t))].at + k] += t.values[k];
  cls.clusters.insert(cls.clusters.begin(), slot);
  order_[static_cast<std::uint32_t>(c.label)] = slot;
  return slot;
}

void ReferenceClusterer::merge(std::size_t to, std::size_t from) {
  Cluster &a = clusters_[to], &b = clusters_[from];
  const double n = static_cast<double>(a.members), k = static_cast<double>(b.members);
  for (std::size_t m = 0; m < metrics_; ++m) {
    const double apart = static_cast<double>(a.sum[m]) / n - static_cast<double>(b.sum[m]) / k;
    a.squares[m] += b.squares[m] + apart * apart * (n * k / (n + k));
    a.sum[m] += b.sum[m];
    a.minimum[m] = std::min(a.minimum[m], b.minimum[m]);
    a.maximum[m] = std::max(a.maximum[m], b.maximum[m]);
    a.integer_mean[m] = (a.integer_mean[m] * a.members + b.integer_mean[m] * b.members) / (a.members + b.members);
  }
  a.values.resize(classes_[a.cls].width);
  for (std::size_t v = 0; v < b.values.size(); ++v) a.values[v] += b.values[v];
  a.first = std::min(a.first, b.first);
  a.last = std::max(a.last, b.last);
  a.members += b.members;
  std::erase(classes_[a.cls].clusters, from);
  order_.erase(static_cast<std::uint32_t>(b.label));
  free_.push_back(from);
}

/// Returns the cluster's means of the compared metrics as multiples of the means of all iterations.
std::vector<float> ReferenceClusterer::normalised(std::size_t cluster) const {
  const Cluster& c = clusters_[cluster];
  std::vector<float> out;
  for (const std::size_t m : used_)
    out.push_back(static_cast<float>(static_cast<double>(c.sum[m]) / static_cast<double>(c.members)) *
                  inverse_mean_[m]);
  return out;
}

ReferenceClusterer::Pair ReferenceClusterer::closest_pair() const {
  Pair best;
  for (const Class& cls : classes_) {
    if (cls.clusters.size() < 2) continue;
    const Pair pair = algorithm_ == Algorithm::Paper           ? closest_by_sweep(cls.clusters, best)
                      : algorithm_ == Algorithm::ScorePShipped ? closest_as_shipped(cls.clusters)
                                                               : closest_by_ward(cls.clusters);
    if (pair.found && (!best.found || pair.cost < best.cost)) best = pair;
  }
  return best;
}

/// Returns the pair of least distance, or the first of several such pairs. Pairs that cost more than `other`, the best
/// pair of other classes, need not be found. Compares only pairs that are near in the entry that varies most.
ReferenceClusterer::Pair ReferenceClusterer::closest_by_sweep(const std::vector<std::size_t>& clusters,
                                                              const Pair& other) const {
  const std::size_t count = clusters.size(), dims = used_.size();
  std::vector<std::vector<float>> vectors;
  for (const std::size_t c : clusters) vectors.push_back(normalised(c));
  std::size_t widest = 0;
  float width = -1;
  for (std::size_t d = 0; d < dims; ++d) {
    float sum = 0, squares = 0;
    for (const auto& vector : vectors) {
      sum += vector[d];
      squares += vector[d] * vector[d];
    }
    const float variance = squares - sum * sum / static_cast<float>(count);
    if (variance <= width) continue;
    width = variance;
    widest = d;
  }
  const auto members_of = [&](std::size_t i) { return static_cast<double>(clusters_[clusters[i]].members); };
  const auto position = [&](std::size_t i) { return dims ? vectors[i][widest] : 0.0F; };
  std::vector<std::size_t> sorted(count);
  std::vector<float> min_factor(count);
  for (std::size_t i = 0; i < count; ++i) {
    sorted[i] = i;
    min_factor[i] = reluctance(members_of(i) + 1);
  }
  std::ranges::sort(sorted, [&](std::size_t a, std::size_t b) {
    return position(a) < position(b) || (position(a) == position(b) && a < b);
  });
  Pair best;
  float least = other.found ? other.cost : HUGE_VALF;
  std::size_t best_i = count, best_j = count;
  for (std::size_t first = 0; first < count; ++first)
    for (std::size_t second = first + 1; second < count; ++second) {
      // A sum of non-negative floats is at least each of its terms, even if it is rounded.
      const float gap = position(sorted[second]) - position(sorted[first]);
      if (gap * min_factor[sorted[first]] > least) break;
      const std::size_t i = std::max(sorted[first], sorted[second]), j = std::min(sorted[first], sorted[second]);
      float distance = 0;
      for (std::size_t d = 0; d < dims; ++d) distance += std::fabs(vectors[i][d] - vectors[j][d]);
      if (distance * min_factor[i] > least) continue;
      distance *= reluctance(members_of(i) + members_of(j));
      if (distance > least || (distance == least && (i > best_i || (i == best_i && j > best_j)))) continue;
      best = {true, clusters[i], clusters[j], distance};
      least = distance;
      best_i = i;
      best_j = j;
    }
  return best;
}

ReferenceClusterer::Pair ReferenceClusterer::closest_as_shipped(const std::vector<std::size_t>& clusters) const {
  Pair best;
  for (std::size_t i = 1; i < clusters.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Cluster &a = clusters_[clusters[i]], &b = clusters_[clusters[j]];
      float distance = 0;
      for (const std::size_t m : used_) {
        const std::uint64_t mean = integer_total_[m] / iterations_;
        const std::uint64_t apart = a.integer_mean[m] - b.integer_mean[m];
        if (mean) distance += static_cast<float>(apart) / static_cast<float>(mean);  // `apart` wraps, as in Score-P
      }
      distance *= reluctance(static_cast<double>(a.members) + static_cast<double>(b.members));
      if (!best.found || distance < best.cost) best = {true, clusters[i], clusters[j], distance};
    }
  return best;
}

ReferenceClusterer::Pair ReferenceClusterer::closest_by_ward(const std::vector<std::size_t>& clusters) const {
  std::vector<std::vector<float>> vectors;
  for (const std::size_t c : clusters) vectors.push_back(normalised(c));
  Pair best;
  for (std::size_t i = 1; i < clusters.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto n = static_cast<float>(clusters_[clusters[i]].members);
      const auto k = static_cast<float>(clusters_[clusters[j]].members);
      float squares = 0;
      for (std::size_t d = 0; d < used_.size(); ++d) {
        const float apart = vectors[i][d] - vectors[j][d];
        squares += apart * apart;
      }
      const float cost = n * k / (n + k) * squares;
      if (!best.found || cost < best.cost) best = {true, clusters[i], clusters[j], cost};
    }
  return best;
}

std::size_t ReferenceClusterer::order_at(std::uint32_t index) const { return std::next(order_.begin(), index)->second; }

ClusterView ReferenceClusterer::cluster(std::uint32_t index) const {
  const Cluster& c = clusters_[order_at(index)];
  return {c.label,   static_cast<std::uint32_t>(c.cls),
          false,     c.members,
          c.first,   c.last,
          c.first,   c.sum,
          c.minimum, c.maximum,
          c.squares};
}

PathRow ReferenceClusterer::row_of(const Cluster& c, std::size_t path) const {
  const Path& of = classes_[c.cls].paths[path];
  PathRow out{};
  out.path = PathId{of.path};
  out.shape = of.shape;
  out.columns = columns_[of.shape];
  for (std::uint32_t k = 0; k < out.columns && of.at + k < c.values.size(); ++k) out.sum[k] = c.values[of.at + k];
  return out;
}

std::size_t ReferenceClusterer::profile_bytes() const {
  std::size_t bytes = order_.size() * metrics_ * sizeof(std::int64_t);
  for (const Class& cls : classes_)
    bytes += cls.clusters.size() * cls.width * sizeof(std::int64_t) + cls.paths.size() * sizeof(std::uint64_t);
  return bytes;
}

}  // namespace refrain::bench
