#include "bench/clustering/paper.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "format/bytes.hpp"

namespace refrain::bench {

using namespace clustering;

namespace {

/// The heuristic of the paper's authors: the more members, the farther apart.
float reluctance(double members) {
  const auto grown = static_cast<float>(0.4 + 0.05 * members);
  return grown <= 1 ? grown : std::sqrt(grown);
}

}  // namespace

bool TotalsClusterer::create(const Settings& settings) {
  if (settings.overall.empty() || settings.shapes.empty() || settings.max_clusters == 0) return false;
  equivalence_ = settings.equivalence;
  max_clusters_ = settings.max_clusters;
  for (const OverallColumn& column : settings.overall) in_distance_.push_back(column.in_distance);
  for (const Shape& shape : settings.shapes)
    shapes_.push_back({shape.exact, shape.visits, static_cast<std::uint8_t>(shape.columns.size())});
  total_.resize(in_distance_.size());
  inverse_mean_.resize(in_distance_.size());
  integer_total_.resize(in_distance_.size());
  return true;
}

TotalsClusterer::Key TotalsClusterer::key_of(const IterationProfile& profile) const {
  Key key;
  if (equivalence_ == Equivalence::None) return key;
  for (const TouchedPath& t : profile.paths) {
    const ShapeOf& shape = shapes_[t.shape];
    if (equivalence_ != Equivalence::All && !shape.exact) continue;
    const bool counts = equivalence_ == Equivalence::MpiVisits && shape.visits != no_column;
    key[{t.shape, static_cast<std::uint32_t>(t.path)}] = counts ? t.values[shape.visits] : 0;
  }
  return key;
}

Added TotalsClusterer::add(std::uint64_t iteration, const IterationProfile& profile) {
  if (profile.overall.size() != total_.size()) return {no_label, Error::BadProfile};
  ++iterations_;
  for (std::size_t m = 0; m < total_.size(); ++m) {
    total_[m] += static_cast<double>(profile.overall[m]);
    integer_total_[m] += static_cast<std::uint64_t>(profile.overall[m]);
    const double mean = std::fabs(total_[m]) / static_cast<double>(iterations_);
    inverse_mean_[m] = mean != 0 ? static_cast<float>(1 / mean) : 0.0F;
  }
  Cluster own;
  own.label = Label{next_label_++};
  own.cls = classes_.try_emplace(key_of(profile), class_count()).first->second;
  own.members = 1;
  own.first = own.last = iteration;
  own.sum.assign(profile.overall.begin(), profile.overall.end());
  own.minimum = own.maximum = own.sum;
  own.squares.resize(own.sum.size());
  for (const std::int64_t value : own.sum) {
    own.integer_means.push_back(static_cast<std::uint64_t>(value));
    own.means.push_back(static_cast<float>(value));
  }
  for (const TouchedPath& t : profile.paths) {
    PathRow row{};
    row.path = t.path;
    row.shape = t.shape;
    row.columns = shapes_[t.shape].columns;
    std::copy_n(t.values, row.columns, row.sum);
    own.row_of[{t.shape, static_cast<std::uint32_t>(t.path)}] = own.rows.size();
    own.rows.push_back(row);
  }
  Label told = own.label;
  clusters_.push_back(std::move(own));
  while (clusters_.size() > max_clusters_ && merge_nearest())
    if (merges_.back().from == told) told = merges_.back().to;
  return {told, Error::None};
}

float TotalsClusterer::distance(const Cluster& a, const Cluster& b) const {
  float sum = 0;
  for (std::size_t m = 0; m < total_.size(); ++m) {
    if (!in_distance_[m] || inverse_mean_[m] == 0) continue;
    if (by_ != Nearness::ScoreP) {
      const float apart = std::fabs(a.means[m] * inverse_mean_[m] - b.means[m] * inverse_mean_[m]);
      sum += by_ == Nearness::Ward ? apart * apart : apart;
    } else if (const std::uint64_t mean = integer_total_[m] / iterations_; mean) {
      const std::uint64_t apart = a.integer_means[m] - b.integer_means[m];  // wraps, as shipped
      sum += static_cast<float>(apart) / static_cast<float>(mean);
    }
  }
  const auto n = static_cast<double>(a.members), k = static_cast<double>(b.members);
  return sum * (by_ == Nearness::Ward ? static_cast<float>(n * k / (n + k)) : reluctance(n + k));
}

/// The entry of the paper's vectors that sets the clusters apart most.
std::size_t TotalsClusterer::widest_entry() const {
  std::size_t widest = 0;
  float width = -1;
  for (std::size_t m = 0; m < total_.size(); ++m) {
    if (!in_distance_[m]) continue;
    float sum = 0, squares = 0;
    for (const Cluster& c : clusters_) {
      const float value = c.means[m] * inverse_mean_[m];
      sum += value;
      squares += value * value;
    }
    const float variance = squares - sum * sum / static_cast<float>(clusters_.size());
    if (variance <= width) continue;
    width = variance;
    widest = m;
  }
  return widest;
}

/// False: every cluster is alone in its class. Of the paper's pairs those are left out that are too far apart in the
/// widest entry alone.
bool TotalsClusterer::merge_nearest() {
  const std::size_t widest = widest_entry();
  const auto place = [&](std::size_t i) { return clusters_[i].means[widest] * inverse_mean_[widest]; };
  std::vector<std::size_t> order(clusters_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple(clusters_[i].cls, place(i), i); });
  std::size_t best_i = 0, best_j = 0;  // best_i: the younger one, 0: no pair yet
  float least = 0;
  for (std::size_t a = 0; a < order.size(); ++a)
    for (std::size_t b = a + 1; b < order.size() && clusters_[order[b]].cls == clusters_[order[a]].cls; ++b) {
      const float at_least =
          (place(order[b]) - place(order[a])) * reluctance(static_cast<double>(clusters_[order[a]].members) + 1);
      if (by_ == Nearness::Paper && best_i != 0 && in_distance_[widest] && at_least > least) break;
      const std::size_t i = std::max(order[a], order[b]), j = std::min(order[a], order[b]);
      const float apart = distance(clusters_[j], clusters_[i]);
      if (best_i != 0 && std::tuple(apart, i, j) >= std::tuple(least, best_i, best_j)) continue;
      least = apart;
      best_i = i;
      best_j = j;
    }
  if (best_i == 0) return false;
  // The larger keeps its label, of equals the older.
  if (clusters_[best_i].members > clusters_[best_j].members) std::swap(best_i, best_j);
  join(clusters_[best_j], clusters_[best_i]);
  merges_.push_back({clusters_[best_i].label, clusters_[best_j].label});
  clusters_.erase(clusters_.begin() + static_cast<std::ptrdiff_t>(best_i));
  return true;
}

void TotalsClusterer::join(Cluster& to, const Cluster& from) const {
  const auto n = static_cast<double>(to.members), k = static_cast<double>(from.members);
  for (std::size_t m = 0; m < total_.size(); ++m) {
    const double apart = static_cast<double>(to.sum[m]) / n - static_cast<double>(from.sum[m]) / k;
    to.squares[m] += from.squares[m] + apart * apart * (n * k / (n + k));
    to.sum[m] = format::wrapping_sum(to.sum[m], from.sum[m]);
    to.minimum[m] = std::min(to.minimum[m], from.minimum[m]);
    to.maximum[m] = std::max(to.maximum[m], from.maximum[m]);
    to.means[m] = static_cast<float>(static_cast<double>(to.sum[m]) / (n + k));
    to.integer_means[m] =
        (to.integer_means[m] * to.members + from.integer_means[m] * from.members) / (to.members + from.members);
  }
  for (const PathRow& row : from.rows) {
    const auto [at, fresh] = to.row_of.try_emplace({row.shape, static_cast<std::uint32_t>(row.path)}, to.rows.size());
    if (fresh) {
      to.rows.push_back(row);
      continue;
    }
    PathRow& sum = to.rows[at->second];
    for (std::uint32_t c = 0; c < row.columns; ++c) sum.sum[c] = format::wrapping_sum(sum.sum[c], row.sum[c]);
  }
  to.first = std::min(to.first, from.first);
  to.last = std::max(to.last, from.last);
  to.members += from.members;
}

ClusterView TotalsClusterer::cluster(std::uint32_t index) const {
  const Cluster& c = clusters_[index];
  return {c.label, c.cls, false, c.members, c.first, c.last, c.first, c.sum, c.minimum, c.maximum, c.squares};
}

std::size_t TotalsClusterer::profile_bytes() const {
  std::size_t bytes = 0;
  for (const Cluster& c : clusters_) {
    bytes += c.sum.size() * sizeof(std::int64_t);
    for (const PathRow& row : c.rows) bytes += sizeof(std::uint32_t) + row.columns * sizeof(std::int64_t);
  }
  return bytes;
}

}  // namespace refrain::bench
