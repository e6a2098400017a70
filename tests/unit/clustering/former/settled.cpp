// Settled classes: full width, and room for every known call path in every cluster. Absorbing an iteration takes no
// memory then, and needs no look at what fits, but for the narrow columns of sampled paths.
#include <algorithm>
#include <bit>
#include <cstring>

#include "format/bytes.hpp"
#include "format/hashing.hpp"
#include "tests/unit/clustering/former/clusterer.hpp"

namespace refrain::clustering::former {

namespace {

constexpr std::uint8_t narrow = 4, full = 8;

/// Members of a cluster that sums are given room for before they have to be widened.
constexpr double roomy = 1 << 20;

/// Rows, with room for some that are not known yet.
std::uint32_t with_room(std::uint32_t rows) { return (rows + rows / 16 + 11) & ~std::uint32_t{3}; }

}  // namespace

// --- lists of paths --------------------------------------------------------------------------------------------------

/// Position of a path, or the list's count.
std::uint32_t Clusterer::position_in(const PathList& list, std::uint32_t path) {
  if (list.capacity == 0) return list.count;
  const std::uint64_t mask = (std::uint64_t{1} << list.index_bits) - 1;
  for (std::uint64_t at = format::spread(path) >> (64 - list.index_bits);; at = (at + 1) & mask) {
    const std::uint64_t entry = list.index[at];
    if (entry >> 32 == path && entry & 0xffffffff) return static_cast<std::uint32_t>(entry) - 1;
    if (entry == 0) return list.count;
  }
}

void Clusterer::insert(PathList& list, std::uint32_t path) {
  const std::uint64_t mask = (std::uint64_t{1} << list.index_bits) - 1;
  std::uint64_t at = format::spread(path) >> (64 - list.index_bits);
  while (list.index[at]) at = (at + 1) & mask;
  list.paths[list.count++] = path;
  list.index[at] = std::uint64_t{path} << 32 | list.count;
}

/// Room for `count` paths.
bool Clusterer::reserve(PathList& list, std::uint32_t count) {
  if (count <= list.capacity) return true;
  PathList next = list;
  next.count = 0;
  next.capacity = with_room(count);
  next.index_bits = static_cast<std::uint32_t>(std::bit_width(2 * next.capacity - 1));
  const std::size_t index_bytes = sizeof(std::uint64_t) << next.index_bits;
  next.paths = reinterpret_cast<std::uint32_t*>(heap_.allocate(next.capacity * sizeof(std::uint32_t)));
  next.index = reinterpret_cast<std::uint64_t*>(heap_.allocate(index_bytes));
  if (!next.paths || !next.index) {
    free_list(next);
    return false;
  }
  std::memset(next.index, 0, index_bytes);
  for (std::uint32_t i = 0; i < list.count; ++i) insert(next, list.paths[i]);
  free_list(list);
  list = next;
  return true;
}

void Clusterer::free_list(PathList& list) {
  heap_.free(reinterpret_cast<std::byte*>(list.paths), list.capacity * sizeof(std::uint32_t));
  heap_.free(reinterpret_cast<std::byte*>(list.index), sizeof(std::uint64_t) << list.index_bits);
}

// --- layouts ---------------------------------------------------------------------------------------------------------

/// The table that the class wants at this place of its clusters: widths, and the number of rows.
std::uint32_t Clusterer::wanted_layout(const PathClass& cls, std::size_t table, Widths& widths) const {
  const std::size_t s = table % shapes_;
  if (table >= shapes_) {
    std::memcpy(widths, cls.lists[s].widths, sizeof widths);
    return cls.lists[s].capacity;
  }
  std::memset(widths, 0, sizeof widths);
  for (unsigned c = 0; c < columns_[s]; ++c)
    if (cls.wide >> (flat_begin_[s] + c) & 1) widths[c] = full;
  return cls.parts[s].count;
}

/// Gives a cluster the layout of its class; also one that is young still. One table after the other, so that the place
/// of the old ones is of use at once. False: no memory; nothing is lost, the next attempt goes on.
bool Clusterer::follow(const PathClass& cls, Cluster& c) {
  if (c.layout == cls.layout) return true;
  const bool young = c.layout == 0;
  for (std::size_t t = 2 * shapes_; t-- > 0;) {  // from the last one on: what is longest leaves its place to others
    PackedTable& old = c.tables[t];
    Widths widths;
    const std::uint32_t rows = wanted_layout(cls, t, widths);
    const bool by_id = young && t >= shapes_ && old.columns != columns_[t % shapes_];
    if (!by_id && old.capacity == rows && std::memcmp(old.width, widths, sizeof widths) == 0) continue;
    PackedTable next;
    if (!next.allocate(heap_, columns_[t % shapes_], rows, widths)) return false;
    if (next.data) std::memset(next.data, 0, next.bytes());
    if (by_id) {
      for (std::uint32_t r = 0; r < old.rows; ++r) {
        const std::uint32_t row = position_in(cls.lists[t % shapes_], static_cast<std::uint32_t>(old.get(r, 0)));
        for (unsigned k = 0; k < next.columns; ++k) next.set(row, k, old.get(r, k + 1));
      }
      old.free(heap_);
    } else {
      next.take_over(heap_, old);
    }
    next.rows = rows;
    old = next;
  }
  c.layout = cls.layout;
  return true;
}

/// The layout of the class has changed. Clusters that there is no memory for follow when they are needed.
void Clusterer::changed_layout(PathClass& cls) {
  ++cls.layout;
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next)
    if (!follow(cls, clusters_[i])) return;
}

/// What a young class knows becomes its layout. Where memory does not suffice it stays young and tries again later.
void Clusterer::settle(PathClass& cls) {
  cls.settle_at *= 2;
  std::size_t bytes = 0;
  for (std::size_t s = 0; s < shapes_; ++s) bytes += std::size_t{cls.parts[s].count} * columns_[s] * full;
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next)
    for (std::size_t s = 0; s < shapes_; ++s)
      bytes = std::max(bytes, std::size_t{clusters_[i].tables[shapes_ + s].rows} * columns_[s] * full);
  if (bytes_in_use() + bytes * cls.clusters > memory_limit_) return;
  for (std::size_t s = 0; s < shapes_; ++s) {
    PackedTable& base = cls.parts[s].base;
    Widths widths = {};
    std::fill(widths, widths + columns_[s], full);
    PackedTable wide;
    if (cls.parts[s].count == 0) continue;
    if (!wide.allocate(heap_, columns_[s], base.rows, widths)) return;
    wide.take_over(heap_, base);
    base = wide;
  }
  cls.wide = cls.varies;
  if (!make_lists(cls)) return;
  cls.settled = true;
  changed_layout(cls);
}

/// Lists of all sampled paths of a young class.
bool Clusterer::make_lists(PathClass& cls) {
  const std::size_t bytes = shapes_ * sizeof(PathList);
  cls.lists = reinterpret_cast<PathList*>(heap_.allocate(bytes));
  if (!cls.lists) return false;
  std::memset(cls.lists, 0, bytes);
  bool enough = true;
  for (std::size_t s = 0; s < shapes_; ++s) {
    PathList& list = cls.lists[s];
    double largest[max_columns] = {};  // mean of an iteration
    for (std::uint32_t i = cls.head; i != none && enough; i = clusters_[i].next) {
      const PackedTable& table = clusters_[i].tables[shapes_ + s];
      for (std::uint32_t r = 0; r < table.rows && enough; ++r) {
        const auto path = static_cast<std::uint32_t>(table.get(r, 0));
        enough = position_in(list, path) != list.count || reserve(list, list.count + 1);
        if (enough && position_in(list, path) == list.count) insert(list, path);
        for (unsigned c = 0; c < columns_[s]; ++c) {
          const double mean = static_cast<double>(table.get(r, c + 1)) / static_cast<double>(clusters_[i].members);
          largest[c] = std::max(largest[c], mean < 0 ? -mean : mean);
        }
      }
    }
    for (unsigned c = 0; c < columns_[s]; ++c)
      list.widths[c] = largest[c] == 0 ? 0 : largest[c] * roomy < 0x1p31 ? narrow : full;
  }
  if (enough && rows_.reserve(total_capacity(cls))) return true;
  for (std::size_t s = 0; s < shapes_; ++s) free_list(cls.lists[s]);
  heap_.free(reinterpret_cast<std::byte*>(cls.lists), bytes);
  cls.lists = nullptr;
  return false;
}

std::size_t Clusterer::total_capacity(const PathClass& cls) const {
  std::size_t sum = 0;
  for (std::size_t s = 0; s < shapes_; ++s) sum += cls.lists[s].capacity;
  return sum;
}

// --- adding up -------------------------------------------------------------------------------------------------------

/// Positions of the newcomer's sampled paths, new ones too.
bool Clusterer::find_positions(PathClass& cls) {
  const std::uint32_t count = sparse_begin_[shapes_];
  if (found_.size() < count && !found_.resize(count)) return false;
  bool grown = false;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const std::uint32_t begin = sparse_begin_[s], end = sparse_begin_[s + 1];
    if (begin == end) continue;
    PathList& list = cls.lists[s];
    for (std::uint32_t e = begin; e < end; ++e) {
      const auto path = static_cast<std::uint32_t>(sparse_[e].path);
      found_[e] = position_in(list, path);
      if (found_[e] != list.count) [[likely]]
        continue;
      if (list.count == list.capacity) {
        if (!reserve(list, list.count + 1) || !rows_.reserve(total_capacity(cls))) return false;
        grown = true;
      }
      insert(list, path);
    }
  }
  if (grown) changed_layout(cls);
  return true;
}

/// Sees to it that adding the newcomer to `into`, or to a cluster to come, cannot fail, and finds its sampled paths.
bool Clusterer::stage_settled(PathClass& cls, Cluster* into) {
  if (delta_nonzero_ & ~cls.wide) {
    cls.wide |= delta_nonzero_;
    changed_layout(cls);
  }
  if (!find_positions(cls) || (into && !follow(cls, *into))) return false;
  bool widened = false;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const std::uint32_t begin = sparse_begin_[s], end = sparse_begin_[s + 1];
    if (begin == end) continue;
    for (unsigned c = 0; c < columns_[s]; ++c) {
      std::uint8_t& width = cls.lists[s].widths[c];
      if (width == full) continue;
      std::int64_t any = 0, too_large = 0;
      const auto look = [&](auto&& sum_at) {
        for (std::uint32_t e = begin; e < end; ++e) {
          const std::int64_t value = sparse_[e].values[c], sum = format::wrapping_sum(value, sum_at(found_[e]));
          any |= value;
          too_large |= sum ^ static_cast<std::int32_t>(sum);
        }
      };
      if (into && width) {
        const PackedTable& table = into->tables[shapes_ + s];
        const auto* sums = reinterpret_cast<const std::int32_t*>(table.data + table.offset(c));
        look([sums](std::uint32_t row) { return std::int64_t{sums[row]}; });
      } else {
        look([](std::uint32_t) { return std::int64_t{0}; });
      }
      if (!too_large && (width || !any)) continue;
      width = too_large ? full : narrow;
      widened = true;
    }
  }
  if (!widened) return true;
  changed_layout(cls);
  return !into || follow(cls, *into);
}

/// The same for one cluster that becomes part of another.
bool Clusterer::stage_settled(PathClass& cls, Cluster& into, Cluster& from) {
  if (!reserve_work(cls) || !follow(cls, into) || !follow(cls, from)) return false;
  bool widened = false;
  for (std::size_t s = 0; s < shapes_; ++s)
    for (unsigned c = 0; c < columns_[s]; ++c) {
      if (cls.lists[s].widths[c] != narrow) continue;
      const PackedTable &a = into.tables[shapes_ + s], &b = from.tables[shapes_ + s];
      std::int64_t too_large = 0;
      for (std::uint32_t r = 0; r < cls.lists[s].count; ++r) {
        const std::int64_t sum = a.get(r, c) + b.get(r, c);
        too_large |= sum ^ static_cast<std::int32_t>(sum);
      }
      if (!too_large) continue;
      cls.lists[s].widths[c] = full;
      widened = true;
    }
  if (!widened) return true;
  changed_layout(cls);
  return follow(cls, into) && follow(cls, from);
}

/// Empty tables for a cluster to come.
bool Clusterer::allocate_settled(const PathClass& cls, Cluster& c) {
  for (std::size_t t = 0; t < 2 * shapes_; ++t) {
    Widths widths;
    const std::uint32_t rows = wanted_layout(cls, t, widths);
    if (!c.tables[t].allocate(heap_, columns_[t % shapes_], rows, widths)) {
      for (std::size_t made = 0; made < t; ++made) c.tables[made].free(heap_);
      return false;
    }
    c.tables[t].rows = rows;
    if (c.tables[t].data) std::memset(c.tables[t].data, 0, c.tables[t].bytes());
  }
  c.layout = cls.layout;
  return true;
}

/// What the newcomer's key paths add to the sums.
void Clusterer::add_deltas(const PathClass& cls, Cluster& into) {
  using Two = std::uint64_t __attribute__((vector_size(16)));
  for (std::uint64_t left = delta_nonzero_; left; left &= left - 1) {
    const auto flat = static_cast<unsigned>(std::countr_zero(left));
    const PackedTable& table = into.tables[flat_[flat].shape];
    const std::uint32_t count = cls.parts[flat_[flat].shape].count;
    std::byte* sums = table.data + table.offset(flat_[flat].column);
    const auto* values = reinterpret_cast<const std::byte*>(deltas_.data() + delta_begin_[flat]);
    std::uint32_t i = 0;
    for (; i + 2 <= count; i += 2, sums += sizeof(Two), values += sizeof(Two)) {
      Two sum, value;
      std::memcpy(&sum, sums, sizeof sum);
      std::memcpy(&value, values, sizeof value);
      sum += value;
      std::memcpy(sums, &sum, sizeof sum);
    }
    if (i < count) {
      std::uint64_t sum, value;
      std::memcpy(&sum, sums, sizeof sum);
      std::memcpy(&value, values, sizeof value);
      sum += value;
      std::memcpy(sums, &sum, sizeof sum);
    }
  }
}

/// Sampled paths of the newcomer.
void Clusterer::commit_settled(Cluster& into) {
  for (std::size_t s = 0; s < shapes_; ++s) {
    const std::uint32_t begin = sparse_begin_[s], end = sparse_begin_[s + 1];
    if (begin == end) continue;
    const PackedTable& table = into.tables[shapes_ + s];
    for (unsigned c = 0; c < table.columns; ++c) {
      std::byte* column = table.data + table.offset(c);
      if (table.width[c] == full)
        for (std::uint32_t e = begin; e < end; ++e) {
          std::int64_t& sum = reinterpret_cast<std::int64_t*>(column)[found_[e]];
          sum = format::wrapping_sum(sum, sparse_[e].values[c]);
        }
      else if (table.width[c] == narrow)
        for (std::uint32_t e = begin; e < end; ++e)
          reinterpret_cast<std::int32_t*>(column)[found_[e]] += static_cast<std::int32_t>(sparse_[e].values[c]);
    }
  }
}

/// Sampled paths of another cluster.
void Clusterer::commit_settled(const PathClass& cls, Cluster& into, const Cluster& from) {
  for (std::size_t s = 0; s < shapes_; ++s) {
    PackedTable& a = into.tables[shapes_ + s];
    const PackedTable& b = from.tables[shapes_ + s];
    for (unsigned c = 0; c < columns_[s]; ++c)
      for (std::uint32_t r = 0; a.width[c] && r < cls.lists[s].count; ++r)
        a.set(r, c, format::wrapping_sum(a.get(r, c), b.get(r, c)));
  }
}

/// Lists the sampled rows of a cluster that are not zero; their number.
std::uint32_t Clusterer::list_rows(std::uint32_t slot) const {
  if (rows_of_ == slot) return row_begin_[shapes_];
  const Cluster& c = clusters_[slot];
  rows_.clear();
  for (std::size_t s = 0; s < shapes_; ++s) {
    row_begin_[s] = static_cast<std::uint32_t>(rows_.size());
    const PackedTable& table = c.tables[shapes_ + s];
    for (std::uint32_t r = 0; r < classes_[c.cls].lists[s].count; ++r) {
      bool any = false;
      for (unsigned k = 0; k < columns_[s]; ++k) any |= table.get(r, k) != 0;
      if (any) (void)rows_.push_back(r);
    }
  }
  row_begin_[shapes_] = static_cast<std::uint32_t>(rows_.size());
  rows_of_ = slot;
  return row_begin_[shapes_];
}

}  // namespace refrain::clustering::former
