// The classes of iterations: which call paths each has, and what an iteration is in the terms of its class.
#include <algorithm>
#include <bit>
#include <cstring>

#include "format/hashing.hpp"
#include "tests/unit/clustering/former/clusterer.hpp"

namespace refrain::clustering::former {

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

/// Values as floats, multiplied with signs and added up in four sums; with `keep`, in `floats` as they are, too.
/// `count` is a multiple of four.
template <bool keep>
FourFloats sum_with_signs(const std::int64_t* values, std::uint32_t count, const float* signs, float* floats) {
  FourFloats sum = {0, 0, 0, 0};
  FourInts too_large = {0, 0, 0, 0};
  for (std::uint32_t i = 0; i < count; i += 4) {
    const auto a = vector_at<FourInts>(values + i), b = vector_at<FourInts>(values + i + 2);
    const FourInts low = __builtin_shuffle(a, b, FourInts{0, 2, 4, 6});
    const FourInts high = __builtin_shuffle(a, b, FourInts{1, 3, 5, 7});
    too_large |= high ^ (low >> 31);
    const FourFloats value = __builtin_convertvector(low, FourFloats);
    if (keep) store(floats + i, value);
    sum += vector_at<FourFloats>(signs + i) * value;
  }
  const auto any = vector_at<Two>(&too_large);
  if ((any[0] | any[1]) == 0) return sum;
  sum = FourFloats{0, 0, 0, 0};
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(values[i]);
    if (keep) floats[i] = value;
    sum[i & 3] += signs[i] * value;
  }
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
  if (!key_values_.resize(cls.key_paths)) return false;
  const std::int64_t** values = key_values_.data();
  for (std::uint32_t i = 0; i < cls.key_paths; ++i) values[i] = nullptr;
  std::uint32_t expected[max_shapes] = {};  // the paths mostly come in the order in which they came first
  std::uint32_t matched = 0;
  for (const TouchedPath& t : profile.paths) {
    if (!is_key(t)) continue;
    const Part& part = cls.parts[t.shape];
    const auto path = static_cast<std::uint32_t>(t.path);
    std::uint32_t position = expected[t.shape];
    if (position >= part.count || part.paths[position] != path) {
      const std::uint32_t* found =
          std::lower_bound(part.by_path, part.by_path + part.count, path,
                           [&](std::uint32_t i, std::uint32_t p) { return part.paths[i] < p; });
      if (found == part.by_path + part.count || part.paths[*found] != path) return false;
      position = *found;
    }
    expected[t.shape] = position + 1;
    if (values[part.first + position]) return false;
    values[part.first + position] = t.values;
    ++matched;
    if (equivalence_ == Equivalence::MpiVisits && visits_[t.shape] != no_column &&
        t.values[visits_[t.shape]] != part.base.get(position, visits_[t.shape]))
      return false;
  }
  return matched == cls.key_paths;
}

/// The same for the common case, that key paths come in the order in which they came first; false says nothing. Checks
/// the profile and lists the paths that are not in the key on the way.
bool Clusterer::matches_in_order(const PathClass& cls, const IterationProfile& profile) {
  if (cls.overflow || equivalence_ == Equivalence::MpiVisits || profile.overall.size() != metrics_) return false;
  if (key_values_.size() < cls.key_paths && !key_values_.resize(cls.key_paths)) return false;
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
      const Part& part = cls.parts[current];
      expected = next[current] ? next[current] : part.paths;
      end = part.paths + part.count;
      values = key_values_.data() + part.first + (expected - part.paths);
    }
    if (expected == end || *expected != static_cast<std::uint32_t>(t.path)) return false;
    ++expected;
    *values++ = t.values;
    ++matched;
  }
  if (matched != cls.key_paths) return false;
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

std::size_t Clusterer::bytes_of_new_class(const IterationProfile& profile) const {
  std::size_t bytes = sizeof(PathClass) + sizeof(Cluster) + statistics_bytes() + 2 * sketch_dims_ * sizeof(float);
  for (const TouchedPath& t : profile.paths) {
    bytes += 2 * sizeof(std::uint32_t);
    for (unsigned c = 0; c < columns_[t.shape]; ++c) bytes += width_of(t.values[c]);
  }
  return bytes;
}

bool Clusterer::fill_part(Part& part, const IterationProfile& profile, std::uint8_t shape) {
  if (part.count == 0) return true;
  part.paths = reinterpret_cast<std::uint32_t*>(heap_.allocate(part.count * sizeof(std::uint32_t)));
  part.by_path = reinterpret_cast<std::uint32_t*>(heap_.allocate(part.count * sizeof(std::uint32_t)));
  Widths widths = {};
  std::uint32_t n = 0;
  for (const TouchedPath& t : profile.paths) {
    if (t.shape != shape || !is_key(t)) continue;
    for (unsigned c = 0; c < columns_[shape]; ++c) widths[c] = std::max(widths[c], width_of(t.values[c]));
  }
  if (algorithm_ == Algorithm::Refrain) {
    part.scatter = reinterpret_cast<float**>(heap_.allocate(2 * columns_[shape] * sizeof(float*)));
    if (!part.scatter) return false;
    std::memset(part.scatter, 0, 2 * columns_[shape] * sizeof(float*));
    part.second_scatter = part.scatter + columns_[shape];
  }
  if (!part.paths || !part.by_path || !part.base.allocate(heap_, columns_[shape], part.count, widths)) return false;
  part.base.rows = part.count;
  for (const TouchedPath& t : profile.paths) {
    if (t.shape != shape || !is_key(t)) continue;
    part.paths[n] = static_cast<std::uint32_t>(t.path);
    part.by_path[n] = n;
    for (unsigned c = 0; c < columns_[shape]; ++c) part.base.set(n, c, t.values[c]);
    ++n;
  }
  std::sort(part.by_path, part.by_path + n,
            [&](std::uint32_t a, std::uint32_t b) { return part.paths[a] < part.paths[b]; });
  return true;
}

std::uint32_t Clusterer::make_class(const IterationProfile& profile, std::uint64_t hash, bool overflow, Error& error) {
  error = Error::NoMemory;
  if (!reserve_class()) return none;
  PathClass cls{};
  cls.hash = hash;
  cls.overflow = overflow;
  cls.settle_at = overflow ? ~std::uint64_t{0} : young_iterations;
  cls.head = none;
  cls.parts = reinterpret_cast<Part*>(heap_.allocate(shapes_ * sizeof(Part)));
  if (!cls.parts) return none;
  for (std::size_t s = 0; s < shapes_; ++s) cls.parts[s] = Part{};
  if (!overflow)
    for (const TouchedPath& t : profile.paths)
      if (is_key(t)) ++cls.parts[t.shape].count;
  bool complete = true;
  for (std::size_t s = 0; s < shapes_; ++s) {
    cls.parts[s].first = cls.key_paths;
    cls.key_paths += cls.parts[s].count;
    complete = complete && fill_part(cls.parts[s], profile, static_cast<std::uint8_t>(s));
  }
  if (algorithm_ == Algorithm::Refrain) {
    const std::size_t doubles = 3 * flat_count_ * sizeof(double);
    const std::size_t floats = class_floats() * sizeof(float);
    cls.overall_scatter = reinterpret_cast<double*>(heap_.allocate(doubles));
    cls.slope_sketch = reinterpret_cast<float*>(heap_.allocate(floats));
    if (cls.overall_scatter) std::memset(cls.overall_scatter, 0, doubles);
    if (cls.slope_sketch) std::memset(cls.slope_sketch, 0, floats);
    cls.second_scatter = cls.overall_scatter + flat_count_;
    cls.cross_scatter = cls.second_scatter + flat_count_;
    cls.second_sketch = cls.slope_sketch + sketch_dims_;
    cls.direction = cls.second_sketch + sketch_dims_;
    cls.scale = cls.direction + sketch_dims_ + flat_count_;
    complete = complete && cls.overall_scatter && cls.slope_sketch;
  }
  for (std::size_t s = 0; complete && s < shapes_; ++s)
    for (std::uint32_t i = 1; i < cls.parts[s].count; ++i)
      if (cls.parts[s].paths[cls.parts[s].by_path[i]] == cls.parts[s].paths[cls.parts[s].by_path[i - 1]]) {
        error = Error::BadProfile;  // a path comes twice
        complete = false;
      }
  complete = complete && (overflow || matches(cls, profile));
  if (!complete) {
    free_class(cls);
    return none;
  }
  error = Error::None;
  const auto index = static_cast<std::uint32_t>(classes_.size());
  std::uint32_t& first = class_list(hash);
  cls.next_of_hash = first;
  first = index;
  (void)classes_.push_back(cls);
  if (overflow) overflow_class_ = index;
  else last_class_ = index;
  return index;
}

void Clusterer::free_class(PathClass& cls) {
  for (std::size_t s = 0; s < shapes_; ++s) {
    Part& part = cls.parts[s];
    heap_.free(reinterpret_cast<std::byte*>(part.paths), part.count * sizeof(std::uint32_t));
    heap_.free(reinterpret_cast<std::byte*>(part.by_path), part.count * sizeof(std::uint32_t));
    heap_.free(reinterpret_cast<std::byte*>(part.scatter),
               2 * columns_[s] * sizeof(float*));  // no column has been needed yet
    part.base.free(heap_);
  }
  heap_.free(reinterpret_cast<std::byte*>(cls.overall_scatter), 3 * flat_count_ * sizeof(double));
  heap_.free(reinterpret_cast<std::byte*>(cls.slope_sketch), class_floats() * sizeof(float));
  heap_.free(reinterpret_cast<std::byte*>(cls.parts), shapes_ * sizeof(Part));  // nor has it been settled
  cls = PathClass{};
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

/// One column of the newcomer, less its base.
std::uint64_t Clusterer::subtract_base(const Part& part, unsigned column, std::int64_t* out) const {
  const std::int64_t* const* in = key_values_.data() + part.first;
  std::uint64_t any = 0;
  const auto subtract = [&](auto&& base) {
    for (std::uint32_t i = 0; i < part.count; ++i) {
      const std::uint64_t delta = static_cast<std::uint64_t>(in[i][column]) - static_cast<std::uint64_t>(base(i));
      out[i] = static_cast<std::int64_t>(delta);
      any |= delta;
    }
  };
  with_width(
      part.base.width[column], part.base.data + part.base.offset(column),
      [&](auto* v) { subtract([v](std::uint32_t i) -> std::int64_t { return v[i]; }); },
      [&] { subtract([](std::uint32_t) -> std::int64_t { return 0; }); });
  return any;
}

/// Work space for a column of key paths, and signs for them.
bool Clusterer::reserve_work(const PathClass& cls) {
  std::uint32_t longest = 0;
  for (std::size_t s = 0; s < shapes_; ++s) longest = std::max(longest, padded(cls.parts[s].count));
  if (signs_.size() >= longest) return true;
  std::size_t i = signs_.size();
  if (!work_.resize(longest) || !work_b_.resize(longest) || !work_floats_.resize(longest) || !signs_.resize(longest))
    return false;
  for (; i < longest; ++i) signs_[i] = format::mixed(i) & 1 ? 1.0F : -1.0F;
  return true;
}

/// Where the deltas of each column lie. What pads them stays zero until another class needs the place.
bool Clusterer::lay_out_deltas(const PathClass& cls) {
  const auto index = static_cast<std::uint32_t>(&cls - classes_.data());
  if (delta_class_ == index) return true;
  std::size_t values = 0;
  for (std::size_t s = 0; s < shapes_; ++s) values += std::size_t{padded(cls.parts[s].count)} * columns_[s];
  if ((deltas_.size() < values && (!deltas_.resize(values) || !delta_floats_.resize(values))) || !reserve_work(cls))
    return false;
  if (values) std::memset(deltas_.data(), 0, values * sizeof(std::int64_t));
  std::uint32_t begin = 0;
  for (std::size_t s = 0; s < shapes_; ++s)
    for (unsigned c = 0; c < columns_[s]; ++c, begin += padded(cls.parts[s].count))
      delta_begin_[flat_begin_[s] + c] = begin;
  delta_class_ = index;
  return true;
}

/// Values of key paths, less those of the class's first iteration.
bool Clusterer::subtract_bases(const PathClass& cls) {
  if (!lay_out_deltas(cls)) return false;
  delta_nonzero_ = 0;
  for (std::size_t s = 0; s < shapes_; ++s) {
    const Part& part = cls.parts[s];
    if (part.count == 0) continue;
    const std::size_t length = padded(part.count);
    std::int64_t* out = deltas_.data() + delta_begin_[flat_begin_[s]];
    std::uint64_t nonzero = 0;
    unsigned c = 0;
    if (cls.settled) {  // full width, one column behind the other
      const auto* base = reinterpret_cast<const std::int64_t*>(part.base.data);
      const std::int64_t* const* rows = key_values_.data() + part.first;
      for (; c + 2U <= columns_[s]; c += 2, out += 2 * length, base += 2 * std::size_t{part.count}) {
        const AnyBits any = subtract_pair(rows, part.count, c, base, base + part.count, out, out + length);
        nonzero |= (std::uint64_t{any.first != 0} | std::uint64_t{any.second != 0} << 1) << c;
      }
    }
    for (; c < columns_[s]; ++c, out += length) nonzero |= std::uint64_t{subtract_base(part, c, out) != 0} << c;
    delta_nonzero_ |= nonzero << flat_begin_[s];
  }
  return true;
}

bool Clusterer::prepare_newcomer(PathClass& cls, const IterationProfile& profile) {
  if (!subtract_bases(cls) || (!sparse_listed_ && !list_sparse(cls, profile))) return false;
  float* mean = mean_of(newcomer_);
  for (std::size_t m = 0; m < stride_; m += lanes)
    for (std::size_t i = 0; i < lanes; ++i) mean[m + i] = static_cast<float>(newcomer_overall_[m + i]);
  if (algorithm_ == Algorithm::ScorePShipped)
    for (std::size_t m = 0; m < metrics_; ++m)
      integer_means_[newcomer_ * metrics_ + m] = static_cast<std::uint64_t>(profile.overall[m]);
  if (algorithm_ == Algorithm::Refrain) sketch_newcomer(cls);
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
  for (std::uint64_t left = learning_ ? delta_nonzero_ : delta_nonzero_ & all_sketched_; left; left &= left - 1) {
    const auto f = static_cast<unsigned>(std::countr_zero(left));
    const FlatColumn& flat = flat_[f];
    const std::int64_t* values = deltas_.data() + delta_begin_[f];
    float* floats = delta_floats_.data() + delta_begin_[f];
    const std::uint32_t count = padded(cls.parts[flat.shape].count);
    const FourFloats sum = learning_ ? sum_with_signs<true>(values, count, signs_.data(), floats)
                                     : sum_with_signs<false>(values, count, signs_.data(), floats);
    if (flat.sketched) store(newcomer_sketch_ + flat.sketch_begin, sum);
  }
  const double noise_weight = cls.settled && cls.adds >= eager_learning ? learning_stride : 1;
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

}  // namespace refrain::clustering::former
