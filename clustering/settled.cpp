// Settled classes: full width, and room for every known call path in every cluster. Absorbing an iteration takes no
// memory then, and needs no look at what fits, but for the narrow columns of sampled paths.
#include <algorithm>
#include <bit>
#include <cstring>

#include "clustering/clusterer.hpp"
#include "clustering/hashing.hpp"

namespace refrain::clustering {

namespace {

constexpr std::uint8_t narrow = 4, full = 8;

/// Members of a cluster that sums are given room for before they have to be widened.
constexpr double roomy = 1 << 20;

/// Rows, with room for some that are not known yet.
std::uint32_t with_room(std::uint32_t rows) { return (rows + rows / 8 + 15) & ~std::uint32_t{7}; }

bool fits(std::int64_t value) { return value == static_cast<std::int32_t>(value); }

std::int64_t added(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

// --- lists of paths --------------------------------------------------------------------------------------------------

/// Position of a path, or the list's count.
std::uint32_t Clusterer::position_in(const PathList& list, std::uint32_t path) {
  if (list.capacity == 0) return list.count;
  const std::uint64_t mask = (std::uint64_t{1} << list.index_bits) - 1;
  for (std::uint64_t at = spread(path) >> (64 - list.index_bits);; at = (at + 1) & mask) {
    const std::uint64_t entry = list.index[at];
    if (entry >> 32 == path && entry & 0xffffffff) return static_cast<std::uint32_t>(entry) - 1;
    if (entry == 0) return list.count;
  }
}

void Clusterer::insert(PathList& list, std::uint32_t path) {
  const std::uint64_t mask = (std::uint64_t{1} << list.index_bits) - 1;
  std::uint64_t at = spread(path) >> (64 - list.index_bits);
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

/// Gives table number `table` of all clusters of the class another layout. All of them or none.
bool Clusterer::rebuild(PathClass& cls, std::size_t table, std::uint32_t rows, const Widths& widths) {
  if (!rebuilt_.resize(cls.clusters)) return false;
  for (std::uint32_t n = 0; n < cls.clusters; ++n)
    if (!rebuilt_[n].allocate(heap_, columns_[table % shapes_], rows, widths)) {
      do rebuilt_[n].free(heap_);
      while (n-- > 0);
      return false;
    }
  const PackedTable* next = rebuilt_.data();
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next) {
    PackedTable& old = clusters_[i].tables[table];
    PackedTable copy = *next++;
    if (copy.data) std::memset(copy.data, 0, copy.bytes());
    copy.take_over(heap_, old);
    copy.rows = rows;
    old = copy;
  }
  return true;
}

/// Full width for these flat columns of key paths.
bool Clusterer::widen_dense(PathClass& cls, std::uint64_t flats) {
  for (std::size_t s = 0; s < shapes_; ++s) {
    if (cls.parts[s].count == 0) continue;
    Widths widths = {};
    std::uint64_t fresh = 0;
    for (unsigned c = 0; c < columns_[s]; ++c) {
      const std::uint64_t flat = std::uint64_t{1} << (flat_begin_[s] + c);
      if ((cls.wide | flats) & flat) widths[c] = full;
      fresh |= flats & ~cls.wide & flat;
    }
    if (!fresh) continue;
    if (!rebuild(cls, s, cls.parts[s].count, widths)) return false;
    cls.wide |= fresh;
  }
  return true;
}

/// Room for `count` sampled paths in the class and all of its clusters.
bool Clusterer::resize_list(PathClass& cls, std::size_t shape, std::uint32_t count) {
  PathList& list = cls.lists[shape];
  if (count <= list.capacity) return true;
  if (!rebuild(cls, shapes_ + shape, with_room(count), list.widths)) return false;
  // Tables with more room than the list says do no harm, should there be no memory for the list.
  return reserve(list, count) && rows_.reserve(total_capacity(cls));
}

std::size_t Clusterer::total_capacity(const PathClass& cls) const {
  std::size_t sum = 0;
  for (std::size_t s = 0; s < shapes_; ++s) sum += cls.lists[s].capacity;
  return sum;
}

/// Another width for a column of sampled paths.
bool Clusterer::widen_list(PathClass& cls, std::size_t shape, unsigned column, std::uint8_t width) {
  PathList& list = cls.lists[shape];
  Widths widths;
  std::memcpy(widths, list.widths, sizeof widths);
  widths[column] = width;
  if (!rebuild(cls, shapes_ + shape, list.capacity, widths)) return false;
  std::memcpy(list.widths, widths, sizeof widths);
  return true;
}

/// The lists of a class that is still young, and tables that follow them.
bool Clusterer::settle_lists(PathClass& cls) {
  const std::size_t bytes = shapes_ * sizeof(PathList);
  auto* lists = reinterpret_cast<PathList*>(heap_.allocate(bytes));
  if (!lists) return false;
  std::memset(lists, 0, bytes);
  bool enough = true;
  for (std::size_t s = 0; s < shapes_; ++s) {
    PathList& list = lists[s];
    double largest[max_columns] = {};  // mean of an iteration
    for (std::uint32_t i = cls.head; i != none && enough; i = clusters_[i].next) {
      const PackedTable& table = clusters_[i].tables[shapes_ + s];
      for (std::uint32_t r = 0; r < table.rows && enough; ++r) {
        const auto path = static_cast<std::uint32_t>(table.get(r, 0));
        if (position_in(list, path) != list.count) continue;
        enough = reserve(list, list.count + 1);
        if (enough) insert(list, path);
      }
      for (unsigned c = 0; c < columns_[s]; ++c)
        for (std::uint32_t r = 0; r < table.rows; ++r) {
          const double mean =
              static_cast<double>(table.get(r, c + 1)) / static_cast<double>(clusters_[i].members);
          largest[c] = std::max(largest[c], mean < 0 ? -mean : mean);
        }
    }
    for (unsigned c = 0; c < columns_[s]; ++c)
      list.widths[c] = largest[c] == 0 ? 0 : largest[c] * roomy < 0x1p31 ? narrow : full;
  }
  cls.lists = lists;
  enough = enough && rows_.reserve(total_capacity(cls)) && rebuilt_.resize(shapes_ * cls.clusters);
  std::uint32_t made = 0;
  for (std::uint32_t i = cls.head; i != none && enough; i = clusters_[i].next)
    for (std::size_t s = 0; s < shapes_ && enough; ++s, ++made)
      enough = rebuilt_[made].allocate(heap_, columns_[s], lists[s].capacity, lists[s].widths);
  if (!enough) {
    for (std::uint32_t n = 0; n < made; ++n) rebuilt_[n].free(heap_);
    for (std::size_t s = 0; s < shapes_; ++s) free_list(lists[s]);
    heap_.free(reinterpret_cast<std::byte*>(lists), bytes);
    cls.lists = nullptr;
    return false;
  }
  PackedTable* next = rebuilt_.data();
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next)
    for (std::size_t s = 0; s < shapes_; ++s, ++next) {
      PackedTable& old = clusters_[i].tables[shapes_ + s];
      if (next->data) std::memset(next->data, 0, next->bytes());
      next->rows = lists[s].capacity;
      for (std::uint32_t r = 0; r < old.rows; ++r) {
        const std::uint32_t row = position_in(lists[s], static_cast<std::uint32_t>(old.get(r, 0)));
        for (unsigned c = 0; c < columns_[s]; ++c) next->set(row, c, old.get(r, c + 1));
      }
      old.free(heap_);
      old = *next;
    }
  return true;
}

/// Makes a young class a settled one. Where memory does not suffice it stays young and tries again later.
void Clusterer::settle(PathClass& cls) {
  cls.settle_at *= 2;
  std::size_t bytes = 0;
  for (std::size_t s = 0; s < shapes_; ++s) bytes += std::size_t{cls.parts[s].count} * columns_[s] * full;
  for (std::uint32_t i = cls.head; i != none; i = clusters_[i].next)
    for (std::size_t s = 0; s < shapes_; ++s)
      bytes = std::max(bytes, std::size_t{clusters_[i].tables[shapes_ + s].rows} * columns_[s] * full);
  if (bytes_in_use() + bytes * cls.clusters > memory_limit_) return;
  if (!widen_dense(cls, cls.varies)) return;
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
  cls.settled = settle_lists(cls);
}

// --- adding up -------------------------------------------------------------------------------------------------------

/// Sees to it that adding the newcomer to `into`, or to an empty cluster, cannot fail, and finds its sampled paths.
bool Clusterer::stage_settled(PathClass& cls, const Cluster* into) {
  if (delta_nonzero_ & ~cls.wide && !widen_dense(cls, delta_nonzero_)) return false;
  const std::uint32_t count = sparse_begin_[shapes_];
  if (found_.size() < count && !found_.resize(count)) return false;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const std::uint32_t begin = sparse_begin_[s], end = sparse_begin_[s + 1];
    if (begin == end) continue;
    PathList& list = cls.lists[s];
    for (std::uint32_t e = begin; e < end; ++e) {
      const auto path = static_cast<std::uint32_t>(sparse_[e].path);
      found_[e] = position_in(list, path);
      if (found_[e] != list.count) continue;
      if (!resize_list(cls, s, list.count + 1)) return false;
      insert(list, path);
    }
    for (unsigned c = 0; c < columns_[s]; ++c) {
      if (list.widths[c] == full) continue;
      bool any = false, all_fit = true;
      const auto* sums =
          into && list.widths[c]
              ? reinterpret_cast<const std::int32_t*>(into->tables[shapes_ + s].data + into->tables[shapes_ + s].offset(c))
              : nullptr;
      for (std::uint32_t e = begin; e < end; ++e) {
        const std::int64_t value = sparse_[e].values[c];
        any |= value != 0;
        all_fit &= fits(added(value, sums ? sums[found_[e]] : 0));
      }
      if ((any && list.widths[c] == 0) || !all_fit)
        if (!widen_list(cls, s, c, all_fit ? narrow : full)) return false;
    }
  }
  return true;
}

/// The same for one cluster that becomes part of another.
bool Clusterer::stage_settled(PathClass& cls, const Cluster& into, const Cluster& from) {
  if (!reserve_work(cls)) return false;
  for (std::size_t s = 0; s < shapes_; ++s)
    for (unsigned c = 0; c < columns_[s]; ++c) {
      if (cls.lists[s].widths[c] != narrow) continue;
      const PackedTable &a = into.tables[shapes_ + s], &b = from.tables[shapes_ + s];
      bool all_fit = true;
      for (std::uint32_t r = 0; r < cls.lists[s].count; ++r) all_fit &= fits(added(a.get(r, c), b.get(r, c)));
      if (!all_fit && !widen_list(cls, s, c, full)) return false;
    }
  return true;
}

/// Empty tables for a cluster that is not in the class's list yet.
bool Clusterer::allocate_settled(const PathClass& cls, Cluster& c) {
  for (std::size_t t = 0; t < 2 * shapes_; ++t) {
    const std::size_t s = t % shapes_;
    Widths widths = {};
    if (t < shapes_)
      for (unsigned k = 0; k < columns_[s]; ++k) widths[k] = cls.wide >> (flat_begin_[s] + k) & 1 ? full : 0;
    else std::memcpy(widths, cls.lists[s].widths, sizeof widths);
    const std::uint32_t rows = t < shapes_ ? cls.parts[s].count : cls.lists[s].capacity;
    if (!c.tables[t].allocate(heap_, columns_[s], rows, widths)) {
      for (std::size_t made = 0; made < t; ++made) c.tables[made].free(heap_);
      return false;
    }
    c.tables[t].rows = rows;
    if (c.tables[t].data) std::memset(c.tables[t].data, 0, c.tables[t].bytes());
  }
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
          sum = added(sum, sparse_[e].values[c]);
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
        a.set(r, c, added(a.get(r, c), b.get(r, c)));
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

}  // namespace refrain::clustering
