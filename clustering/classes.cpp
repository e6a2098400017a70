// The classes of iterations: which call paths each has, and what an iteration is in the terms of its class.
#include <algorithm>
#include <bit>
#include <cstring>

#include "clustering/clusterer.hpp"
#include "format/bytes.hpp"
#include "format/hashing.hpp"

namespace refrain::clustering {

namespace {

using Two = std::int64_t __attribute__((vector_size(16)));
using FourInts = std::int32_t __attribute__((vector_size(16)));
using FourFloats = float __attribute__((vector_size(16)));

template <class Vector, class T>
inline Vector vector_at(const T* from) {
  Vector out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
template <class Vector, class T>
inline void store(T* to, const Vector& value) {
  std::memcpy(to, &value, sizeof value);
}

struct AnyBits {
  std::uint64_t first, second;
};

/// Two neighbouring columns of rows that lie anywhere, less their bases, column by column.
AnyBits subtract_pair(const std::int64_t* const* rows, std::uint32_t count, unsigned column, const std::int64_t* base_a,
                      const std::int64_t* base_b, std::int64_t* out_a, std::int64_t* out_b) {
  Two any_a = {0, 0}, any_b = {0, 0};
  std::uint32_t i = 0;
  for (; i + 2 <= count; i += 2) {
    const Two above = vector_at<Two>(rows[i] + column), below = vector_at<Two>(rows[i + 1] + column);
    const Two a = __builtin_shuffle(above, below, Two{0, 2}) - vector_at<Two>(base_a + i);
    const Two b = __builtin_shuffle(above, below, Two{1, 3}) - vector_at<Two>(base_b + i);
    any_a |= a;
    any_b |= b;
    store(out_a + i, a);
    store(out_b + i, b);
  }
  AnyBits any{static_cast<std::uint64_t>(any_a[0] | any_a[1]), static_cast<std::uint64_t>(any_b[0] | any_b[1])};
  if (i < count) {
    const auto difference = [](std::int64_t x, std::int64_t y) {
      return static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y);
    };
    const std::uint64_t a = difference(rows[i][column], base_a[i]), b = difference(rows[i][column + 1], base_b[i]);
    out_a[i] = static_cast<std::int64_t>(a);
    out_b[i] = static_cast<std::int64_t>(b);
    any.first |= a;
    any.second |= b;
  }
  return any;
}

/// Values as floats, multiplied with signs and added up in four sums. `count` is a multiple of four.
FourFloats sum_with_signs(const std::int64_t* values, std::uint32_t count, const float* signs) {
  FourFloats sum = {0, 0, 0, 0};
  FourInts too_large = {0, 0, 0, 0};
  for (std::uint32_t i = 0; i < count; i += 4) {
    const auto a = vector_at<FourInts>(values + i), b = vector_at<FourInts>(values + i + 2);
    const FourInts low = __builtin_shuffle(a, b, FourInts{0, 2, 4, 6});
    const FourInts high = __builtin_shuffle(a, b, FourInts{1, 3, 5, 7});
    too_large |= high ^ (low >> 31);
    const FourFloats value = __builtin_convertvector(low, FourFloats);
    sum += vector_at<FourFloats>(signs + i) * value;
  }
  const auto any = vector_at<Two>(&too_large);
  if ((any[0] | any[1]) == 0) return sum;
  sum = FourFloats{0, 0, 0, 0};
  for (std::uint32_t i = 0; i < count; ++i) sum[i & 3] += signs[i] * static_cast<float>(values[i]);
  return sum;
}

constexpr std::uint32_t padded(std::uint32_t count) { return (count + 3U) & ~3U; }

}  // namespace

std::uint64_t Clusterer::hash_of(const IterationProfile& profile) const {
  std::uint64_t hash = 0;  // a sum: the order of first touch does not matter
  for (const TouchedPath& t : profile.paths) {
    if (!is_key(t)) continue;
    std::uint64_t item = format::mixed(static_cast<std::uint64_t>(t.path) << 8 | t.shape);
    if (equivalence_ == Equivalence::MpiVisits && visits_[t.shape] != no_column)
      item = format::mixed(item ^ static_cast<std::uint64_t>(t.values[visits_[t.shape]]));
    hash += item;
  }
  return hash & hash_mask_;
}

bool Clusterer::matches(const PathClass& cls, const IterationProfile& profile) {
  if (cls.overflow) return false;
  const ClassBlock& block = cls.block;
  if (!key_values_.resize(block.key_paths())) return false;
  const std::int64_t** values = key_values_.data();
  for (std::uint32_t i = 0; i < block.key_paths(); ++i) values[i] = nullptr;
  std::uint32_t expected[max_shapes] = {};  // the paths mostly come in the order in which they came first
  std::uint32_t matched = 0;
  for (const TouchedPath& t : profile.paths) {
    if (!is_key(t)) continue;
    const std::uint32_t *paths = blocks_.paths(block, t.shape), count = block.count(t.shape);
    const auto path = static_cast<std::uint32_t>(t.path);
    std::uint32_t position = expected[t.shape];
    if (position >= count || paths[position] != path) {
      const std::uint32_t *begin = blocks_.by_path(block, t.shape), *end = begin + count;
      const std::uint32_t* found =
          std::lower_bound(begin, end, path, [&](std::uint32_t i, std::uint32_t p) { return paths[i] < p; });
      if (found == end || paths[*found] != path) return false;
      position = *found;
    }
    expected[t.shape] = position + 1;
    const std::int64_t*& place = values[block.first[t.shape] + position];
    if (place) return false;
    place = t.values;
    ++matched;
    if (equivalence_ == Equivalence::MpiVisits && visits_[t.shape] != no_column &&
        t.values[visits_[t.shape]] != blocks_.base(block, t.shape)[visits_[t.shape] * count + position])
      return false;
  }
  return matched == block.key_paths();
}

/// The same for the common case, that key paths come in the order in which they came first; false says nothing. Checks
/// the profile and lists the paths that are not in the key on the way.
bool Clusterer::matches_in_order(const PathClass& cls, const IterationProfile& profile) {
  if (cls.overflow || equivalence_ == Equivalence::MpiVisits || profile.overall.size() != metrics_) return false;
  const ClassBlock& block = cls.block;
  if (key_values_.size() < block.key_paths() && !key_values_.resize(block.key_paths())) return false;
  if (sparse_.size() < profile.paths.size() && !sparse_.resize(profile.paths.size())) return false;
  TouchedPath* sparse = sparse_.data();
  const std::int64_t** values = nullptr;
  const std::uint32_t *expected = nullptr, *end = nullptr;  // of the shape in hand
  const std::uint32_t* next[max_shapes] = {};
  std::uint32_t matched = 0, seen = 0;
  std::size_t current = max_shapes;
  for (const TouchedPath& t : profile.paths) {
    if (t.shape >= shapes_) return false;
    if (!key_shape_[t.shape]) {
      *sparse++ = t;
      seen |= 1U << t.shape;
      continue;
    }
    if (t.shape != current) {
      if (current < max_shapes) next[current] = expected;
      current = t.shape;
      const std::uint32_t* paths = blocks_.paths(block, current);
      expected = next[current] ? next[current] : paths;
      end = paths + block.count(current);
      values = key_values_.data() + block.first[current] + (expected - paths);
    }
    if (expected == end || *expected != static_cast<std::uint32_t>(t.path)) return false;
    ++expected;
    *values++ = t.values;
    ++matched;
  }
  if (matched != block.key_paths()) return false;
  if ((seen & (seen - 1)) == 0) {
    const auto count = static_cast<std::uint32_t>(sparse - sparse_.data());
    for (std::size_t s = 0; s <= shapes_; ++s) sparse_begin_[s] = seen >> s ? 0 : count;
    sparse_listed_ = true;
  }
  return true;
}

std::uint32_t Clusterer::find_class(const IterationProfile& profile, std::uint64_t& hash) {
  if (last_class_ != none && matches(classes_[last_class_], profile)) return last_class_;
  hash = hash_of(profile);
  if (class_lists_.empty()) return none;
  for (std::uint32_t c = class_list(hash); c != none; c = classes_[c].next_of_hash)
    if (classes_[c].hash == hash && c != last_class_ && matches(classes_[c], profile)) return last_class_ = c;
  return none;
}

/// Room for one more, with a list for each class. False: no memory.
bool Clusterer::reserve_class() {
  if (!classes_.reserve(classes_.size() + 1)) return false;
  if (classes_.size() < class_lists_.size()) return true;
  constexpr std::size_t first_lists = 64;
  if (!class_lists_.resize(class_lists_.empty() ? first_lists : 2 * class_lists_.size())) return false;
  for (std::uint32_t& first : class_lists_) first = none;
  for (std::uint32_t c = 0; c < classes_.size(); ++c) {
    std::uint32_t& first = class_list(classes_[c].hash);
    classes_[c].next_of_hash = first;
    first = c;
  }
  return true;
}

/// The block that a new class of this iteration needs.
ClassBlock Clusterer::block_for(const IterationProfile& profile, bool overflow) const {
  ClassBlock block{};
  std::uint32_t count[max_shapes] = {};
  for (const TouchedPath& t : profile.paths) {
    if (is_key(t) && !overflow) {
      ++count[t.shape];
      continue;
    }
    ++block.rooms.listed;
    block.rooms.sampled += columns_[t.shape];
  }
  for (std::size_t s = 0; s < max_shapes; ++s) block.first[s + 1] = block.first[s] + count[s];
  block.rooms.clusters = 1;
  return block;
}

std::size_t Clusterer::bytes_of_new_class(const IterationProfile& profile) const {
  return sizeof(PathClass) + sizeof(Cluster) + statistics_bytes() + 2 * sketch_dims_ * sizeof(float) +
         blocks_.bytes_of(block_for(profile, false));
}

/// The key paths of a shape and their values. False: a path comes twice.
bool Clusterer::fill_key(const ClassBlock& block, const IterationProfile& profile, std::uint8_t shape) {
  std::uint32_t *paths = blocks_.paths(block, shape), *by_path = blocks_.by_path(block, shape);
  const std::uint32_t count = block.count(shape);
  std::int64_t* base = blocks_.base(block, shape);
  std::uint32_t n = 0;
  for (const TouchedPath& t : profile.paths) {
    if (t.shape != shape || n == count) continue;
    paths[n] = static_cast<std::uint32_t>(t.path);
    by_path[n] = n;
    for (unsigned c = 0; c < columns_[shape]; ++c) base[c * count + n] = t.values[c];
    ++n;
  }
  std::sort(by_path, by_path + n, [&](std::uint32_t a, std::uint32_t b) { return paths[a] < paths[b]; });
  for (std::uint32_t i = 1; i < n; ++i)
    if (paths[by_path[i]] == paths[by_path[i - 1]]) return false;
  return true;
}

std::uint32_t Clusterer::make_class(const IterationProfile& profile, std::uint64_t hash, bool overflow, Error& error) {
  error = Error::NoMemory;
  const auto index = static_cast<std::uint32_t>(classes_.size());
  PathClass cls{};
  cls.hash = hash;
  cls.overflow = overflow;
  cls.head = none;
  cls.block = block_for(profile, overflow);
  if (!reserve_class() || !rows_.reserve(cls.block.rooms.listed) || !blocks_.make(cls.block, index)) return none;
  bool complete = true;
  for (std::size_t s = 0; s < shapes_; ++s)
    complete = complete && fill_key(cls.block, profile, static_cast<std::uint8_t>(s));
  if (!complete) error = Error::BadProfile;
  if (!complete || !(overflow || matches(cls, profile))) {
    blocks_.free(cls.block);
    return none;
  }
  error = Error::None;
  std::uint32_t& first = class_list(hash);
  cls.next_of_hash = first;
  first = index;
  (void)classes_.push_back(cls);
  if (overflow) overflow_class_ = index;
  else last_class_ = index;
  return index;
}

/// The class of iterations that there is no room for, made when it is first needed. none: no memory.
std::uint32_t Clusterer::overflow_class(const IterationProfile& profile) {
  Error error = Error::None;
  return overflow_class_ != none ? overflow_class_ : make_class(profile, 0, true, error);
}

/// Paths that are not in the class's key, shape after shape.
bool Clusterer::list_sparse(const PathClass& cls, const IterationProfile& profile) {
  // Room for one more than there are paths: each is written first and counted then.
  if (sparse_.size() <= profile.paths.size() && !sparse_.resize(profile.paths.size() + 1)) return false;
  TouchedPath* sparse = sparse_.data();
  std::uint32_t count = 0;
  for (std::size_t s = 0; s < shapes_; ++s) {
    sparse_begin_[s] = count;
    if (is_key_shape(cls, s)) continue;
    for (const TouchedPath& t : profile.paths) {
      sparse[count] = t;
      count += t.shape == s;
    }
  }
  sparse_begin_[shapes_] = count;
  return true;
}

/// Where the deltas of each column lie. What pads them stays zero until another class needs the place.
bool Clusterer::lay_out_deltas(const PathClass& cls) {
  const auto index = static_cast<std::uint32_t>(&cls - classes_.data());
  if (delta_class_ == index) return true;
  std::size_t values = 0, longest = 0;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const std::size_t length = padded(cls.block.count(s));
    longest = std::max(longest, length);
    for (unsigned c = 0; c < columns_[s]; ++c, values += length)
      delta_begin_[flat_begin_[s] + c] = static_cast<std::uint32_t>(values);
  }
  std::size_t i = signs_.size();
  delta_class_ = none;
  if ((deltas_.size() < values && !deltas_.resize(values)) || (i < longest && !signs_.resize(longest))) return false;
  for (; i < longest; ++i) signs_[i] = format::mixed(i) & 1 ? 1.0F : -1.0F;
  if (values) std::memset(deltas_.data(), 0, values * sizeof(std::int64_t));
  delta_class_ = index;
  return true;
}

/// Values of key paths, less those of the class's first iteration.
bool Clusterer::subtract_bases(const PathClass& cls) {
  if (!lay_out_deltas(cls)) return false;
  delta_nonzero_ = 0;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const std::uint32_t count = cls.block.count(s);
    if (count == 0) continue;
    const std::size_t length = padded(count);
    std::int64_t* out = deltas_.data() + delta_begin_[flat_begin_[s]];
    const std::int64_t* base = blocks_.base(cls.block, s);
    const std::int64_t* const* rows = key_values_.data() + cls.block.first[s];
    std::uint64_t nonzero = 0;
    unsigned c = 0;
    for (; c + 2U <= columns_[s]; c += 2, out += 2 * length, base += 2 * std::size_t{count}) {
      const AnyBits any = subtract_pair(rows, count, c, base, base + count, out, out + length);
      nonzero |= (std::uint64_t{any.first != 0} | std::uint64_t{any.second != 0} << 1) << c;
    }
    std::uint64_t any = 0;
    for (std::uint32_t i = 0; c < columns_[s] && i < count; ++i) {  // an odd column
      out[i] = format::wrapping_difference(rows[i][c], base[i]);
      any |= static_cast<std::uint64_t>(out[i]);
    }
    nonzero |= std::uint64_t{any != 0} << c;
    delta_nonzero_ |= nonzero << flat_begin_[s];
  }
  return true;
}

/// What the iteration in hand is in the terms of its class.
bool Clusterer::prepare_newcomer(PathClass& cls, const IterationProfile& profile) {
  learning_ = cls.adds < eager_learning || cls.adds % learning_stride == 0;
  if (!subtract_bases(cls) || (!sparse_listed_ && !list_sparse(cls, profile)) || !find_places(cls)) return false;
  float* mean = mean_of(newcomer_);
  for (std::size_t m = 0; m < stride_; m += lanes)
    for (std::size_t i = 0; i < lanes; ++i) mean[m + i] = static_cast<float>(newcomer_overall_[m + i]);
  sketch_newcomer(cls);
  return true;
}

/// Adds the values of many call paths up in few sums with random signs, per column: distances between such sketches are
/// in expectation those between the full vectors (Charikar, Chen, Farach-Colton: Finding frequent items in data
/// streams).
void Clusterer::sketch_newcomer(PathClass& cls) {
  std::uint64_t sketched = delta_nonzero_ & all_sketched_;
  for (std::size_t s = 0; s < shapes_; ++s)
    if (sparse_begin_[s] != sparse_begin_[s + 1]) sketched |= flats_of(s) & all_sketched_;
  for (std::uint64_t left = sketched & ~cls.in_order; left; left &= left - 1)
    to_order(cls, static_cast<unsigned>(std::countr_zero(left)));
  for (std::uint8_t o = 0; o < cls.order_count; ++o)
    store(newcomer_sketch_ + cls.order[o] * lanes, FourFloats{0, 0, 0, 0});
  for (std::uint64_t left = delta_nonzero_ & all_sketched_; left; left &= left - 1) {
    const auto f = static_cast<unsigned>(std::countr_zero(left));
    const std::uint32_t count = padded(cls.block.count(flat_[f].shape));
    store(newcomer_sketch_ + flat_[f].sketch_begin,
          sum_with_signs(deltas_.data() + delta_begin_[f], count, signs_.data()));
  }
  const double noise_weight = cls.adds >= eager_learning ? learning_stride : 1;
  if (learning_) noise_weight_ += noise_weight;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const TouchedPath *begin = sparse_.data() + sparse_begin_[s], *end = sparse_.data() + sparse_begin_[s + 1];
    if (begin == end) continue;
    const std::uint8_t visits = exact_[s] ? no_column : visits_[s];
    for (unsigned c = 0; c < columns_[s]; ++c) {
      const unsigned f = flat_begin_[s] + c;
      if (!flat_[f].sketched) continue;
      float* out = newcomer_sketch_ + flat_[f].sketch_begin;
      for (const TouchedPath* t = begin; t != end; ++t) {
        const std::uint64_t hash = format::spread(static_cast<std::uint32_t>(t->path));
        const auto value = static_cast<float>(t->values[c]);
        const std::uint32_t sign = static_cast<std::uint32_t>(~hash >> 32) & 0x80000000U;  // highest bit 0: negative
        out[hash >> 40 & (lanes - 1)] += std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ sign);
      }
      if (exact_[s] || !learning_) continue;
      double noise = 0;
      for (const TouchedPath* t = begin; t != end; ++t) {
        const auto value = static_cast<float>(t->values[c]);
        const std::int64_t samples = visits != no_column ? t->values[visits] : 1;
        noise += samples > 1 ? static_cast<double>(value * value * (1.0F / static_cast<float>(samples)))
                             : static_cast<double>(value * value);
      }
      sampling_noise_[f] += noise_weight * noise;
    }
  }
}

}  // namespace refrain::clustering
