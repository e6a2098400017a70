// The classes of iterations: the class of an iteration, and the columns of its call paths in the class's profiles.
#include <algorithm>

#include "clustering/clusterer.hpp"
#include "format/hashing.hpp"

namespace refrain::clustering {

bool Clusterer::is_valid(const IterationProfile& profile) const {
  if (profile.overall.size() != metrics_) return false;
  for (const TouchedPath& t : profile.paths)
    if (t.shape >= shapes_) return false;
  return true;
}

/// Reserves memory for the newcomer's call paths.
bool Clusterer::reserve_newcomer(const IterationProfile& profile) {
  const std::size_t paths = profile.paths.size();
  std::size_t i = signs_.size();
  if (i >= paths) return true;
  if (!key_values_.resize(paths) || !other_at_.resize(paths) || !others_.resize(paths) || !signs_.resize(paths))
    return false;
  for (; i < paths; ++i) signs_[i] = format::mixed(i) & 1 ? 1.0F : -1.0F;
  return true;
}

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

std::uint64_t Clusterer::hash_of_path(std::uint32_t cls, std::uint32_t path, std::uint8_t shape) const {
  return format::mixed(std::uint64_t{cls} << 40 ^ std::uint64_t{path} << 8 ^ shape);
}

/// The index in paths_ of a path of the class; none: the class does not have it.
std::uint32_t Clusterer::find_path(std::uint32_t cls, const TouchedPath& t) const {
  const auto path = static_cast<std::uint32_t>(t.path);
  return path_index_.find(hash_of_path(cls, path, t.shape), [&](std::uint32_t i) {
    return paths_[i].path == path && paths_[i].cls == cls && paths_[i].shape == t.shape;
  });
}

/// Adds a path to the class, for which there is room.
void Clusterer::add_path(IterationClass& cls, std::uint32_t number, const TouchedPath& t) {
  const auto path = static_cast<std::uint32_t>(t.path);
  const auto index = static_cast<std::uint32_t>(paths_.size());
  (void)paths_.push_back({path, number, cls.width, none, t.shape});
  path_index_.insert(hash_of_path(number, path, t.shape), index);
  cls.width += columns_[t.shape];
  ++cls.paths;
}

bool Clusterer::has_same_visits(const IterationClass& cls, const ClassPath& path, const TouchedPath& t) const {
  const std::uint8_t visits = visits_[t.shape];
  return equivalence_ != Equivalence::MpiVisits || visits == no_column ||
         t.values[visits] == cls.base[path.at + visits];
}

/// Whether the iteration belongs to the class. If so, its paths are listed in key_values_ and others_.
bool Clusterer::matches(std::uint32_t index, const IterationProfile& profile) {
  const IterationClass& cls = classes_[index];
  if (cls.overflow || cls.key_paths > profile.paths.size()) return false;
  std::fill_n(key_values_.data(), cls.key_paths, nullptr);
  other_count_ = 0;
  std::uint32_t expected = cls.first_path,
                matched = 0;  // paths mostly come in the same order as in the first iteration
  for (const TouchedPath& t : profile.paths) {
    if (!is_key(t)) {
      others_[other_count_++] = t;
      continue;
    }
    std::uint32_t found = expected;
    if (found - cls.first_path >= cls.key_paths || paths_[found].path != static_cast<std::uint32_t>(t.path) ||
        paths_[found].shape != t.shape)
      found = find_path(index, t);
    if (found == none) return false;
    expected = found + 1;
    const std::int64_t*& values = key_values_[found - cls.first_path];
    if (values || !has_same_visits(cls, paths_[found], t)) return false;
    values = t.values;
    ++matched;
  }
  return matched == cls.key_paths;
}

/// The same for the common case that key paths come in the same order as in the first iteration. False proves nothing.
/// Also validates the profile.
bool Clusterer::matches_in_order(const IterationClass& cls, const IterationProfile& profile) {
  if (cls.overflow || profile.overall.size() != metrics_) return false;
  const ClassPath *expected = paths_.data() + cls.first_path, *end = expected + cls.key_paths;
  const std::int64_t** values = key_values_.data();
  TouchedPath* other = others_.data();
  for (const TouchedPath& t : profile.paths) {
    if (t.shape >= shapes_) return false;
    if (!key_shape_[t.shape]) {
      *other++ = t;
      continue;
    }
    if (expected == end || expected->path != static_cast<std::uint32_t>(t.path) || expected->shape != t.shape ||
        !has_same_visits(cls, *expected, t))
      return false;
    *values++ = t.values;
    ++expected;
  }
  other_count_ = static_cast<std::uint32_t>(other - others_.data());
  return expected == end;
}

/// The class of the iteration, whose paths are listed. none: there is no room for another class.
std::uint32_t Clusterer::class_of(const IterationProfile& profile) {
  if (last_class_ != none && matches(last_class_, profile)) return last_class_;
  const std::uint64_t hash = hash_of(profile);
  const std::uint32_t known =
      class_table_.find(hash, [&](std::uint32_t cls) { return cls != last_class_ && matches(cls, profile); });
  const std::uint32_t cls = known != none ? known : make_class(hash, profile);
  if (cls != none) last_class_ = cls;
  return cls;
}

std::uint32_t Clusterer::make_class(std::uint64_t hash, const IterationProfile& profile) {
  IterationClass cls{};
  cls.head = cls.first_other = cls.last_other = none;
  cls.first_path = static_cast<std::uint32_t>(paths_.size());
  std::uint32_t width = 0;
  for (const TouchedPath& t : profile.paths) {
    width += columns_[t.shape];
    if (!is_key(t)) continue;
    cls.key_width += columns_[t.shape];
    ++cls.key_count[t.shape];
    ++cls.key_paths;
  }
  if (classes_.size() >= std::max(max_classes, max_clusters_)) return none;
  const std::uint32_t stride = roomy(width, cls.key_width);
  const std::size_t bytes = block_bytes(cls.key_width, 1, stride) + sizeof(IterationClass) +
                            profile.paths.size() * path_bytes + sizeof(Cluster) + statistics_bytes() +
                            2 * sketch_dims_ * sizeof(float);
  while (cluster_count_ >= max_clusters_ || !fits(bytes)) {
    const Pair pair = closest_pair();
    if (pair.a == none) break;
    IterationClass& of = classes_[clusters_[pair.a].cls];
    if (!merge(pair.a, pair.b)) break;
    if (!fits(bytes)) trim(of);
  }
  if (cluster_count_ > 0 && !fits(bytes)) return none;
  if (!classes_.reserve(classes_.size() + 1) || !class_table_.reserve(1) ||
      !paths_.reserve(paths_.size() + cls.key_paths) || !path_index_.reserve(cls.key_paths) || !resize(cls, 1, stride))
    return none;
  const auto index = static_cast<std::uint32_t>(classes_.size());
  const std::int64_t** values = key_values_.data();
  other_count_ = 0;
  for (const TouchedPath& t : profile.paths) {
    if (!is_key(t)) {
      others_[other_count_++] = t;
      continue;
    }
    *values++ = t.values;
    std::copy_n(t.values, columns_[t.shape], cls.base + cls.width);
    add_path(cls, index, t);
  }
  class_table_.insert(hash, index);
  (void)classes_.push_back(cls);
  return index;
}

/// The class of iterations for which there is no other room; the newcomer's paths are listed. none: no memory.
std::uint32_t Clusterer::overflow_class(const IterationProfile& profile) {
  if (overflow_class_ == none) {
    IterationClass cls{};
    cls.overflow = true;
    cls.head = cls.first_other = cls.last_other = none;
    if (!classes_.reserve(classes_.size() + 1) || !resize(cls, 1, 0)) return none;
    overflow_class_ = static_cast<std::uint32_t>(classes_.size());
    (void)classes_.push_back(cls);
  }
  std::copy(profile.paths.begin(), profile.paths.end(), others_.data());
  other_count_ = static_cast<std::uint32_t>(profile.paths.size());
  return find_other_columns(overflow_class_) ? overflow_class_ : none;
}

/// Finds the columns of the newcomer's other paths in the profiles of the class, and adds columns for new ones. False:
/// no memory.
bool Clusterer::find_other_columns(std::uint32_t index) {
  std::uint32_t missing = 0, width = classes_[index].width;
  for (std::uint32_t i = 0; i < other_count_; ++i) {
    const std::uint32_t known = find_path(index, others_[i]);
    other_at_[i] = known == none ? none : paths_[known].at;
    if (known != none) [[likely]]
      continue;
    ++missing;
    width += columns_[others_[i].shape];
  }
  if (missing == 0) return true;
  IterationClass& cls = classes_[index];
  if (!reserve_width(cls, width, missing) || !paths_.reserve(paths_.size() + missing) || !path_index_.reserve(missing))
    return false;
  for (std::uint32_t i = 0; i < other_count_; ++i) {
    if (other_at_[i] != none) continue;
    std::uint32_t path = find_path(index, others_[i]);  // a path may come twice
    if (path == none) {
      path = static_cast<std::uint32_t>(paths_.size());
      add_path(cls, index, others_[i]);
      (cls.last_other == none ? cls.first_other : paths_[cls.last_other].next) = path;
      cls.last_other = path;
    }
    other_at_[i] = paths_[path].at;
  }
  return true;
}

}  // namespace refrain::clustering
