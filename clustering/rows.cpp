// The rows of clusters, and how iterations and clusters are added up. Each change gets its memory first and cannot fail
// afterwards.
#include <algorithm>
#include <bit>
#include <cstring>

#include "clustering/clusterer.hpp"
#include "format/bytes.hpp"

namespace refrain::clustering {

namespace {

/// With room for some that are not known yet.
std::uint32_t with_room(std::uint32_t count) { return count + count / 16 + 8; }

/// Adds integers up, two at a time, modulo 2^64.
void add_values(std::int64_t* sums, const std::int64_t* values, std::size_t count) {
  using Two = std::uint64_t __attribute__((vector_size(16)));
  std::size_t i = 0;
  for (; i + 2 <= count; i += 2) {
    Two sum, value;
    std::memcpy(&sum, sums + i, sizeof sum);
    std::memcpy(&value, values + i, sizeof value);
    sum += value;
    std::memcpy(sums + i, &sum, sizeof sum);
  }
  if (i < count) sums[i] = format::wrapping_sum(sums[i], values[i]);
}

}  // namespace

// --- room ------------------------------------------------------------------------------------------------------------

bool Clusterer::change_rooms(PathClass& cls, const Rooms& rooms) {
  if (!rows_.reserve(rooms.listed) || !blocks_.change(cls.block, rooms, cls.clusters)) return false;
  if (blocks_.has_many_holes())
    blocks_.close_up([this](std::uint32_t owner, std::size_t at) { classes_[owner].block.at = at; });
  return true;
}

/// Half as many rows again, where that is not too much.
std::uint32_t Clusterer::rows_for_one_more(const PathClass& cls) const {
  const std::uint32_t least = cls.clusters + 1;
  const std::uint32_t more = std::max(least, std::min(max_clusters_, least + cls.clusters / 2));
  const std::size_t row_bytes = cls.block.row_values() * sizeof(std::int64_t);
  return bytes_in_use() + (more - cls.clusters) * row_bytes <= memory_limit_ ? more : least;
}

/// Room for the rows that there are, and no more.
void Clusterer::give_rows_back(PathClass& cls) {
  Rooms rooms = cls.block.rooms;
  if (rooms.clusters == cls.clusters) return;
  rooms.clusters = cls.clusters;
  (void)change_rooms(cls, rooms);  // where there is no memory to move to, the rows stay
}

/// Places of the newcomer's call paths outside the key, and how many are new to the class.
bool Clusterer::find_places(const PathClass& cls) {
  if (!found_.resize(sparse_begin_[shapes_])) return false;
  new_paths_ = new_values_ = 0;
  for (std::size_t s = 0; s < shapes_; ++s)
    for (std::uint32_t e = sparse_begin_[s]; e < sparse_begin_[s + 1]; ++e) {
      found_[e] = blocks_.find(cls.block, static_cast<std::uint32_t>(sparse_[e].path), s);
      if (found_[e] != ClassBlocks::none) [[likely]]
        continue;
      ++new_paths_;
      new_values_ += columns_[s];
    }
  return cls.block.sampled + new_values_ < ClassBlocks::most_sampled;
}

/// What the class needs for the newcomer to become part of one of its clusters.
Rooms Clusterer::rooms_with_newcomer(const PathClass& cls) const {
  const ClassBlock& block = cls.block;
  Rooms rooms = block.rooms;
  rooms.varies |= delta_nonzero_;
  if (block.listed + new_paths_ > rooms.listed) rooms.listed = with_room(block.listed + new_paths_);
  if (block.sampled + new_values_ > rooms.sampled) rooms.sampled = with_room(block.sampled + new_values_);
  return rooms;
}

/// Merges until the rows of the class can become as long as the newcomer wants. False: there is no room for that.
bool Clusterer::merge_for_longer_rows(const PathClass& cls) {
  for (;;) {
    ClassBlock longer = cls.block;
    longer.rooms = rooms_with_newcomer(cls);
    if (longer.rooms == cls.block.rooms) return true;
    if (bytes_in_use() - cls.block.bytes + blocks_.bytes_of(longer) <= memory_limit_) return true;
    const Pair pair = closest_pair();
    if (pair.a == none) return false;
    PathClass& of = classes_[clusters_[pair.a].cls];
    if (!merge(pair.a, pair.b)) return false;
    give_rows_back(of);
  }
}

/// Sees to it that adding the newcomer to a cluster, or to one to come, cannot fail.
bool Clusterer::make_room(PathClass& cls, bool for_a_cluster) {
  Rooms rooms = rooms_with_newcomer(cls);
  if (for_a_cluster && cls.clusters == rooms.clusters) rooms.clusters = rows_for_one_more(cls);
  if (rooms != cls.block.rooms && !change_rooms(cls, rooms)) return false;
  if (new_paths_ == 0) return true;
  for (std::size_t s = 0; s < shapes_; ++s)
    for (std::uint32_t e = sparse_begin_[s]; e < sparse_begin_[s + 1]; ++e) {
      const auto path = static_cast<std::uint32_t>(sparse_[e].path);
      if (found_[e] == ClassBlocks::none) found_[e] = blocks_.find(cls.block, path, s);  // it may come twice
      if (found_[e] == ClassBlocks::none) found_[e] = blocks_.insert(cls.block, path, s);
    }
  new_paths_ = new_values_ = 0;
  return true;
}

/// A cluster has gone: the last row takes its place.
void Clusterer::free_row(PathClass& cls, std::uint32_t row) {
  const std::uint32_t last = cls.clusters;  // the cluster is out of the list already
  if (row != last) {
    std::memcpy(blocks_.row(cls.block, row), blocks_.row(cls.block, last),
                cls.block.row_values() * sizeof(std::int64_t));
    std::uint32_t moved = cls.head;
    while (clusters_[moved].row != last) moved = clusters_[moved].next;
    clusters_[moved].row = row;
  }
  if (cls.block.rooms.clusters > 2 * cls.clusters + 2) give_rows_back(cls);
}

// --- adding up -------------------------------------------------------------------------------------------------------

void Clusterer::add_newcomer_to_row(const PathClass& cls, std::int64_t* row) const {
  std::int64_t* sums = row;
  for (std::uint64_t left = cls.block.rooms.varies; left; left &= left - 1) {
    const auto flat = static_cast<unsigned>(std::countr_zero(left));
    const std::uint32_t count = cls.block.count(flat_[flat].shape);
    if (delta_nonzero_ >> flat & 1) add_values(sums, deltas_.data() + delta_begin_[flat], count);
    sums += count;
  }
  for (std::size_t s = 0; s < shapes_; ++s)
    for (std::uint32_t e = sparse_begin_[s]; e < sparse_begin_[s + 1]; ++e)
      for (unsigned c = 0; c < columns_[s]; ++c)
        sums[found_[e] + c] = format::wrapping_sum(sums[found_[e] + c], sparse_[e].values[c]);
}

/// What the difference between a cluster and what is about to be added to it, the newcomer or the cluster `from`, says
/// of the slopes.
void Clusterer::learn_products(PathClass& cls, std::uint32_t slot, const Cluster* from) {
  const Cluster& into = clusters_[slot];
  const double na = static_cast<double>(into.members), nb = from ? static_cast<double>(from->members) : 1;
  const double both = na * nb / (na + nb);
  const auto inverse_a = static_cast<float>(1 / na), inverse_b = static_cast<float>(1 / nb);
  const float* mean_a = mean_of(slot);
  const float* mean_b = mean_of(from ? static_cast<std::uint32_t>(from - clusters_.data()) : newcomer_);
  const std::int64_t* sum = row_of(into);
  const std::int64_t* other = from ? row_of(*from) : nullptr;
  const ClassStatistics statistics = learned(cls);
  for (unsigned flat = 0; flat < flat_count_; ++flat) {
    const FlatColumn& column = flat_[flat];
    const std::uint32_t count = cls.block.count(column.shape);
    if (count == 0) continue;
    const auto apart_in = [&](std::uint8_t metric) {
      return metric == no_metric ? 0 : static_cast<double>(mean_b[metric]) - static_cast<double>(mean_a[metric]);
    };
    const double apart = apart_in(column.overall), second_apart = apart_in(column.second);
    statistics.overall_scatter[flat] += apart * apart * both;
    statistics.cross_scatter[flat] += apart * second_apart * both;
    statistics.second_scatter[flat] += second_apart * second_apart * both;
    if (!(cls.block.rooms.varies >> flat & 1)) continue;
    const std::int64_t* values = other;
    if (!from) values = delta_nonzero_ >> flat & 1 ? deltas_.data() + delta_begin_[flat] : nullptr;
    const auto add_products = [&](float* products, double weight) {
      const auto factor = static_cast<float>(weight);
      if (values)
        for (std::uint32_t i = 0; i < count; ++i)
          products[i] += factor * (static_cast<float>(values[i]) * inverse_b - static_cast<float>(sum[i]) * inverse_a);
      else
        for (std::uint32_t i = 0; i < count; ++i) products[i] -= factor * (static_cast<float>(sum[i]) * inverse_a);
    };
    const Products products = blocks_.products(cls.block, flat);
    if (apart != 0) {
      add_products(products.first, apart * both);
      cls.regressed |= std::uint64_t{1} << flat;
    }
    if (second_apart != 0) {
      add_products(products.second, second_apart * both);
      cls.regressed_twice |= std::uint64_t{1} << flat;
    }
    sum += count;
    if (other) other += count;
  }
}

/// Lists the call paths outside the key that a cluster has; their number.
std::uint32_t Clusterer::list_rows(std::uint32_t slot) const {
  if (rows_of_ == slot) return static_cast<std::uint32_t>(rows_.size());
  const Cluster& c = clusters_[slot];
  const ClassBlock& block = classes_[c.cls].block;
  rows_.clear();
  for (std::uint32_t r = 0; r < block.listed; ++r) {
    const Listed& listed = blocks_.list(block)[r];
    const std::int64_t* sums = row_of(c) + block.key_columns + listed.place;
    bool any = false;
    for (unsigned k = 0; k < columns_[listed.shape]; ++k) any |= sums[k] != 0;
    if (any) (void)rows_.push_back(r);
  }
  rows_of_ = slot;
  return static_cast<std::uint32_t>(rows_.size());
}

// --- clusters --------------------------------------------------------------------------------------------------------

void Clusterer::members_changed(std::uint32_t slot) {
  const auto n = static_cast<float>(clusters_[slot].members);
  wards_[slot] = n / (n + 1);
  members_[slot] = n;
}

bool Clusterer::start_cluster(std::uint32_t cls, std::uint64_t iteration, const IterationProfile& profile) {
  const std::uint32_t slot = newcomer_;
  Cluster& c = clusters_[slot];
  c = Cluster{};
  c.cls = cls;
  c.nearest = none;
  PathClass& owner = classes_[cls];
  point_to_slot(slot);
  if (!make_room(owner, true)) {
    c = Cluster{};
    return false;
  }
  c.row = owner.clusters;
  std::int64_t* row = row_of(c);
  std::memset(row, 0, owner.block.row_values() * sizeof *row);
  add_newcomer_to_row(owner, row);
  std::memset(c.statistics, 0, statistics_bytes());
  const auto* from = reinterpret_cast<const std::byte*>(profile.overall.data());
  for (std::int64_t* to : {sums(c), minima(c), maxima(c)}) std::memcpy(to, from, metrics_ * 8);
  std::memcpy(exact_means(c), newcomer_overall_, stride_ * 8);
  std::memcpy(exemplar_vector(c), mean_of(slot), stride_ * sizeof(float));
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
  if (!owner.overflow) look_for_nearest(slot);
  return true;
}

bool Clusterer::absorb(std::uint32_t slot, std::uint64_t iteration, const IterationProfile& profile) {
  Cluster& c = clusters_[slot];
  PathClass& cls = classes_[c.cls];
  if (!make_room(cls, false)) return false;
  if (learning_) learn_products(cls, slot, nullptr);
  add_newcomer_to_row(cls, row_of(c));
  float* sketch = sketch_of(slot);
  const float share = 1.0F / static_cast<float>(c.members + 1);
  for (std::uint8_t o = 0; o < cls.order_count; ++o)
    for (std::size_t d = 0, at = std::size_t{cls.order[o]} * lanes; d < lanes; ++d, ++at)
      sketch[at * lanes] += (newcomer_sketch_[at] - sketch[at * lanes]) * share;
  if (slot == closest_.a || slot == closest_.b) closest_known_ = false;
  add_to_statistics(c, iteration, profile);
  members_changed(slot);
  ++cls.adds;
  if (c.members >= c.check_at && !cls.overflow) look_for_nearest(slot);
  return true;
}

/// `b` becomes part of `a`, or the other way round: the larger keeps its label.
bool Clusterer::merge(std::uint32_t a, std::uint32_t b) {
  if (clusters_[b].members > clusters_[a].members ||
      (clusters_[b].members == clusters_[a].members && clusters_[b].label < clusters_[a].label))
    std::swap(a, b);
  Cluster &to = clusters_[a], &from = clusters_[b];
  PathClass& cls = classes_[to.cls];
  if (!merges_.reserve(merges_.size() + 1)) return false;
  learn_products(cls, a, &from);
  add_values(row_of(to), row_of(from), cls.block.row_values());
  float *sketch = sketch_of(a), *added = sketch_of(b);
  const float share =
      static_cast<float>(static_cast<double>(from.members) / static_cast<double>(to.members + from.members));
  for (std::size_t d = 0; d < sketch_dims_; ++d) sketch[d * lanes] += (added[d * lanes] - sketch[d * lanes]) * share;
  closest_known_ = false;
  add_to_statistics(to, from);
  members_changed(a);
  (void)merges_.push_back({from.label, to.label});
  free_cluster(b);
  look_for_nearest(a);
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next)
    if (clusters_[i].nearest == b) look_for_nearest(i);
  return true;
}

void Clusterer::free_cluster(std::uint32_t slot) {
  Cluster& c = clusters_[slot];
  PathClass& cls = classes_[c.cls];
  for (std::uint32_t* link = &cls.head; *link != none; link = &clusters_[*link].next)
    if (*link == slot) {
      *link = c.next;
      break;
    }
  --cls.clusters;
  --cluster_count_;
  const std::uint32_t row = c.row;
  c = Cluster{};
  free_row(cls, row);
  nearest_costs_[slot] = huge_cost;
  slot_class_[slot] = none;
  (void)free_slots_.push_back(slot);
}

}  // namespace refrain::clustering
