// The classes of iterations: which call paths each has, and what an iteration is in the terms of its class.
#include <algorithm>
#include <cstring>

#include "clustering/clusterer.hpp"
#include "clustering/hashing.hpp"

namespace refrain::clustering {

std::uint64_t Clusterer::hash_of(const IterationProfile& profile) const {
  std::uint64_t hash = 0;  // a sum: the order of first touch does not matter
  for (const TouchedPath& t : profile.paths) {
    if (!is_key(t)) continue;
    std::uint64_t item = mixed(static_cast<std::uint64_t>(t.path) << 8 | t.shape);
    if (equivalence_ == Equivalence::MpiVisits && visits_[t.shape] != no_column)
      item = mixed(item ^ static_cast<std::uint64_t>(t.values[visits_[t.shape]]));
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

std::uint32_t Clusterer::find_class(const IterationProfile& profile, std::uint64_t& hash) {
  if (last_class_ != none && matches(classes_[last_class_], profile)) return last_class_;
  hash = hash_of(profile);
  for (std::uint32_t c = 0; c < classes_.size(); ++c)
    if (classes_[c].hash == hash && c != last_class_ && matches(classes_[c], profile)) return last_class_ = c;
  return none;
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
  if (!classes_.reserve(classes_.size() + 1)) return none;
  PathClass cls{};
  cls.hash = hash;
  cls.overflow = overflow;
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
  (void)classes_.push_back(cls);
  const auto index = static_cast<std::uint32_t>(classes_.size() - 1);
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
  heap_.free(reinterpret_cast<std::byte*>(cls.parts), shapes_ * sizeof(Part));
  cls = PathClass{};
}

bool Clusterer::prepare_newcomer(const PathClass& cls, const IterationProfile& profile) {
  std::size_t values = 0, longest = 0;
  for (std::size_t s = 0; s < shapes_; ++s) {
    values += std::size_t{cls.parts[s].count} * columns_[s];
    longest = std::max<std::size_t>(longest, cls.parts[s].count);
  }
  if (!deltas_.resize(values) || !delta_floats_.resize(values) || !work_.resize(longest) || !work_b_.resize(longest) ||
      !work_floats_.resize(longest))
    return false;
  if (algorithm_ == Algorithm::Refrain && signs_.size() < longest) {
    std::size_t i = signs_.size();
    if (!signs_.resize(longest)) return false;
    for (; i < longest; ++i) signs_[i] = mixed(i) & 1 ? 1.0F : -1.0F;
  }
  delta_nonzero_ = 0;
  std::int64_t* out = deltas_.data();
  for (std::size_t s = 0; s < shapes_; ++s) {
    const Part& part = cls.parts[s];
    const std::int64_t* const* in = key_values_.data() + part.first;
    for (unsigned c = 0; c < columns_[s]; ++c, out += part.count) {
      std::uint64_t any = 0;
      const auto subtract = [&](auto&& base) {
        for (std::uint32_t i = 0; i < part.count; ++i) {
          const std::uint64_t delta = static_cast<std::uint64_t>(in[i][c]) - static_cast<std::uint64_t>(base(i));
          out[i] = static_cast<std::int64_t>(delta);
          any |= delta;
        }
      };
      with_width(
          part.base.width[c], part.base.data + part.base.offset(c),
          [&](auto* v) { subtract([v](std::uint32_t i) -> std::int64_t { return v[i]; }); },
          [&] { subtract([](std::uint32_t) -> std::int64_t { return 0; }); });
      if (!any) continue;
      delta_nonzero_ |= std::uint64_t{1} << (flat_begin_[s] + c);
      float* floats = delta_floats_.data() + (out - deltas_.data());
      for (std::uint32_t i = 0; i < part.count; ++i) floats[i] = static_cast<float>(out[i]);
    }
  }
  // Room for one more than there are paths: each is written first and counted then.
  if (sparse_.size() <= profile.paths.size() && !sparse_.resize(profile.paths.size() + 1)) return false;
  std::uint32_t *sparse = sparse_.data(), sparse_count = 0;
  const auto path_count = static_cast<std::uint32_t>(profile.paths.size());
  for (std::size_t s = 0; s < shapes_; ++s) {
    sparse_begin_[s] = sparse_count;
    if (is_key_shape(cls, s)) continue;
    for (std::uint32_t i = 0; i < path_count; ++i) {
      sparse[sparse_count] = i;
      sparse_count += profile.paths[i].shape == s;
    }
  }
  sparse_begin_[shapes_] = sparse_count;
  float* mean = mean_of(newcomer_);
  for (std::size_t m = 0; m < metrics_; ++m) mean[m] = static_cast<float>(profile.overall[m]);
  if (algorithm_ == Algorithm::ScorePShipped)
    for (std::size_t m = 0; m < metrics_; ++m)
      integer_means_[newcomer_ * metrics_ + m] = static_cast<std::uint64_t>(profile.overall[m]);
  if (algorithm_ == Algorithm::Refrain) sketch_newcomer(cls, profile);
  return true;
}

/// Adds the values of many call paths up in few sums with random signs, per column: distances between such sketches are
/// in expectation those between the full vectors (Charikar, Chen, Farach-Colton: Finding frequent items in data
/// streams).
void Clusterer::sketch_newcomer(const PathClass& cls, const IterationProfile& profile) {
  float* sketch = sketch_of(newcomer_);
  for (std::size_t d = 0; d < sketch_dims_; ++d) sketch[d] = 0;
  const float *delta = delta_floats_.data(), *signs = signs_.data();
  for (std::size_t s = 0; s < shapes_; ++s) {
    const std::uint32_t count = cls.parts[s].count;
    for (unsigned c = 0; count && c < columns_[s]; ++c, delta += count) {
      const FlatColumn& flat = flat_[flat_begin_[s] + c];
      if (!flat.sketch_dims || !(delta_nonzero_ >> (flat_begin_[s] + c) & 1)) continue;
      float* out = sketch + flat.sketch_begin;
      for (std::uint32_t i = 0; i < count; i += flat.sketch_dims) {
        const std::uint32_t end = std::min<std::uint32_t>(flat.sketch_dims, count - i);
        for (std::uint32_t j = 0; j < end; ++j) out[j] += signs[i + j] * delta[i + j];
      }
    }
  }
  for (std::size_t s = 0; s < shapes_; ++s) {
    const std::uint32_t begin = sparse_begin_[s], end = sparse_begin_[s + 1];
    if (begin == end) continue;
    const bool noisy = !exact_[s];
    const std::uint8_t visits = noisy ? visits_[s] : no_column;
    for (unsigned c = 0; c < columns_[s]; ++c) {
      const FlatColumn& flat = flat_[flat_begin_[s] + c];
      if (!flat.sketch_dims) continue;
      const std::uint64_t places = flat.sketch_dims - 1U;
      float* out = sketch + flat.sketch_begin;
      double noise = 0;
      for (std::uint32_t e = begin; e < end; ++e) {
        const TouchedPath& t = profile.paths[sparse_[e]];
        const std::uint64_t hash = (static_cast<std::uint64_t>(t.path) + 1) * 0x9e3779b97f4a7c15;
        const auto value = static_cast<float>(t.values[c]);
        out[hash >> 40 & places] += hash >> 63 ? value : -value;
        const std::int64_t samples = visits != no_column ? t.values[visits] : 1;
        noise += samples > 1 ? static_cast<double>(value * value * (1.0F / static_cast<float>(samples)))
                             : static_cast<double>(value * value);
      }
      if (noisy) sampling_noise_[flat_begin_[s] + c] += noise;
    }
  }
}

}  // namespace refrain::clustering
